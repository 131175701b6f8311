//! Wake-ups that arrive on a connection of their own.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_core::Stream;
use tokio::sync::broadcast;

use super::link::Link;
use crate::store::{Hint, Key};

/// Who waits for which election, by what the server sends of it.
#[derive(Default)]
pub(super) struct Wakeups(Mutex<BTreeMap<String, broadcast::Sender<()>>>);

const RETRY_LEAST: Duration = Duration::from_millis(100);
const RETRY_MOST: Duration = Duration::from_secs(5);

impl Wakeups {
    fn listen(&self, payload: &str) -> broadcast::Receiver<()> {
        let mut elections = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        elections.entry(payload.to_owned()).or_insert_with(|| broadcast::Sender::new(1)).subscribe()
    }

    /// Wakes who waits for that election; what nobody here waits for is no news.
    pub(super) fn wake(&self, payload: &str) {
        let mut elections = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = elections.get(payload)
            && waiting.send(()).is_err()
        {
            elections.remove(payload);
        }
    }
}

/// A key as the server notifies of it: payloads are text without zero bytes.
fn payload(key: &Key) -> String {
    let mut hex = String::with_capacity(2 * key.as_str().len());
    for byte in key.as_str().bytes() {
        // A string takes all of it.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// Hints for one election, across connections. First listen, then hint: whatever was released before that
/// is found by the try that follows it.
pub(super) fn hints(link: Arc<Link>, key: &Key) -> impl Stream<Item = Hint> + Send + 'static {
    let payload = payload(key);
    async_stream::stream! {
        let mut failures = 0_u32;
        loop {
            let mut waiting = link.wakeups.listen(&payload);
            match link.listening().await {
                Ok(session) => {
                    failures = 0;
                    yield Hint;
                    loop {
                        tokio::select! {
                            biased;
                            () = session.dead.cancelled() => break,
                            message = waiting.recv() => match message {
                                Ok(()) | Err(broadcast::error::RecvError::Lagged(_)) => yield Hint,
                                Err(broadcast::error::RecvError::Closed) => break,
                            }
                        }
                    }
                }
                Err(error) => tracing::debug!(%error, "no connection for wake-ups"),
            }
            let pause = RETRY_LEAST.saturating_mul(1 << failures.min(10)).min(RETRY_MOST);
            failures = failures.saturating_add(1);
            link.runtime.sleep_until(link.runtime.now() + pause).await;
        }
    }
}
