//! Wake-ups: one watch on the leaders' keys of all elections under the prefix, which reports
//! releases and ends of leases alike. A wish writes the leader's key once more, as it is.
//!
//! Renewals write no key, so elections that are not watched here cost a message each time that
//! their lease is granted or ends, and those that are watched here cost the cluster nothing. The
//! watch begins "now": each election is hinted after that, so no past is needed that the server may
//! have compacted away.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use etcd_client::{Event, EventType, WatchOptions, WatchStream};
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::error::failed;
use super::link::{Link, Live};
use crate::runtime::Runtime;
use crate::store::slot::Patience;
use crate::store::subscriptions::{Subscriber, Table, Topic};
use crate::store::{Key, StoreError, StoreErrorKind};

impl Subscriber for Link {
    type Live = Live;
    /// There are no messages.
    type Said = Infallible;

    fn table(&self) -> &Table<Infallible> {
        &self.listeners
    }

    fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.runtime
    }

    fn within(&self) -> Duration {
        self.config.connect_timeout
    }

    async fn connected(self: &Arc<Self>) -> Result<Arc<Live>, StoreError> {
        self.live(Patience::Waits).await
    }

    async fn subscribe(self: &Arc<Self>, on: &Arc<Live>, _: &[Topic]) -> Result<(), StoreError> {
        if on.watch.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Ok(());
        }
        let watch = self.watch(on).await?;
        let end = CancellationToken::new();
        let forwards = forward(Arc::clone(self), Arc::clone(on), watch, end.clone());
        self.runtime.spawn(forwards.boxed());
        *on.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(end.drop_guard());
        Ok(())
    }

    async fn unsubscribe(self: &Arc<Self>, on: &Arc<Live>, _: &[Topic]) -> Result<(), StoreError> {
        if !self.listeners.wants_anything() {
            *on.watch.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        Ok(())
    }

    /// HTTP/2's own pings are the heartbeat, and end the stream of the watch.
    async fn beats(self: &Arc<Self>, _: &Arc<Live>) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Link {
    async fn watch(&self, live: &Live) -> Result<WatchStream, StoreError> {
        let all = WatchOptions::new().with_prefix();
        let mut client = live.client.watch_client();
        let created = async {
            let mut watch = client.watch(self.config.leaders(), Some(all)).await?;
            let first = watch.message().await?;
            Ok::<_, etcd_client::Error>((watch, first))
        };
        match created.await {
            Ok((watch, Some(first))) if first.created() && !first.canceled() => Ok(watch),
            // After a refusal, for a user without the right to read, the connection is still
            // usable.
            Ok((_, Some(first))) => Err(StoreError::showing(
                StoreErrorKind::Permission,
                first.cancel_reason().to_owned(),
            )),
            Ok((_, None)) => {
                live.dead.cancel();
                let why = "the member has ended the stream of a watch";
                Err(StoreError::new(StoreErrorKind::Disconnected, why))
            }
            Err(error) => {
                live.dead.cancel();
                Err(failed(&error))
            }
        }
    }
}

/// The leader's key of a lease that has ended, or whose holder is wished to hand over.
fn hints(event: &Event) -> Option<&[u8]> {
    let key = event.kv()?;
    // A grant makes the key, which has the version 1 then.
    let is_grant = event.event_type() == EventType::Put && key.version() == 1;
    (!is_grant).then(|| key.key())
}

/// Hints what the watch reports, until it is ended or the connection is.
async fn forward(link: Arc<Link>, live: Arc<Live>, mut watch: WatchStream, end: CancellationToken) {
    let leaders = link.config.leaders();
    loop {
        let message = tokio::select! {
            biased;
            () = live.dead.cancelled() => return,
            () = end.cancelled() => return,
            message = watch.message() => message,
        };
        match message {
            Ok(Some(update)) if !update.canceled() => {
                for name in update.events().iter().filter_map(hints) {
                    let name = std::str::from_utf8(name).unwrap_or_default();
                    let Some(key) = name.strip_prefix(&leaders) else { continue };
                    let Ok(key) = Key::new(key) else { continue };
                    link.listeners.wake(&key);
                }
            }
            // The connection is broken, or this member has lost the others, or has ended the watch.
            Ok(_) | Err(_) => {
                live.dead.cancel();
                return;
            }
        }
    }
}
