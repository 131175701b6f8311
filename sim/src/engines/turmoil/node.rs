//! One simulated machine as its program sees it: a clock with errors, a process that may be paused,
//! connections that may break.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tenure::Instant;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::journal::{Journal, Of};
use super::lock;
use super::schedule::SharedSchedule;
use super::wires::Wires;
use crate::engines::EngineError;
use crate::engines::node::NodeProcess;
use crate::plan::clock::Clock;
use crate::plan::{FaultKind, Point, SimTime};
use crate::trace::{Event, Who};

/// Hands a request to the network.
type Request = Box<dyn FnOnce() + Send>;

pub(super) struct Node {
    pub(super) index: usize,
    pub(super) seed: u64,
    pub(super) clock: Clock,
    pub(super) clock_stepped: Notify,
    pub(super) wires: Arc<Wires>,
    journal: Arc<Journal>,
    schedule: Arc<SharedSchedule>,
    life: AtomicU32,
    alive: AtomicBool,
    frozen: AtomicBool,
    /// The machine's time in suspension so far, in milliseconds.
    slept_ms: AtomicU64,
    /// The active pauses.
    pauses: Mutex<Vec<FaultKind>>,
    /// The tasks that were polled during a pause.
    sleepers: Mutex<Vec<Waker>>,
    /// The requests that its process is about to send: a pause has stopped it right before that.
    unsent: Mutex<Vec<Request>>,
    /// True if the driver's task is starved.
    starving: AtomicBool,
    /// The waker of the driver's task, if it was polled while starved.
    driver: Mutex<Option<Waker>>,
    connections: Mutex<CancellationToken>,
    /// The holder ids under which its processes have campaigned.
    holders: Mutex<BTreeSet<u128>>,
    drawn: AtomicU64,
}

