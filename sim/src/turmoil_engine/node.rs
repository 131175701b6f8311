//! One simulated machine as its program sees it: a clock that is wrong, a process that may stand
//! still, connections that may break.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tenure::Instant;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock::{Clock, True};
use crate::trace::Who;

/// True time, as the engine tells it; nanoseconds since the run began.
pub(super) type Now = Arc<AtomicU64>;

/// Where a process can be made to stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// Between a check of leadership and the write that follows.
    Guard,
    /// Between deciding to send and sending.
    Send,
    /// Right after sending.
    Sent,
}

pub(super) struct Node {
    pub(super) index: usize,
    pub(super) seed: u64,
    pub(super) clock: Clock,
    pub(super) clock_stepped: Notify,
    now: Now,
    life: AtomicU32,
    alive: AtomicBool,
    panicked: AtomicBool,
    frozen: AtomicBool,
    /// When it goes on again.
    thaws_at: AtomicU64,
    armed: Mutex<Vec<(Point, u64)>>,
    stopped: Mutex<Vec<Point>>,
    /// Whoever was polled while frozen.
    sleepers: Mutex<Vec<Waker>>,
    connections: Mutex<CancellationToken>,
    drawn: AtomicU64,
}

impl Node {
    pub(super) fn new(index: usize, seed: u64, clock: Clock, now: Now) -> Self {
        Self {
            index,
            seed,
            clock,
            clock_stepped: Notify::new(),
            now,
            life: AtomicU32::new(0),
            alive: AtomicBool::new(true),
            panicked: AtomicBool::new(false),
            frozen: AtomicBool::new(false),
            thaws_at: AtomicU64::new(0),
            armed: Mutex::default(),
            stopped: Mutex::default(),
            sleepers: Mutex::default(),
            connections: Mutex::default(),
            drawn: AtomicU64::new(0),
        }
    }

    pub(super) fn true_now(&self) -> True {
        self.now.load(Ordering::Relaxed)
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.read(self.true_now())
    }

    pub(super) fn who(&self) -> Who {
        Who { node: self.index, life: self.life.load(Ordering::Relaxed) }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    /// From here on nothing that the dying process still does, such as running destructors, reaches
    /// the outside.
    pub(super) fn die(&self) {
        self.alive.store(false, Ordering::Relaxed);
    }

    pub(super) fn revive(&self) {
        self.life.fetch_add(1, Ordering::Relaxed);
        self.frozen.store(false, Ordering::Relaxed);
        self.alive.store(true, Ordering::Relaxed);
    }

    pub(super) fn panicked(&self) {
        self.panicked.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_panicked(&self) -> bool {
        self.panicked.load(Ordering::Relaxed)
    }

    /// A number that no other draw of this run has.
    pub(super) fn draw(&self) -> u64 {
        self.drawn.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn is_frozen(&self) -> bool {
        self.frozen.load(Ordering::Relaxed)
    }

    pub(super) fn freeze(&self, until: True) {
        self.thaws_at.fetch_max(until, Ordering::Relaxed);
        self.frozen.store(true, Ordering::Relaxed);
    }

    /// True if the process has just gone on.
    pub(super) fn thaw(&self, at: True) -> bool {
        if !self.is_frozen() || self.thaws_at.load(Ordering::Relaxed) > at {
            return false;
        }
        self.frozen.store(false, Ordering::Relaxed);
        lock(&self.sleepers).drain(..).for_each(Waker::wake);
        true
    }

    /// Pending while the process stands still.
    pub(super) fn poll_running(&self, context: &Context<'_>) -> Poll<()> {
        if self.is_frozen() {
            lock(&self.sleepers).push(context.waker().clone());
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }

    /// Will stand still for so long, in nanoseconds, when it next comes to that point.
    pub(super) fn arm(&self, point: Point, nanos: u64) {
        lock(&self.armed).push((point, nanos));
    }

    pub(super) fn disarm(&self) {
        lock(&self.armed).clear();
    }

    /// The process is at that point. True if it begins to stand still here.
    pub(super) fn reaches(&self, point: Point) -> bool {
        let mut armed = lock(&self.armed);
        let Some(found) = armed.iter().position(|(at, _)| *at == point) else { return false };
        let (_, nanos) = armed.remove(found);
        drop(armed);
        self.freeze(self.true_now().saturating_add(nanos));
        lock(&self.stopped).push(point);
        true
    }

    /// Where the process began to stand still of itself since this was last asked.
    pub(super) fn stopped(&self) -> Option<Point> {
        if self.is_frozen() { lock(&self.stopped).pop() } else { None }
    }

    /// Breaks every connection that is open now.
    pub(super) fn cut(&self) {
        std::mem::take(&mut *lock(&self.connections)).cancel();
    }

    pub(super) fn connections(&self) -> CancellationToken {
        lock(&self.connections).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
