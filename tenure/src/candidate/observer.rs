//! Observers: they learn who leads, and are no candidates.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::stream::{FusedStream, Stream};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use tenure_core::Mark;
use tokio::sync::Notify;

use super::shown_by;
use crate::runtime::{Runtime, part_of};
use crate::shared::{Command, Commands, ObserverId, ask};
use crate::store::{Incumbent, Key, Request, StoreError};
use crate::{Instant, Token};

/// A stream of the leaders of one election, with their metadata: for routers and clients that never
/// lead.
///
/// It yields who leads at first, and then each change of that or of the metadata:
///
/// - `Ok(Some(..))` is the incumbent,
/// - `Ok(None)` means that no candidate leads: the lease was given back, or was not renewed for its
///   TTL,
/// - an error means that the store did not answer, so that it is not known who leads. The next item
///   is again who leads. An outage is one item, however long it lasts.
///
/// The stream asks the store about three times in the incumbent's TTL, at the poll bound at the
/// latest, and at once when the store says that the lease was released. While no candidate leads,
/// it asks after 20 ms, then after twice as long, up to the poll bound. It asks nothing while it is
/// not polled, and a slow reader misses intermediate leaders, but never the present one.
///
/// **Not guaranteed**: that an incumbent still leads when its item is read: it may have released
/// the lease or crashed meanwhile. A request to it must be one that it may refuse.
///
/// Dropping the stream drops no request to the store, and costs other elections nothing. It ends
/// when the driver is gone, and that of a candidate when the candidate has stopped. It may be
/// polled after its end.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use futures_util::StreamExt;
/// use tenure::{Candidate, Elections, store::Memory};
///
/// let store = Memory::new();
/// let mut leaders = Elections::new(store.clone()).observe("api")?;
/// assert!(matches!(leaders.next().await, Some(Ok(None))));
///
/// let candidate = Candidate::builder(store, "api").metadata("10.0.0.7:8080").start()?;
/// let Some(Ok(Some(leader))) = leaders.next().await else { panic!("a leader") };
/// assert_eq!(&leader.metadata[..], b"10.0.0.7:8080");
/// # drop(candidate);
/// # Ok(())
/// # }
/// ```
#[must_use = "a stream asks nothing unless it is polled"]
pub struct Observer(Pin<Box<dyn FusedStream<Item = Sight> + Send>>);

/// An item of an observer.
type Sight = Result<Option<Incumbent>, StoreError>;

impl Observer {
    /// Observes until `over` completes.
    pub(super) fn begin(watch: Watch, over: BoxFuture<'static, ()>) -> Self {
        Self(Box::pin(watch.stream(over).fuse()))
    }
}

/// One observed election at its driver.
pub(super) struct Watch {
    key: Key,
    /// Keeps the driver.
    commands: Commands,
    runtime: Arc<dyn Runtime>,
    /// The lease may have become vacant, or the driver is gone.
    hinted: Arc<Notify>,
    /// Once the driver was told of it.
    id: Option<ObserverId>,
    poll_bound: Duration,
    request_timeout: Duration,
    /// The lease's last renewal, and when that was first seen.
    unchanged: Option<((Mark, Instant), Instant)>,
}

/// The parts of a new watch.
pub(super) struct NewWatch {
    pub(super) key: Key,
    pub(super) commands: Commands,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) poll_bound: Duration,
    pub(super) request_timeout: Duration,
}

/// The last item.
#[derive(PartialEq, Eq)]
enum Shown {
    Nothing,
    Incumbent(Option<(Token, Bytes)>),
    Error,
}

/// The first pause while no candidate holds the lease, or the store does not answer.
const PAUSE_LEAST: Duration = Duration::from_millis(20);
/// The longest pause while the store does not answer.
const OUTAGE_PAUSE_MOST: Duration = Duration::from_secs(1);

impl Watch {
    pub(super) fn new(new: NewWatch) -> Self {
        let NewWatch { key, commands, runtime, poll_bound, request_timeout } = new;
        let (hinted, id) = (Arc::new(Notify::new()), None);
        Self { key, commands, runtime, hinted, id, poll_bound, request_timeout, unchanged: None }
    }

