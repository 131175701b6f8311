//! Wake-ups and messages to the leader, which arrive between the replies.

use std::sync::Arc;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt;

use super::link::Link;
use super::session::Live;
use crate::Token;
use crate::store::listen::{self, Heard};
use crate::store::{Hint, Message};

/// How many messages a leader may fall behind before it loses the oldest.
const BUFFER: usize = 64;

/// Hints on one channel. The stream begins with a hint: the attempt that follows it finds a lease that was
/// released before the subscription.
pub(super) fn hints(link: Arc<Link>, channel: String) -> impl Stream<Item = Hint> + Send + 'static {
    // One hint has the effect of many.
    listen(link, channel, 1).map(|_| Hint)
}

/// Messages on one channel to that tenure.
pub(super) fn messages(
    link: Arc<Link>,
    channel: String,
    to: Token,
) -> impl Stream<Item = Message> + Send + 'static {
    listen(link, channel, BUFFER).filter_map(move |heard| {
        std::future::ready(match heard {
            Heard::Said(said) => Message::addressed(&said, to),
            Heard::Perhaps => None,
        })
    })
}

fn listen(
    link: Arc<Link>,
    channel: String,
    buffer: usize,
) -> impl Stream<Item = Heard<Bytes>> + Send + 'static {
    listen::listen(Arc::clone(&link.connector.runtime), move || {
        let (link, channel) = (Arc::clone(&link), channel.clone());
        async move {
            let waiting = link.connector.channels.listen(&channel, buffer);
            Some((subscribe(&link, &channel).await?, waiting))
        }
    })
}

/// `None` if the channel could not be subscribed: it is unreliable anyway, and the next attempt follows. If the
/// future is dropped half way, the connection is kept: other requests use it too.
async fn subscribe(link: &Arc<Link>, channel: &str) -> Option<Arc<Live>> {
    let live = match link.live().await {
        Ok(live) => live,
        Err(error) => {
            tracing::debug!(%error, channel, "no connection to subscribe on");
            return None;
        }
    };
    let mut connection = live.connection.clone();
    let late = link
        .connector
        .runtime
        .sleep_until(link.connector.runtime.now() + link.connector.config.connect_timeout);
    tokio::select! {
        biased;
        answer = connection.subscribe(channel) => match answer {
            Ok(()) => Some(live),
            Err(error) => {
                // After a refusal, by an access rule for instance, the connection is still usable.
                if error.code().is_none() {
                    live.dead.cancel();
                }
                let error = live.failed(&error);
                tracing::warn!(%error, channel, "a subscription was refused: no wake-ups and messages arrive");
                None
            }
        },
        () = late => {
            live.dead.cancel();
            None
        }
    }
}
