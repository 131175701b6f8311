//! Wake-ups that arrive between the replies.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_core::Stream;
use redis::{PushInfo, PushKind, Value};
use tokio::sync::broadcast;

use super::link::Link;
use super::session::{Answered, Live};
use crate::store::Hint;

/// Who waits on which channel.
#[derive(Default)]
pub(super) struct Wakeups(Mutex<BTreeMap<String, broadcast::Sender<()>>>);

const RETRY_LEAST: Duration = Duration::from_millis(100);
const RETRY_MOST: Duration = Duration::from_secs(5);

impl Wakeups {
    fn listen(&self, channel: &str) -> broadcast::Receiver<()> {
        let mut channels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        channels.entry(channel.to_owned()).or_insert_with(|| broadcast::Sender::new(1)).subscribe()
    }

    /// What the server has pushed. A push that is no message to somebody here is no news.
    pub(super) fn pushed(&self, push: &PushInfo) {
        if push.kind != PushKind::Message {
            return;
        }
        let Some(Value::BulkString(channel)) = push.data.first() else { return };
        let Ok(channel) = std::str::from_utf8(channel) else { return };
        let mut channels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = channels.get(channel)
            && waiting.send(()).is_err()
        {
            channels.remove(channel);
        }
    }
}

/// Hints on one channel, across connections. First subscribe, then hint: whatever was released before
/// the subscription is found by the try that follows it.
pub(super) fn hints(link: Arc<Link>, channel: String) -> impl Stream<Item = Hint> + Send + 'static {
    async_stream::stream! {
        let mut failures = 0_u32;
        loop {
            let mut waiting = link.wakeups.listen(&channel);
            if let Some(live) = subscribe(&link, &channel).await {
                failures = 0;
                yield Hint;
                loop {
                    tokio::select! {
                        biased;
                        () = live.dead.cancelled() => break,
                        message = waiting.recv() => match message {
                            Ok(()) | Err(broadcast::error::RecvError::Lagged(_)) => yield Hint,
                            Err(broadcast::error::RecvError::Closed) => break,
                        }
                    }
                }
            }
            let pause = RETRY_LEAST.saturating_mul(1 << failures.min(10)).min(RETRY_MOST);
            failures = failures.saturating_add(1);
            link.runtime.sleep_until(link.runtime.now() + pause).await;
        }
    }
}

/// `None` if the channel could not be subscribed: hints are unreliable, and the next try comes.
async fn subscribe(link: &Link, channel: &str) -> Option<Arc<Live>> {
    let live = match link.live().await {
        Ok(live) => live,
        Err(error) => {
            tracing::debug!(%error, "no connection for wake-ups");
            return None;
        }
    };
    let pending = Answered::pending(&live);
    let mut connection = live.connection.clone();
    let late = link.runtime.sleep_until(link.runtime.now() + link.config.connect_timeout);
    tokio::select! {
        biased;
        answer = connection.subscribe(channel) => match answer {
            Ok(()) => {
                pending.yes();
                Some(live)
            }
            Err(error) => {
                // A refusal, by an access rule for instance, says nothing against the connection.
                if error.code().is_some() {
                    pending.yes();
                }
                tracing::warn!(%error, "wake-ups refused: waiting candidates poll");
                None
            }
        },
        () = late => None,
    }
}
