//! Wake-ups: a watch on the lease's key, which reports a release and the end of a lease alike.

use std::sync::Arc;
use std::time::Duration;

use etcd_client::{WatchFilterType, WatchOptions, WatchStream};
use futures_core::Stream;

use super::link::{Link, Live};
use crate::store::{Hint, Key};

const RETRY_LEAST: Duration = Duration::from_millis(100);
const RETRY_MOST: Duration = Duration::from_secs(5);

/// Hints on one key, across connections. Each watch begins with a hint: the attempt that follows it finds a lease
/// that ended before the watch began. So a watch that begins "now" misses none, and needs no past that the server
/// may have compacted away.
pub(super) fn hints(link: Arc<Link>, key: Key) -> impl Stream<Item = Hint> + Send + 'static {
    let name = link.config.leader(&key);
    async_stream::stream! {
        let mut failures = 0_u32;
        loop {
            if let Some((live, mut watch)) = begin(&link, &name).await {
                failures = 0;
                yield Hint;
                loop {
                    let message = tokio::select! {
                        biased;
                        () = live.dead.cancelled() => break,
                        message = watch.message() => message,
                    };
                    match message {
                        Ok(Some(update)) if update.canceled() => break,
                        Ok(Some(update)) if update.events().is_empty() => {}
                        Ok(Some(_)) => {
                            // Likely to be vacant now.
                            link.forget(&key);
                            yield Hint;
                        }
                        // The connection is broken, or this member has lost the others.
                        Ok(None) | Err(_) => {
                            live.dead.cancel();
                            break;
                        }
                    }
                }
            }
            let pause = RETRY_LEAST.saturating_mul(1 << failures.min(10)).min(RETRY_MOST);
            failures = failures.saturating_add(1);
            link.after(pause).await;
        }
    }
}

/// `None` if the key can't be watched: hints are unreliable anyway, and the next attempt follows. If the future is
/// dropped half way, the connection is kept: other requests use it too.
async fn begin(link: &Arc<Link>, name: &str) -> Option<(Arc<Live>, WatchStream)> {
    let live = match link.live().await {
        Ok(live) => live,
        Err(error) => {
            tracing::debug!(%error, "no connection for wake-ups");
            return None;
        }
    };
    let ends = WatchOptions::new().with_filters([WatchFilterType::NoPut]);
    let mut client = live.client.watch_client();
    let created = async {
        let mut watch = client.watch(name, Some(ends)).await?;
        let first = watch.message().await?;
        Ok::<_, etcd_client::Error>((watch, first))
    };
    tokio::select! {
        biased;
        answer = created => match answer {
            Ok((watch, Some(first))) if first.created() && !first.canceled() => Some((live, watch)),
            Ok((_, first)) => {
                // After a refusal, for a user without the right to read, the connection is still usable.
                let reason = first.map(|first| first.cancel_reason().to_owned());
                tracing::warn!(?reason, "wake-ups refused: waiting candidates poll");
                None
            }
            Err(error) => {
                tracing::debug!(%error, "no watch for wake-ups");
                live.dead.cancel();
                None
            }
        },
        () = link.after(link.config.connect_timeout) => {
            live.dead.cancel();
            None
        }
    }
}
