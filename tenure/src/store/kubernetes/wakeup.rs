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
use crate::Instant;
use crate::logging;
use crate::runtime::Runtime;
use crate::store::cas::Change;
use crate::store::slot::CONNECT_TIMEOUT;
use crate::store::subscriptions::{self, Subscriber, Table, Topic};
use crate::store::{Key, StoreError, StoreErrorKind, Watched};

/// The most elections with a stream each.
const EACH_MOST: usize = 4;
/// The least time from one opening of a stream to the next, and the pause after an error: servers
/// end each from time to time.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest pause. It doubles with each refusal.
const PAUSE_MOST: Duration = Duration::from_secs(30);

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
            Err(error) => {
                if !error::is_refusal(&error) {
                    live.dead.cancel();
                }
                Err(error::of(&error))
            }
        }
    }

    fn wake(&self, of: Option<&Key>, lease: Lease, is_gone: bool) {
        let named = || Key::new(lease.metadata.annotations.get(KEY)?).ok();
        let Some(key) = of.cloned().or_else(named) else { return };
        // Before it is asked who watches: what an election shows that is left now must not stay.
        let mut shown = self.shown();
        if !self.listeners.watches(&key) {
            return;
        }
        // That of an object which can't be read is left to the request that follows.
        let found = leases::read(&key, lease).ok().filter(|_| !is_gone);
        let change = Change { key: key.clone(), found };
        // Here, too: what is no hint must not take the place of the one after a subscription.
        if change.is_hint(&mut shown.wishes) {
            shown.hints.insert(key.clone(), change);
            self.listeners.wake(&key);
        }
    }

    /// The events of elections that are watched. Of several, the last.
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
    let mut opened = link.runtime.now();
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
            ended @ (Some(Ok(WatchEvent::Error(_)) | Err(_)) | None) => {
                // One that has lasted, and ends in order, is missed until it is open again.
                let since = if ended.is_none() { opened } else { link.runtime.now() };
                let next = reopened(&link, &live, of.as_ref(), since + PAUSE, &end).await;
                let Some(next) = next else { return };
                (events, opened) = (next, link.runtime.now());
            }
        }
    }
}

/// Opens a stream again that has ended, no earlier than then. A server that refuses it is asked ever more rarely: its
/// connection serves the requests of all elections. Nothing once the stream's end is asked for, or
/// the connection ends: another one begins with new streams.
async fn reopened(
    link: &Link,
    live: &Live,
    of: Option<&Key>,
    mut at: Instant,
    end: &CancellationToken,
) -> Option<Events> {
    let opens = async {
        let mut pause = PAUSE;
        loop {
            link.runtime.sleep_until(at).await;
            match link.events(live, of).await {
                Ok(events) => break events,
                Err(error) => logging::debug!(%error, "a stream of events was not opened again"),
            }
            pause = (pause * 2).min(PAUSE_MOST);
            at = link.runtime.now() + pause;
        }
    };
    tokio::select! {
        biased;
        () = live.dead.cancelled() => None,
        () = end.cancelled() => None,
        events = opens => Some(events),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use http::Response;
    use kube_client::Client;
    use kube_client::client::Body;

    use super::*;
    use crate::store::fake::Clock;
    use crate::store::kubernetes::KubernetesConfig;

    const TICK: Duration = Duration::from_millis(100);

    /// A server that answers with these codes, and with 200 then.
    struct Server {
        clock: Clock,
        link: Arc<Link>,
        live: Arc<Live>,
        /// The request times, in milliseconds.
        asked: Arc<Mutex<Vec<u128>>>,
    }

    impl Server {
        fn answering(codes: &'static [u16]) -> Self {
            let (clock, asked) = (Clock::default(), Arc::new(Mutex::new(Vec::new())));
            let (now, times) = (clock.clone(), Arc::clone(&asked));
            let service = tower::service_fn(move |_: Request<Body>| {
                let mut times = times.lock().unwrap();
                let code = codes.get(times.len()).copied().unwrap_or(200);
                times.push(now.millis());
                let body = Body::from(b"no".to_vec());
                std::future::ready(Response::builder().status(code).body(body))
            });
            let runtime: Arc<dyn Runtime> = Arc::new(clock.clone());
            let (client, dead) = (Client::new(service, "default"), CancellationToken::new());
            let live = Arc::new(Live::over(client, dead, runtime.now(), &runtime));
            let mut link = Link::new(KubernetesConfig::new("default").unwrap());
            link.runtime = runtime;
            Self { clock, link: Arc::new(link), live, asked }
        }

        /// True if the stream is opened again, while time passes.
        async fn reopens(&self, end: &CancellationToken) -> bool {
            let at = self.clock.now() + PAUSE;
            tokio::select! {
                biased;
                events = reopened(&self.link, &self.live, None, at, end) => events.is_some(),
                () = self.time_passes() => unreachable!("time has no end"),
            }
        }

        async fn time_passes(&self) {
            loop {
                self.clock.advance(TICK);
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
            }
        }

        /// The pauses before each of its answers.
        fn pauses(&self) -> Vec<Duration> {
            let times = self.asked.lock().unwrap().clone();
            let before = std::iter::once(0).chain(times.clone());
            let pauses = times.into_iter().zip(before).map(|(at, before)| at - before);
            pauses.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap())).collect()
        }
    }

    #[tokio::test]
    async fn a_refused_stream_is_asked_for_again() {
        let server = Server::answering(&[429, 403, 410, 500, 503, 429]);
        assert!(server.reopens(&CancellationToken::new()).await);
        assert!(!server.live.dead.is_cancelled(), "other requests need the connection");
        let (pauses, least) = (server.pauses(), [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(pauses.len(), least.len(), "{pauses:?}");
        for (pause, least) in pauses.iter().zip(least.map(Duration::from_secs)) {
            assert!((least..least + 5 * TICK).contains(pause), "{pauses:?}");
        }
    }

    /// A server that ends each stream at once is asked no more often than every second.
    #[tokio::test]
    async fn an_ended_stream_that_lasted_opens_at_once() {
        for (lasts, asked_after) in [(0, 1), (5, 5)] {
            let server = Server::answering(&[]);
            let lasts = server.clock.sleep_until(server.clock.now() + Duration::from_secs(lasts));
            let events =
                futures_util::stream::once(lasts).filter_map(|()| std::future::ready(None));
            let (link, live) = (Arc::clone(&server.link), Arc::clone(&server.live));
            let asked = async {
                while server.asked.lock().unwrap().is_empty() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                () = asked => {}
                () = forward(link, live, None, events.boxed(), CancellationToken::new()) => {
                    unreachable!("its end was not asked for")
                }
                () = server.time_passes() => unreachable!("time has no end"),
            }
            let least = Duration::from_secs(asked_after);
            let pause = server.pauses()[0];
            assert!((least..least + 5 * TICK).contains(&pause), "{pause:?}");
        }
    }

    #[tokio::test]
    async fn a_stream_that_is_not_needed_stays_closed() {
        let server = Server::answering(&[]);
        let end = CancellationToken::new();
        end.cancel();
        assert!(!server.reopens(&end).await && server.pauses().is_empty());
        // Unknown credentials: another connection may have others.
        let server = Server::answering(&[429, 401]);
        assert!(!server.reopens(&CancellationToken::new()).await);
        assert!(server.live.dead.is_cancelled() && server.pauses().len() == 2);
    }
}
