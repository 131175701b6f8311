//! The events of a tick, as each part of the engine reports them.
//!
//! A tick is one instant: at its end the engine writes its events into the trace, in the order in
//! which they were reported.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::lock;
use crate::engines::Awaited;
use crate::engines::EngineError;
use crate::plan::{FaultKind, SimTime};
use crate::trace::Event;

#[derive(Default)]
pub(super) struct Journal {
    now: AtomicU64,
    events: Mutex<Vec<(Of, Event)>>,
    awaited: Mutex<Awaited>,
    broken: Mutex<Option<EngineError>>,
}

/// The elections of an event. They are numbered from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    All,
    One(usize),
    AllBut(usize),
}

impl Of {
    pub(super) fn is_of(self, election: usize) -> bool {
        match self {
            Self::All => true,
            Self::One(one) => one == election,
            Self::AllBut(one) => one != election,
        }
    }
}

impl Journal {
    /// True time. No process can read it.
    pub(super) fn now(&self) -> SimTime {
        SimTime::from_nanos(self.now.load(Ordering::Relaxed))
    }

    pub(super) fn begin_tick(&self, at: SimTime) {
        self.now.store(at.as_nanos(), Ordering::Relaxed);
    }

    pub(super) fn record(&self, of: Of, event: Event) {
        lock(&self.events).push((of, event));
    }

    /// True if that node has reported in this tick that it was elected.
    pub(super) fn has_elected(&self, election: usize, node: usize) -> bool {
        lock(&self.events).iter().any(|(of, event)| {
            of.is_of(election) && matches!(event, Event::Elected { who, .. } if who.node == node)
        })
    }

    /// A fault was ordered.
    pub(super) fn ordered(&self, kind: FaultKind, node: Option<usize>) {
        lock(&self.awaited).ordered(kind, node);
    }

    /// A fault has had an effect.
    pub(super) fn took(&self, kind: FaultKind, node: Option<usize>) {
        if let Some(event) = lock(&self.awaited).took(kind, node) {
            self.record(Of::All, event);
        }
    }

    /// A fault is over.
    pub(super) fn over(&self, kind: FaultKind, node: Option<usize>) {
        lock(&self.awaited).over(kind, node);
    }

    /// All faults have ended.
    pub(super) fn end_all(&self) {
        lock(&self.awaited).end_all();
    }

    /// The events that are not in the trace yet.
    pub(super) fn take(&self) -> Vec<(Of, Event)> {
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
