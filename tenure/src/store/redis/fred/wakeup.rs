//! Wake-ups, and messages to the leader, over the connection that carries nothing else.

use std::sync::Arc;
use std::time::Duration;

use fred::interfaces::EventInterface;
use fred::types::Message as Pushed;
use futures_core::Stream;
use futures_util::StreamExt;
use tokio::sync::broadcast;

use super::link::{Link, Live, after, failed};
use crate::Token;
use crate::store::{Hint, Message};

const RETRY_LEAST: Duration = Duration::from_millis(100);
const RETRY_MOST: Duration = Duration::from_secs(5);

/// What a listener learns of a channel.
enum Heard {
    /// The subscription has begun, or messages were missed.
    Perhaps,
    Message(Pushed),
}

/// Hints on one channel. The stream begins with a hint: the attempt that follows it finds a lease that was
/// released before the subscription.
pub(super) fn hints(link: Arc<Link>, channel: String) -> impl Stream<Item = Hint> + Send + 'static {
    listen(link, channel).map(|_| Hint)
}

/// Messages on one channel to that tenure.
pub(super) fn messages(
    link: Arc<Link>,
    channel: String,
    to: Token,
) -> impl Stream<Item = Message> + Send + 'static {
    listen(link, channel).filter_map(move |heard| {
        std::future::ready(match heard {
            Heard::Message(pushed) => {
                pushed.value.as_bytes().and_then(|said| Message::addressed(said, to))
            }
            Heard::Perhaps => None,
        })
    })
}

/// One channel, across connections: first subscribe, then listen.
fn listen(link: Arc<Link>, channel: String) -> impl Stream<Item = Heard> + Send + 'static {
    async_stream::stream! {
        let mut failures = 0_u32;
        loop {
            if let Some((live, mut messages)) = subscribe(&link, &channel).await {
                failures = 0;
                yield Heard::Perhaps;
                loop {
                    tokio::select! {
                        biased;
                        () = live.dead.cancelled() => break,
                        message = messages.recv() => match message {
                            Ok(message) if *message.channel == *channel => yield Heard::Message(message),
                            Ok(_) => {}
                            Err(broadcast::error::RecvError::Lagged(_)) => yield Heard::Perhaps,
                            Err(broadcast::error::RecvError::Closed) => break,
                        }
                    }
                }
            }
            let pause = RETRY_LEAST.saturating_mul(1 << failures.min(10)).min(RETRY_MOST);
            failures = failures.saturating_add(1);
            after(pause).await;
        }
    }
}

/// `None` if the channel could not be subscribed: hints are unreliable anyway, and the next attempt follows.
async fn subscribe(
    link: &Arc<Link>,
    channel: &str,
) -> Option<(Arc<Live>, broadcast::Receiver<Pushed>)> {
    let live = match link.live().await {
        Ok(live) => live,
        Err(error) => {
            tracing::debug!(%error, "no connection to subscribe on");
            return None;
        }
    };
    let messages = live.wakeups.message_rx();
    tokio::select! {
        biased;
        answer = live.subscribe(channel) => match answer {
            Ok(()) => Some((live, messages)),
            Err(error) => {
                let error = failed(&error);
                tracing::warn!(%error, "a subscription was refused: no wake-ups and messages arrive");
                None
            }
        },
        () = after(link.config.connect_timeout) => {
            live.dead.cancel();
            None
        }
    }
}
