//! One simulated machine as its program sees it: a clock that is wrong, a process that may stand
//! still, connections that may break.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use tenure::Instant;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::journal::Journal;
use super::lock;
use super::triggers::Triggers;
use crate::clock::{Clock, True};
use crate::engine::EngineError;
use crate::plan::Point;
use crate::trace::{Event, Who};

pub(super) struct Node {
    pub(super) index: usize,
    pub(super) seed: u64,
    pub(super) clock: Clock,
    pub(super) clock_stepped: Notify,
    journal: Arc<Journal>,
    triggers: Arc<Triggers>,
    life: AtomicU32,
    alive: AtomicBool,
    frozen: AtomicBool,
    /// Whoever was polled while frozen.
    sleepers: Mutex<Vec<Waker>>,
    connections: Mutex<CancellationToken>,
    /// The holder ids under which its processes have campaigned.
    holders: Mutex<BTreeSet<u128>>,
    drawn: AtomicU64,
}

impl Node {
    pub(super) fn new(
        index: usize,
        seed: u64,
        clock: Clock,
        journal: Arc<Journal>,
        triggers: Arc<Triggers>,
    ) -> Self {
        Self {
            index,
            seed,
            clock,
            clock_stepped: Notify::new(),
            journal,
            triggers,
            life: AtomicU32::new(0),
            alive: AtomicBool::new(true),
            frozen: AtomicBool::new(false),
            sleepers: Mutex::default(),
            connections: Mutex::default(),
            holders: Mutex::default(),
            drawn: AtomicU64::new(0),
        }
    }

    pub(super) fn true_now(&self) -> True {
        self.journal.now()
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.read(self.true_now())
    }

    pub(super) fn step_clock(&self, by: i64) {
        self.clock.step(self.true_now(), by);
        self.clock_stepped.notify_waiters();
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

    /// What its process says; a dead one says nothing.
    pub(super) fn tell(&self, event: Event) {
        if self.is_alive() {
            self.journal.record(event);
        }
    }

    pub(super) fn breaks(&self, why: EngineError) {
        self.journal.breaks(why);
    }

    pub(super) fn panicked(&self) {
        let at_ms = self.true_now() / 1_000_000;
        self.breaks(EngineError::Panicked { node: self.index, at_ms });
    }

    /// A number that no other draw of this run has.
    pub(super) fn draw(&self) -> u64 {
        self.drawn.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn campaigns_as(&self, holder: u128) {
        lock(&self.holders).insert(holder);
    }

    pub(super) fn has_campaigned_as(&self, holder: u128) -> bool {
        lock(&self.holders).contains(&holder)
    }

    pub(super) fn stand_still(&self) {
        self.frozen.store(true, Ordering::Relaxed);
    }

    pub(super) fn go_on(&self) {
        if self.frozen.swap(false, Ordering::Relaxed) {
            lock(&self.sleepers).drain(..).for_each(Waker::wake);
        }
    }

    /// Pending while the process stands still.
    pub(super) fn poll_running(&self, context: &Context<'_>) -> Poll<()> {
        if self.frozen.load(Ordering::Relaxed) {
            lock(&self.sleepers).push(context.waker().clone());
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }

    /// The process is at that point, and stands still there if a fault begins.
    pub(super) fn reaches(&self, point: Point) {
        if self.triggers.reached(self.true_now(), point, Some(self.index)) {
            self.stand_still();
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
