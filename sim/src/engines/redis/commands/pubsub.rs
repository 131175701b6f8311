//! Channels.

use bytes::Bytes;

use crate::engines::redis::call::{Answer, Call};
use crate::engines::redis::reply::Reply;

/// Subscribers get the message before the publisher gets the answer, also if they are the same
/// connection.
pub(in crate::engines::redis) fn publish(call: &mut Call<'_>) -> Answer {
    let (channel, payload) = (&call.args[1], &call.args[2]);
    let message = Reply::Push(vec![
        Reply::word("message"),
        Reply::Bulk(channel.clone()),
        Reply::Bulk(payload.clone()),
    ]);
    Ok(Reply::count(call.server.publish(channel, &message)))
}

pub(in crate::engines::redis) fn subscribe(call: &mut Call<'_>) -> Answer {
    let channels = call.args[1..].iter();
    Ok(Reply::Several(channels.map(|channel| change(call, "subscribe", Some(channel))).collect()))
}

/// Without arguments it unsubscribes from all channels, in some order (in Redis that of its hash
/// table).
pub(in crate::engines::redis) fn unsubscribe(call: &mut Call<'_>) -> Answer {
    let mut channels = call.args[1..].to_vec();
    if channels.is_empty() {
        let session = call.server.session(call.session);
        channels.extend(session.into_iter().flat_map(|session| session.channels.iter().cloned()));
    }
    if channels.is_empty() {
        return Ok(change(call, "unsubscribe", None));
    }
    Ok(Reply::Several(
        channels.iter().map(|channel| change(call, "unsubscribe", Some(channel))).collect(),
    ))
}

/// Adds or removes a channel and confirms it, with the number of channels then subscribed to.
fn change(call: &mut Call<'_>, kind: &'static str, channel: Option<&Bytes>) -> Reply {
    let mut left = 0;
    if let Some(session) = call.server.session_mut(call.session) {
        match channel {
            Some(channel) if kind == "subscribe" => session.channels.insert(channel.clone()),
            Some(channel) => session.channels.remove(channel),
            None => false,
        };
        left = session.channels.len();
    }
    Reply::Push(vec![Reply::word(kind), Reply::bulk_or_null(channel), Reply::count(left)])
}
