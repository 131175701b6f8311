//! A live handle on one tenure, and the work that belongs to it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Poll;
use std::time::Duration;

use futures_core::stream::FusedStream;
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::deadline::Deadline;
use crate::logging::Span;
use crate::runtime::Runtime;
use crate::store::{Key, Message};
use crate::trace::{Recorder, Write};
use crate::watchdog::{Watchdog, WatchedWork};
use crate::{Instant, Token};

/// One grant of the lead, from its beginning to its end. Clones are the same tenure.
///
/// **Not guaranteed**: that the tenure is still current at any moment after [`is_current`] said so.
/// Fence every resource that the leader writes to by its [`token`].
///
/// [`is_current`]: Self::is_current
/// [`token`]: Self::token
#[derive(Clone)]
pub struct Tenure(Arc<Inner>);

/// The parts of a new tenure.
pub(crate) struct Grant {
    pub(crate) token: Token,
    pub(crate) key: Key,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) until: Instant,
    pub(crate) drain_until: Instant,
    /// Weak: a tenure that is still held does not keep its driver.
    pub(crate) driver: Weak<dyn DriverLink>,
    pub(crate) recorder: Option<Arc<Recorder>>,
    pub(crate) span: Span,
}

/// A tenure's request for the messages that are sent to it.
pub(crate) struct Inbox {
    pub(crate) key: Key,
    pub(crate) token: Token,
    pub(crate) messages: broadcast::Sender<Message>,
    /// Cancelled when the tenure is over.
    pub(crate) over: CancellationToken,
}

/// A tenure's requests to its driver.
pub(crate) trait DriverLink: Send + Sync {
    /// To fill an inbox.
    fn open(&self, inbox: Inbox);
    /// To end the tenure with that token when the work is silent.
    fn watch(&self, token: Token, work: Arc<WatchedWork>);
}

/// The end of work under a tenure.
pub(crate) enum WorkResult<T> {
    /// It ended while the tenure was current, by a clock that was read after its end.
    InTime(T),
    /// It ended once the tenure was over.
    Late(T),
    /// It was dropped before its end, or was never started.
    Dropped,
}

/// The most unread messages of a reader before it loses the oldest.
const INBOX: usize = 64;

struct Inner {
    token: Token,
    key: Key,
    runtime: Arc<dyn Runtime>,
    driver: Weak<dyn DriverLink>,
    recorder: Option<Arc<Recorder>>,
    /// `None` if nobody listens: a process may have a hundred thousand tenures.
    span: Option<Box<Span>>,
    /// The end of the claim.
    until: Deadline,
    /// Until when work may continue in order to end cleanly: no other candidate can lead before.
    drain_until: Deadline,
    /// Created on first use: most applications only ask whether the tenure is current.
    ends: OnceLock<Box<Ends>>,
}

/// The parts that take note of the end of the tenure.
#[derive(Default)]
struct Ends {
    cancelled: CancellationToken,
    /// The work that has to end before the lease is handed back.
    work: TaskTracker,
    drain_moved: Notify,
    /// The end of the hold, in nanoseconds of the candidate's clock; zero without one.
    held_until: AtomicU64,
}

impl Tenure {
    pub(crate) fn new(grant: Grant) -> Self {
        let Grant { token, key, runtime, until, drain_until, driver, recorder, span } = grant;
        let span = (!span.is_none()).then(|| Box::new(span));
        Self(Arc::new(Inner {
            token,
            key,
            runtime,
            driver,
            recorder,
            span,
            until: Deadline::until(until),
            drain_until: Deadline::until(drain_until),
            ends: OnceLock::new(),
        }))
    }