    /// Has the driver pass hints on.
    async fn begin(&mut self) {
        // They are woken in the order in which they began, which the addresses of their allocations
        // would not keep.
        static NEXT: AtomicU64 = AtomicU64::new(0);

        let place = self.commands.place().await;
        let observer = *self.id.insert(NEXT.fetch_add(1, Ordering::Relaxed));
        let (key, hinted) = (self.key.clone(), Arc::clone(&self.hinted));
        // Without a driver, the first request finds that out.
        let _ = self.commands.send(Command::Watch { key, observer, hinted, place });
    }

    fn stream(mut self, mut over: BoxFuture<'static, ()>) -> impl Stream<Item = Sight> + Send {
        async_stream::stream! {
            tokio::select! {
                biased;
                () = &mut over => return,
                () = self.begin() => {}
            }
            let (mut shown, mut pauses) = (Shown::Nothing, 0);
            loop {
                let sight = tokio::select! {
                    biased;
                    () = &mut over => return,
                    sight = self.look() => sight,
                };
                if self.commands.are_closed() {
                    return;
                }
                let again_at = self.again_at(&sight, &mut pauses);
                let now_shown = match &sight {
                    Ok(incumbent) => {
                        let shown = |one: &Incumbent| (one.token, one.metadata.clone());
                        Shown::Incumbent(incumbent.as_ref().map(shown))
                    }
                    Err(_) => Shown::Error,
                };
                if shown != now_shown {
                    shown = now_shown;
                    yield sight;
                }
                tokio::select! {
                    biased;
                    () = &mut over => return,
                    () = self.hinted.notified() => pauses = 0,
                    () = self.runtime.sleep_until(again_at) => {}
                }
            }
        }
    }

    async fn look(&mut self) -> Sight {
        let within = self.request_timeout;
        let asked = ask(&self.commands, &self.runtime, &self.key, within, Request::Observe);
        let shown = shown_by(asked.await?)?;
        let (now, renewal) = (self.runtime.now(), shown.renewal());
        let before = self.unchanged.filter(|(known, _)| Some(*known) == renewal);
        self.unchanged = before.or_else(|| renewal.map(|renewal| (renewal, now)));
        let unchanged = self.unchanged.map_or(Duration::ZERO, |(_, since)| now.since(since));
        // A leader that has not renewed for that long leads no more.
        Ok(shown.incumbent().filter(|incumbent| unchanged < incumbent.ttl))
    }

    /// The next time to ask, after so many pauses in a row.
    fn again_at(&self, sight: &Sight, pauses: &mut u32) -> Instant {
        let doubled = PAUSE_LEAST.saturating_mul(2_u32.saturating_pow((*pauses).min(31)));
        *pauses = pauses.saturating_add(1);
        let wait = match sight {
            Ok(Some(incumbent)) => {
                *pauses = 0;
                let since = self.unchanged.map_or_else(|| self.runtime.now(), |(_, since)| since);
                let left = (since + incumbent.ttl).since(self.runtime.now());
                left.min(incumbent.ttl / 3).max(PAUSE_LEAST)
            }
            Ok(None) => doubled,
            // Observers of many processes must not ask together after an outage.
            Err(_) => {
                let pause = part_of(&*self.runtime, doubled.min(OUTAGE_PAUSE_MOST));
                pause.max(Duration::from_millis(1))
            }
        };
        self.runtime.now() + wait.min(self.poll_bound)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(observer) = self.id {
            // A driver that is gone watches nothing.
            let _ = self.commands.send(Command::Unwatch { key: self.key.clone(), observer });
        }
    }
}

impl Stream for Observer {
    type Item = Sight;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Sight>> {
        self.0.as_mut().poll_next(context)
    }
}

impl FusedStream for Observer {
    fn is_terminated(&self) -> bool {
        self.0.is_terminated()
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer(..)")
    }
}
