//! What happens in a tick, from whoever sees it.
//!
//! A tick is one instant: the engine writes up at its end what happened in it, in the order in which it
//! was seen.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::lock;
use crate::clock::True;
use crate::engine::EngineError;
use crate::trace::Event;

#[derive(Default)]
pub(super) struct Journal {
    now: AtomicU64,
    events: Mutex<Vec<Event>>,
    broken: Mutex<Option<EngineError>>,
}

impl Journal {
    /// True time. No process is told.
    pub(super) fn now(&self) -> True {
        self.now.load(Ordering::Relaxed)
    }

    pub(super) fn begin_tick(&self, at: True) {
        self.now.store(at, Ordering::Relaxed);
    }

    pub(super) fn record(&self, event: Event) {
        lock(&self.events).push(event);
    }

    /// What was not written up yet.
    pub(super) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *lock(&self.events))
    }

    /// The run can't be judged.
    pub(super) fn breaks(&self, why: EngineError) {
        lock(&self.broken).get_or_insert(why);
    }

    pub(super) fn check(&self) -> Result<(), EngineError> {
        lock(&self.broken).take().map_or(Ok(()), Err)
    }
}