impl NodeProcess for Node {
    fn who(&self) -> Who {
        Who { node: self.index, life: self.life.load(Ordering::Relaxed) }
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn true_now(&self) -> SimTime {
        self.journal.now()
    }

    /// Unless the process is dead.
    fn record(&self, election: usize, event: Event) {
        if self.is_alive() {
            self.journal.record(Of::One(election), event);
        }
    }

    fn campaigns_as(&self, holder: u128) {
        lock(&self.holders).insert(holder);
    }
}

impl Node {
    pub(super) fn new(
        index: usize,
        seed: u64,
        clock: Clock,
        journal: Arc<Journal>,
        schedule: Arc<SharedSchedule>,
        wires: Arc<Wires>,
    ) -> Self {
        Self {
            index,
            seed,
            clock,
            clock_stepped: Notify::new(),
            wires,
            journal,
            schedule,
            life: AtomicU32::new(0),
            alive: AtomicBool::new(true),
            frozen: AtomicBool::new(false),
            slept_ms: AtomicU64::new(0),
            pauses: Mutex::default(),
            sleepers: Mutex::default(),
            unsent: Mutex::default(),
            starving: AtomicBool::new(false),
            driver: Mutex::default(),
            connections: Mutex::default(),
            holders: Mutex::default(),
            drawn: AtomicU64::new(0),
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.read(self.true_now())
    }

    pub(super) fn step_clock(&self, kind: FaultKind, by_ms: i64) {
        let before = self.now();
        self.clock.step(self.true_now(), by_ms);
        self.clock_stepped.notify_waiters();
        if self.now() != before {
            self.took(kind);
        }
    }

    /// A suspend ends: the clock is ahead by that much.
    pub(super) fn wakes_up(&self, ahead_ms: i64) {
        self.clock.step(self.true_now(), ahead_ms);
        self.clock_stepped.notify_waiters();
        // No real machine sleeps for less than a second.
        let slept_ms = 1_000 + ahead_ms.unsigned_abs();
        self.slept_ms.fetch_add(slept_ms, Ordering::Relaxed);
    }

    pub(super) fn slept(&self) -> Duration {
        Duration::from_millis(self.slept_ms.load(Ordering::Relaxed))
    }

    /// A fault of this node has had an effect.
    pub(super) fn took(&self, kind: FaultKind) {
        self.journal.took(kind, Some(self.index));
    }

    pub(super) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    /// From now on no action of the dying process, such as a destructor, has an effect outside of
    /// it.
    pub(super) fn die(&self) {
        self.alive.store(false, Ordering::Relaxed);
        self.forget_unsent();
    }

    /// Drops what its process was about to send.
    pub(super) fn forget_unsent(&self) {
        let unsent = std::mem::take(&mut *lock(&self.unsent));
        drop(unsent);
    }

    pub(super) fn revive(&self) {
        self.life.fetch_add(1, Ordering::Relaxed);
        let mut pauses = lock(&self.pauses);
        // Its machine may sleep on.
        pauses.retain(|kind| *kind == FaultKind::Suspend);
        self.frozen.store(!pauses.is_empty(), Ordering::Relaxed);
        drop(pauses);
        self.starving.store(false, Ordering::Relaxed);
        self.alive.store(true, Ordering::Relaxed);
    }

    /// Records an event outside of its process, which need not live any more.
    pub(super) fn records_outside(&self, event: Event) {
        self.journal.record(Of::One(0), event);
    }

    pub(super) fn breaks(&self, why: EngineError) {
        self.journal.breaks(why);
    }

    /// A task of its process has panicked with that message.
    pub(super) fn panicked(&self, what: String) {
        let at_ms = self.true_now().as_millis();
        self.breaks(EngineError::Panicked { node: self.index, at_ms, what });
    }

    /// A number that differs from all other draws of this run.
    pub(super) fn draw(&self) -> u64 {
        self.drawn.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn has_campaigned_as(&self, holder: u128) -> bool {
        lock(&self.holders).contains(&holder)
    }

    pub(super) fn freeze(&self) {
        self.frozen.store(true, Ordering::Relaxed);
    }

    /// A pause begins. A task that has to wait because of it reports that.
    pub(super) fn pause(&self, kind: FaultKind) {
        lock(&self.pauses).push(kind);
        self.freeze();
    }

    /// A pause ends; the process resumes if it was the last one.
    pub(super) fn unpause(&self, kind: FaultKind) {
        if !lock(&self.sleepers).is_empty() || !lock(&self.unsent).is_empty() {
            self.has_waited();
        }
        let mut pauses = lock(&self.pauses);
        if let Some(place) = pauses.iter().position(|other| *other == kind) {
            pauses.swap_remove(place);
        }
        let is_last = pauses.is_empty();
        drop(pauses);
        if is_last {
            self.resume();
        }
    }

    pub(super) fn is_paused(&self) -> bool {
        !lock(&self.pauses).is_empty()
    }

    /// True if its process does nothing until a pause, or the wait for a fault, is over.
    pub(super) fn is_frozen(&self) -> bool {
        self.frozen.load(Ordering::Relaxed)
    }

    fn has_waited(&self) {
        lock(&self.pauses).iter().for_each(|kind| self.took(*kind));
    }

    pub(super) fn resume(&self) {
        if self.frozen.swap(false, Ordering::Relaxed) {
            let unsent = std::mem::take(&mut *lock(&self.unsent));
            for send in unsent {
                send();
            }
            lock(&self.sleepers).drain(..).for_each(Waker::wake);
        }
    }

    /// Pending while the process is paused.
    pub(super) fn poll_running(&self, context: &Context<'_>) -> Poll<()> {
        if self.is_frozen() {
            lock(&self.sleepers).push(context.waker().clone());
            self.has_waited();
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }

    /// Its process hands a request to the network, in the poll in which it has reached the point
    /// before that.
    ///
    /// A pause at that point stops the process inside of the poll: no timer, cancellation or other
    /// task comes between the end of the pause and the sending. A poll can't be stopped here, so it
    /// goes on at once, and its request leaves at the end of the pause, before anything else of the
    /// process runs. The difference is not visible: what is polled in the rest of this tick happens
    /// at the same instant as the beginning of the pause, as on another thread, and whatever it
    /// sends waits behind this request.
    ///
    /// The request of a process that dies during the pause is never sent.
    pub(super) fn sends(&self, send: impl FnOnce() + Send + 'static) {
        if self.is_frozen() {
            lock(&self.unsent).push(Box::new(send));
        } else {
            send();
        }
    }

    /// Starves the driver's task, or ends that.
    pub(super) fn starve(&self, on: bool) {
        self.starving.store(on, Ordering::Relaxed);
        if !on && let Some(driver) = lock(&self.driver).take() {
            driver.wake();
        }
    }

    /// Pending while the driver's task is starved.
    pub(super) fn poll_driven(&self, context: &Context<'_>) -> Poll<()> {
        if self.starving.load(Ordering::Relaxed) {
            *lock(&self.driver) = Some(context.waker().clone());
            self.took(FaultKind::Starve);
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }

    /// The process has reached that point, and is paused there if a fault begins.
    pub(super) fn reaches(&self, point: Point) {
        if self.schedule.reached(self.true_now(), point, Some(self.index)) {
            self.freeze();
        }
    }

    /// Breaks every connection that is open now.
    pub(super) fn cut(&self) {
        std::mem::take(&mut *lock(&self.connections)).cancel();
    }

    pub(super) fn connections(&self) -> CancellationToken {
        lock(&self.connections).clone()
    }
}
