//! Wake-ups, over the connection that carries nothing else.

use std::sync::Arc;
use std::time::Duration;

use fred::interfaces::EventInterface;
use fred::types::Message;
use futures_core::Stream;
use tokio::sync::broadcast;

use super::link::{Link, Live, after};
use crate::store::Hint;

const RETRY_LEAST: Duration = Duration::from_millis(100);
const RETRY_MOST: Duration = Duration::from_secs(5);

/// Hints on one channel, across connections. First subscribe, then hint: whatever was released before
/// the subscription is found by the try that follows it.
pub(super) fn hints(link: Arc<Link>, channel: String) -> impl Stream<Item = Hint> + Send + 'static {
    async_stream::stream! {
        let mut failures = 0_u32;
        loop {
            if let Some((live, mut messages)) = subscribe(&link, &channel).await {
                failures = 0;
                yield Hint;
                loop {
                    tokio::select! {
                        biased;
                        () = live.dead.cancelled() => break,
                        message = messages.recv() => match message {
                            Ok(message) if *message.channel == *channel => yield Hint,
                            Ok(_) => {}
                            Err(broadcast::error::RecvError::Lagged(_)) => yield Hint,
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

/// `None` if the channel could not be subscribed: hints are unreliable, and the next try comes.
async fn subscribe(
    link: &Link,
    channel: &str,
) -> Option<(Arc<Live>, broadcast::Receiver<Message>)> {
    let live = match link.live().await {
        Ok(live) => live,
        Err(error) => {
            tracing::debug!(%error, "no connection for wake-ups");
            return None;
        }
    };
    let messages = live.wakeups.message_rx();
    tokio::select! {
        biased;
        answer = live.subscribe(channel) => match answer {
            Ok(()) => Some((live, messages)),
            Err(error) => {
                tracing::warn!(%error, "wake-ups refused: waiting candidates poll");
                None
            }
        },
        () = after(link.config.connect_timeout) => {
            live.dead.cancel();
            None
        }
    }
}