    /// The fencing token. Never changes.
    ///
    /// A leader may be paused between [`is_current`](Self::is_current) and its write, and another
    /// candidate may lead by then. Only the resource that is written to can refuse such a write, if
    /// each tenure does three things in this order:
    ///
    /// 1. *Take the resource over* with this token, and repeat that until its outcome is known. The
    ///    resource accepts a token that is at least the stored one, and stores it.
    /// 2. Read.
    /// 3. Write. The resource accepts a write only if the stored token *equals* this one, in one
    ///    atomic step with the write, which never changes the stored token.
    ///
    /// Refusing lower tokens alone is not enough: a last write of the old leader may land after the
    /// new one has read and before it has shown its token, and then a job runs twice. Tokens order
    /// the tenures of one election; they do not order the retries within a tenure, and tokens of
    /// two elections can't be compared.
    pub fn token(&self) -> Token {
        self.0.token
    }

    /// The election.
    pub fn key(&self) -> &Key {
        &self.0.key
    }

    /// True if the tenure holds now: at an instant within this call. An atomic load on each side of
    /// one reading of the clock; needs no reply, no timer and no other thread to become false. Once
    /// false, it stays so.
    pub fn is_current(&self) -> bool {
        self.0.until.holds_or_closes(|| self.0.runtime.now())
    }

    /// The end of the claim by the runtime's clock, if it is not renewed; in the past once the
    /// tenure has ended. It is no `std::time::Instant`: [`remaining`](Self::remaining) says how
    /// long that is from now.
    pub fn valid_until(&self) -> Instant {
        self.0.until.get()
    }

    /// Until when, by the runtime's clock, work of this tenure is still polled so that it can end
    /// cleanly: no other candidate can lead before. Moves with each renewal; [`run_while_leader`]
    /// says how far it may lie ahead once the tenure has ended, and work can see how much of that
    /// is left.
    ///
    /// [`run_while_leader`]: crate::Candidate::run_while_leader
    pub fn drain_until(&self) -> Instant {
        self.0.drain_until.get()
    }

    /// The time left of the tenure if it is not renewed; zero once it has ended.
    pub fn remaining(&self) -> Duration {
        let until = self.0.until.get();
        until.since(self.0.runtime.now())
    }

    /// Completes when the tenure has ended, for whatever reason.
    pub async fn ended(&self) {
        while self.is_current() {
            tokio::select! {
                biased;
                () = self.cancelled().cancelled() => return,
                () = self.0.runtime.sleep_until(self.0.until.get()) => {}
            }
        }
    }

    /// A token of tokio's that is cancelled when the tenure ends. Under [`run_while_leader`] and
    /// its like, the work's own timer cancels it at the end of the claim; otherwise the driver
    /// does, a little later. Cancelling it does not end the tenure.
    ///
    /// [`run_while_leader`]: crate::Candidate::run_while_leader
    pub fn cancellation_token(&self) -> CancellationToken {
        // A child: cancelling it must not end the tenure.
        self.cancelled().child_token()
    }

