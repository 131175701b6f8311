//! Rows about messages to the leader.

use std::pin::pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tenure::Token;
use tenure::store::{Message, Reply, Request, Store};

use crate::conformance::probe::{Found, Probe, broken, key, limit, must, release};

/// The most messages that are sent until one arrives.
const MOST: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);
/// The time within which a message arrives without delays.
const QUIET: Duration = Duration::from_millis(200);

/// A message with the number, and all byte values, of the greatest length.
fn message(number: u32) -> Found<Message> {
    let bytes = (0..=u8::MAX).cycle().take(Message::PAYLOAD_MOST - 4);
    let payload: Vec<u8> = number.to_be_bytes().into_iter().chain(bytes).collect();
    Message::new("käse".repeat(12), payload).map_err(limit)
}

fn notify(message: Message) -> Request {
    Request::Notify { message }
}

/// Sends messages one after the other until one arrives, and then one more. Gives the numbers of
/// all that arrived.
async fn arrive(
    probe: &mut Probe<'_>,
    token: Token,
    messages: impl Stream<Item = Message>,
) -> Found<Vec<u32>> {
    let (mut messages, mut arrived) = (pin!(messages), Vec::new());
    let mut last = MOST;
    for number in 0..MOST {
        probe.expect(notify(message(number)?), Reply::Notified { token }).await?;
        while let Ok(Some(got)) = tokio::time::timeout(PAUSE, messages.next()).await {
            let number = got.payload().first_chunk().copied().map_or(MOST, u32::from_be_bytes);
            must(number < MOST && message(number)? == got, || format!("{got:?} was never sent"))?;
            arrived.push(number);
        }
        if number > last {
            return Ok(arrived);
        }
        if !arrived.is_empty() {
            last = last.min(number);
        }
    }
    broken(format!("of {MOST} messages these have arrived: {arrived:?}"))
}

pub(crate) async fn a_message_reaches_the_leader(probe: &mut Probe<'_>) -> Found<()> {
    let token = probe.granted(probe.acquire(1, None)).await?;
    let messages = probe.store.messages(&key("job")?, token);
    let arrived = arrive(probe, token, messages).await?;
    let in_order = arrived.windows(2).all(|pair| pair[0] < pair[1]);
    must(in_order, || format!("the messages were sent in order, but arrived as {arrived:?}"))
}

pub(crate) async fn a_message_never_reaches_another_tenure(probe: &mut Probe<'_>) -> Found<()> {
    let job = key("job")?;
    let first = probe.past_tenure(1).await?;
    let second = probe.granted(probe.acquire(1, Some(first))).await?;
    let other = key("other")?;
    let others = [(&job, first), (&job, second.next()), (&other, second)];
    let mut others = others.map(|(key, token)| Box::pin(probe.store.messages(key, token)));
    // They listen from their first poll on.
    for messages in &mut others {
        none_arrives(messages).await?;
    }
    let messages = probe.store.messages(&job, second);
    arrive(probe, second, messages).await?;
    for messages in &mut others {
        none_arrives(messages).await?;
    }
    Ok(())
}

async fn none_arrives(messages: &mut (impl Stream<Item = Message> + Unpin)) -> Found<()> {
    match tokio::time::timeout(QUIET, messages.next()).await {
        Ok(Some(message)) => broken(format!("{message:?} was sent to another tenure")),
        Ok(None) | Err(_) => Ok(()),
    }
}

pub(crate) async fn without_a_leader_a_message_is_refused(probe: &mut Probe<'_>) -> Found<()> {
    probe.expect(notify(message(0)?), Reply::Vacant).await?;
    let token = probe.granted(probe.acquire(1, None)).await?;
    probe.expect(notify(message(1)?), Reply::Notified { token }).await?;
    probe.expect(release(1, token), Reply::Released).await?;
    probe.expect(notify(message(2)?), Reply::Vacant).await
}
