//! Wake-ups: a stream of events for each election, or one for all of the namespace.
//!
//! A stream begins with the present state, so what was released before is found. A role may be
//! limited to the names of Leases, and then allows streams of one name each; a server allows a few
//! hundred streams on one connection. So the first elections have a stream each, and with more of
//! them there is one for all.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use http::Request;
use kube_client::core::WatchEvent;
use tokio_util::sync::CancellationToken;

use super::error;
use super::lease::{Found, KEY, Lease};
use super::leases;
use super::link::{Link, Live, Streams};
use super::patch;
use crate::runtime::Runtime;
use crate::store::cas::Change;
use crate::store::slot::CONNECT_TIMEOUT;
use crate::store::subscriptions::{self, Subscriber, Table, Topic};
use crate::store::{Key, StoreError, StoreErrorKind, Watched};

/// How many elections have a stream each.
const EACH_MOST: usize = 4;
/// The pause before a stream that has ended is opened again: servers end each from time to time.
const PAUSE: Duration = Duration::from_secs(1);

type Events = BoxStream<'static, Result<WatchEvent<Lease>, kube_client::Error>>;

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
        CONNECT_TIMEOUT
    }

    async fn connected(self: &Arc<Self>) -> Result<Arc<Live>, StoreError> {
        self.live().await
    }

    async fn subscribe(
        self: &Arc<Self>,
        on: &Arc<Live>,
        topics: &[Topic],
    ) -> Result<(), StoreError> {
        let new: Vec<Key> = match &*on.streams() {
            Streams::All { .. } => return Ok(()),
            Streams::Each(open) => {
                elections(topics).filter(|key| !open.contains_key(*key)).cloned().collect()
            }
        };
        let open = match &*on.streams() {
            Streams::Each(open) => open.len(),
            Streams::All { .. } => 0,
        };
        if open + new.len() > EACH_MOST {
            let end = self.opens(on, None).await?;
            *on.streams() = Streams::All { _guard: end.drop_guard() };
            return Ok(());
        }
        for key in new {
            let end = self.opens(on, Some(&key)).await?;
            if let Streams::Each(open) = &mut *on.streams() {
                open.insert(key, end.drop_guard());
            }
        }
        Ok(())
    }

    async fn unsubscribe(
        self: &Arc<Self>,
        on: &Arc<Live>,
        topics: &[Topic],
    ) -> Result<(), StoreError> {
        if !self.listeners.wants_anything() {
            *on.streams() = Streams::Each(BTreeMap::new());
        } else if let Streams::Each(open) = &mut *on.streams() {
            for key in elections(topics) {
                open.remove(key);
            }
        }
        Ok(())
    }

    fn unwatched(&self, key: &Key) {
        let mut shown = self.shown();
        shown.hints.remove(key);
        shown.wishes.remove(key);
    }

    /// HTTP/2's own pings are the heartbeat, and end the connection.
    async fn beats(self: &Arc<Self>, _: &Arc<Live>) -> Result<(), StoreError> {
        Ok(())
    }
}

fn elections(topics: &[Topic]) -> impl Iterator<Item = &Key> {
    topics.iter().filter_map(|topic| match topic {
        Topic::Election(key) => Some(key),
        Topic::Inbox(_) => None,
    })
}

impl Link {
    /// Opens a stream, which lasts until its end is asked for or the connection ends.
    async fn opens(
        self: &Arc<Self>,
        live: &Arc<Live>,
        of: Option<&Key>,
    ) -> Result<CancellationToken, StoreError> {
        let events = self.events(live, of).await?;
        let end = CancellationToken::new();
        let (link, live) = (Arc::clone(self), Arc::clone(live));
        let forwards = forward(link, live, of.cloned(), events, end.clone());
        self.runtime.spawn(forwards.boxed());
        Ok(end)
    }

    /// An error other than a refusal ends the connection.
    async fn events(&self, live: &Live, of: Option<&Key>) -> Result<Events, StoreError> {
        let selector = match of {
            Some(key) => {
                format!("fieldSelector=metadata.name%3D{}", self.config.name(key))
            }
            None => patch::selector(),
        };
        let path = format!("{}?watch=1&{selector}", self.config.path());
        let request = Request::get(path)
            .body(Vec::new())
            .map_err(|error| StoreError::showing(StoreErrorKind::UnexpectedReply, error))?;
        match live.client.request_events::<Lease>(request).await {
            Ok(events) => Ok(events.boxed()),
            Err(refused @ kube_client::Error::Api(_)) => Err(error::of(&refused)),
            Err(error) => {
                live.dead.cancel();
                Err(error::of(&error))
            }
        }
    }

    fn wake(&self, of: Option<&Key>, lease: Lease, is_gone: bool) {
        let named = || Key::new(lease.metadata.annotations.get(KEY)?).ok();
        let Some(key) = of.cloned().or_else(named) else { return };
        if !self.listeners.watches(&key) {
            return;
        }
        // That of an object which can't be read is left to the request that follows.
        let found = leases::read(&key, lease).ok().filter(|_| !is_gone);
        let change = Change { key: key.clone(), found };
        let mut shown = self.shown();
        // Here, too: what is no hint must not take the place of the one after a subscription.
        if change.is_hint(&mut shown.wishes) {
            shown.hints.insert(key.clone(), change);
            self.listeners.wake(&key);
        }
    }

    /// What events have shown of elections that are watched. Of several, the last.
    pub(super) fn changes(
        self: &Arc<Self>,
        watched: Watched,
    ) -> impl Stream<Item = Change<Box<Found>>> + Send + 'static {
        let link = Arc::clone(self);
        let keys = subscriptions::hints(Arc::clone(self), watched);
        keys.map(move |key| {
            let shown = link.shown().hints.remove(&key);
            shown.unwrap_or(Change { key, found: None })
        })
    }
}

/// Hints what the events report.
async fn forward(
    link: Arc<Link>,
    live: Arc<Live>,
    of: Option<Key>,
    mut events: Events,
    end: CancellationToken,
) {
    loop {
        let event = tokio::select! {
            biased;
            () = live.dead.cancelled() => return,
            () = end.cancelled() => return,
            event = events.next() => event,
        };
        match event {
            Some(Ok(WatchEvent::Added(lease) | WatchEvent::Modified(lease))) => {
                link.wake(of.as_ref(), lease, false);
            }
            Some(Ok(WatchEvent::Deleted(lease))) => link.wake(of.as_ref(), lease, true),
            Some(Ok(WatchEvent::Bookmark(_))) => {}
            Some(Ok(WatchEvent::Error(_)) | Err(_)) | None => {
                link.runtime.sleep_until(link.runtime.now() + PAUSE).await;
                match link.events(&live, of.as_ref()).await {
                    Ok(next) => events = next,
                    // Another connection begins with new streams.
                    Err(_) => return live.dead.cancel(),
                }
            }
        }
    }
}