    /// The messages that were [sent to this tenure](crate::Candidate::notify_leader), in the order
    /// in which they were sent. Ends with the tenure, and may be polled after its end. A second
    /// inbox of the tenure gets copies of the messages.
    ///
    /// This call subscribes at the store, whether or not the stream is read. Each message arrives
    /// at most once. A message is lost if it was sent before the store knew of the inbox (so open
    /// it first), while there was no connection, or while this stream lagged behind by more than 64
    /// messages. A store without messages never yields any: see
    /// [`StoreTraits::messages`](crate::store::StoreTraits).
    pub fn inbox(&self) -> impl FusedStream<Item = Message> + Send + Unpin + 'static + use<> {
        let (messages, mut inbox) = broadcast::channel(INBOX);
        let tenure = self.clone();
        let (key, token) = (tenure.0.key.clone(), tenure.0.token);
        let over = tenure.cancelled().clone();
        // Without a candidate the stream ends at once.
        if let Some(driver) = tenure.0.driver.upgrade() {
            driver.open(Inbox { key, token, messages, over });
        }
        Box::pin(async_stream::stream! {
            loop {
                let message = tokio::select! {
                    biased;
                    () = tenure.ended() => return,
                    message = inbox.recv() => message,
                };
                match message {
                    // The thread may have been paused meanwhile.
                    Ok(message) if tenure.is_current() => yield message,
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Ok(_) | Err(broadcast::error::RecvError::Closed) => return,
                }
            }
        })
    }

    /// Watches leader-only work that may hang without ending: if the work does not call
    /// [`Watchdog::alive`] for `bound`, counted from this call and from each `alive`, the candidate
    /// gives the lead up.
    ///
    /// The tenure then ends as after [`resign`](crate::Candidate::resign), with the reason
    /// [`StepDownReason::Unresponsive`](crate::StepDownReason::Unresponsive): its cancellation
    /// token fires, the lease is handed back once the work has ended, and the candidate campaigns
    /// again after its [hold-off](crate::CandidateBuilder::hold_off), so that another candidate can
    /// lead first. Work that waits for the cancellation token beside its steps ends at once. Work
    /// that does not is dropped at the drain bound, and the successor waits until then.
    ///
    /// Each task of the work may have a watchdog of its own, and the first that is overdue ends the
    /// tenure. A watchdog of a tenure that is over does nothing. `bound` should be well above the
    /// longest step, and above the pauses of the process, which count too; zero gives the lead up
    /// at once.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use tenure::{Candidate, store::Memory};
    ///
    /// # async fn send_next_letter() -> bool { false }
    /// let candidate = Candidate::builder(Memory::new(), "letters").start()?;
    /// candidate
    ///     .run_while_leader(async |tenure| {
    ///         let watchdog = tenure.watchdog(Duration::from_secs(60));
    ///         let over = tenure.cancellation_token();
    ///         // Ends when all letters are sent, or at once when the tenure is over.
    ///         while over.run_until_cancelled(send_next_letter()).await == Some(true) {
    ///             watchdog.alive();
    ///         }
    ///     })
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// **Not guaranteed**: that work which hangs stops, or that it stops before another candidate
    /// leads. The driver looks, in the runtime of the candidate: if the work blocks the thread that
    /// the driver needs, the driver sees nothing, and the lease expires instead. A thread that
    /// blocks sees neither the cancellation token nor the end of the lease; it may go on writing
    /// afterwards. Only a [fence](Self::token) refuses such writes.
    pub fn watchdog(&self, bound: Duration) -> Watchdog {
        let (watchdog, work) = Watchdog::new(Arc::clone(&self.0.runtime), bound);
        // Without a driver the tenure is over.
        if let Some(driver) = self.0.driver.upgrade() {
            driver.watch(self.0.token, work);
        }
        watchdog
    }

    /// Keeps the lead until that long after this call, so that no other candidate begins the same
    /// work meanwhile: a short job at a set time, which several processes start by clocks that
    /// differ. Completes when that time is over, or the tenure has ended; the hold counts whether
    /// or not this future is polled. A second hold only lengthens the first.
    ///
    /// Until then, the candidate does not [hand over](crate::Candidate::hand_over) to any successor.
    /// If the tenure ends all the same, by [`resign`](crate::Candidate::resign),
    /// [`stop`](crate::Candidate::stop), the loss of its work or of the last handle, its lease is
    /// not given back: another candidate has to watch it for the TTL first.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use tenure::{Candidate, store::Memory};
    ///
    /// # async fn send_newsletter() {}
    /// let candidate = Candidate::builder(Memory::new(), "newsletter").start()?;
    /// candidate.first_attempt().await?;
    /// let sending = candidate.run_if_leader(async |tenure| {
    ///     let held = tenure.hold(Duration::from_millis(200)); // of a slot of a second
    ///     send_newsletter().await;
    ///     held.await;
    /// });
    /// sending.await;
    /// candidate.stop().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// **Not guaranteed**: that no other candidate leads within that time. If the process ends, or
    /// can't renew its lease, only the rest of the lease keeps others out.
    pub fn hold(&self, time: Duration) -> impl Future<Output = ()> + Send + 'static + use<> {
        let (tenure, until) = (self.clone(), self.0.runtime.now() + time);
        self.ends().held_until.fetch_max(until.as_nanos(), Ordering::AcqRel);
        async move {
            tokio::select! {
                biased;
                () = tenure.ended() => {}
                () = tenure.0.runtime.sleep_until(until) => {}
            }
        }
    }

    /// The end of its [hold](Self::hold), if it ever had one.
    pub(crate) fn held_until(&self) -> Option<Instant> {
        let nanos = self.0.ends.get()?.held_until.load(Ordering::Acquire);
        (nanos > 0).then(|| Instant::from_nanos(nanos))
    }

    /// Begins a write to a resource that compares tokens, for the [log](crate::trace) of this
    /// candidate: call it just before the write, and end it with the write's outcome. Without a log
    /// this does nothing.
    ///
    /// The resource's name must be the same in all processes. It says nothing to the resource: see
    /// [`fence`](crate::fence) for that.
    pub fn trace_write(&self, resource: impl AsRef<str>) -> Write {
        Write::begin(self.0.recorder.as_ref(), self.0.token, resource.as_ref())
    }

    /// Runs work that belongs to this tenure: until it ends, or until its time to end cleanly is
    /// over.
    pub(crate) async fn run<T>(&self, work: impl Future<Output = T>) -> WorkResult<T> {
        let _belongs = self.work().token();
        // Only checked now: from the line above on, the lease is not handed back before this ends.
        if !self.is_current() {
            return WorkResult::Dropped;
        }
        match self.bounded(work).await {
            Some(done) if self.is_current() => WorkResult::InTime(done),
            Some(done) => WorkResult::Late(done),
            None => WorkResult::Dropped,
        }
    }

    async fn bounded<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let work = pin!(Some(work));
        let mut work = self.span().around(work);
        // The clock decides before each poll, not a timer: another candidate may lead by now, and
        // after a pause all wake-ups of a process come at once.
        let mut work = poll_fn(|context| {
            if self.0.drain_until.holds(|| self.0.runtime.now()) {
                Pin::new(&mut work).poll(context).map(Some)
            } else {
                self.cancelled().cancel();
                Poll::Ready(None)
            }
        });
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = self.ended() => self.cancelled().cancel(),
        }
        tokio::select! {
            biased;
            () = self.drain_over() => None,
            done = &mut work => done,
        }
    }

    async fn drain_over(&self) {
        loop {
            let moved = self.ends().drain_moved.notified();
            let until = self.0.drain_until.get();
            if self.0.runtime.now() >= until {
                return;
            }
            tokio::select! {
                biased;
                () = moved => {}
                () = self.0.runtime.sleep_until(until) => {}
            }
        }
    }

    /// For the driver: extends the claim. False if it was closed before.
    pub(crate) fn extend(&self, until: Instant, drain_until: Instant) -> bool {
        self.0.drain_until.extend(drain_until);
        self.0.until.extend(until)
    }

    /// Ends the claim at once, whatever the driver is doing.
    pub(crate) fn close(&self) {
        self.0.until.close();
    }

    /// For the driver: ends the claim, and leaves work until `drain_until`.
    pub(crate) fn step_down(&self, drain_until: Instant) {
        self.close();
        self.drain_moved(drain_until);
        self.cancelled().cancel();
        self.work().close();
    }

    /// For the driver: moves the end of the time to drain.
    pub(crate) fn drain_moved(&self, until: Instant) {
        self.0.drain_until.extend(until);
        self.ends().drain_moved.notify_waiters();
    }

    /// True if a handle or work has closed the claim.
    pub(crate) fn was_closed(&self) -> bool {
        self.0.until.is_closed()
    }

    /// The span of its work and callbacks.
    pub(crate) fn span(&self) -> Span {
        self.0.span.as_deref().cloned().unwrap_or_else(Span::none)
    }

    pub(crate) fn work(&self) -> &TaskTracker {
        &self.ends().work
    }

    fn cancelled(&self) -> &CancellationToken {
        &self.ends().cancelled
    }

    fn ends(&self) -> &Ends {
        self.0.ends.get_or_init(Box::default)
    }
}

impl fmt::Debug for Tenure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenure")
            .field("token", &self.token())
            .field("is_current", &self.is_current())
            .finish_non_exhaustive()
    }
}
