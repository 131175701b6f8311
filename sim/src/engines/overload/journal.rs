//! The events of a run, in order: what the store did, and what the candidates reported.

use std::collections::VecDeque;
use std::hash::Hash as _;

use tenure_driver::ElectionId;

use crate::plan::SimTime;
use crate::trace::{Digest, Event, Hasher, StoreStep, Who};

/// The numbers from one process's first candidate to the next one's.
const OF_A_PROCESS: usize = 100_000;

/// A process's candidate in an election: `n5` is that of the first process in election 5, `n100005`
/// that of the second.
pub(super) fn candidate(process: usize, election: u32) -> Who {
    Who { node: process * OF_A_PROCESS + election as usize, life: 0 }
}

/// The numbers from a candidate to the next one of its election within its driver.
const OF_A_LIFE: u64 = 1_000_000;

/// The number of a candidate within its driver.
pub(super) fn id(who: Who) -> ElectionId {
    election(who) as u64 + u64::from(who.life) * OF_A_LIFE
}

/// The candidate of that number.
pub(super) fn of_id(process: usize, id: ElectionId) -> Who {
    let life = u32::try_from(id / OF_A_LIFE).unwrap_or(u32::MAX);
    Who { life, ..candidate(process, key(id)) }
}

/// The election of that candidate, as the store names it.
pub(super) fn key(id: ElectionId) -> u32 {
    u32::try_from(id % OF_A_LIFE).unwrap_or(u32::MAX)
}

/// The process of a candidate.
pub(super) const fn process(who: Who) -> usize {
    who.node / OF_A_PROCESS
}

/// The election of a candidate.
pub(super) const fn election(who: Who) -> usize {
    who.node % OF_A_PROCESS
}

/// An event of one election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Noted {
    pub(super) election: usize,
    pub(super) at: SimTime,
    pub(super) event: Event,
}

/// Collects events.
#[derive(Debug, Default)]
pub(super) struct Journal {
    entries: Vec<Noted>,
    /// The steps that the store will have carried out, in the order of their times.
    steps: VecDeque<Noted>,
}

impl Journal {
    /// Notes what a candidate does at that time.
    pub(super) fn add(&mut self, at: SimTime, who: Who, event: Event) {
        self.steps_until(at);
        self.entries.push(Noted { election: election(who), at, event });
    }

    /// Notes that an election's faults have ended.
    pub(super) fn calms(&mut self, at: SimTime, election: u32) {
        self.steps_until(at);
        self.entries.push(Noted { election: election as usize, at, event: Event::Calm });
    }

    /// Notes a step that the store will have carried out at that time, later than all steps before.
    pub(super) fn will_step(&mut self, at: SimTime, election: u32, step: StoreStep) {
        let (election, event) = (election as usize, Event::Store(step));
        self.steps.push_back(Noted { election, at, event });
    }

    /// All events until then.
    pub(super) fn close(mut self, at: SimTime) -> Vec<Noted> {
        self.steps_until(at);
        self.entries
    }

    fn steps_until(&mut self, at: SimTime) {
        while self.steps.front().is_some_and(|step| step.at <= at) {
            self.entries.extend(self.steps.pop_front());
        }
    }
}

/// The hash of a run.
pub(super) fn digest(entries: &[Noted]) -> Digest {
    let mut hasher = Hasher::default();
    entries.hash(&mut hasher);
    hasher.digest()
}
