//! Listens for wake-ups and messages on one channel of a server, across connections.

use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use tokio::sync::broadcast;

use super::slot::Connection;
use crate::runtime::Runtime;

const RETRY_LEAST: Duration = Duration::from_millis(100);
const RETRY_MOST: Duration = Duration::from_secs(5);

/// What a listener learns of a channel.
pub(super) enum Heard<T> {
    /// The subscription has begun, or something was missed.
    Perhaps,
    Said(T),
}

/// First subscribes, then listens, and both anew once the connection has ended. A subscription that fails is repeated
/// after a pause.
pub(super) fn listen<C, T, S>(
    runtime: Arc<dyn Runtime>,
    subscribe: impl Fn() -> S + Send + 'static,
) -> impl Stream<Item = Heard<T>> + Send + 'static
where
    C: Connection,
    T: Clone + Send + 'static,
    S: Future<Output = Option<(Arc<C>, broadcast::Receiver<T>)>> + Send + 'static,
{
    async_stream::stream! {
        let mut failures = 0_u32;
        loop {
            if let Some((connection, mut channel)) = subscribe().await {
                failures = 0;
                yield Heard::Perhaps;
                loop {
                    tokio::select! {
                        biased;
                        () = connection.dead().cancelled() => break,
                        said = channel.recv() => match said {
                            Ok(said) => yield Heard::Said(said),
                            Err(broadcast::error::RecvError::Lagged(_)) => yield Heard::Perhaps,
                            Err(broadcast::error::RecvError::Closed) => break,
                        }
                    }
                }
            }
            let pause = RETRY_LEAST.saturating_mul(1 << failures.min(10)).min(RETRY_MOST);
            failures = failures.saturating_add(1);
            runtime.sleep_until(runtime.now() + pause).await;
        }
    }
}
