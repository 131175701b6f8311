//! The resources to which leaders write: two sinks for each election, one of which compares tokens.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;

use super::TICK;
use super::journal::{Journal, Of};
use super::lock;
use super::node::Node;
use crate::engines::model::sink::{self, Step};
use crate::plan::{SimTime, Work, nanos};
use crate::trace::{Event, Who};

pub(super) struct Sinks {
    /// The duration of a write, in whole ticks.
    write_takes: Duration,
    /// Whether leaders read before they have taken over.
    reads_first: bool,
    journal: Arc<Journal>,
    /// Writes in flight, in order of their arrival.
    writes: Mutex<VecDeque<Write>>,
    /// The token of the last take-over that each election's fenced sink has accepted.
    fences: Mutex<Vec<u64>>,
}

/// A write in flight: its process can no longer prevent it from landing.
struct Write {
    election: usize,
    who: Who,
    token: u64,
    step: Step,
    checked: SimTime,
    lands: SimTime,
    landed: oneshot::Sender<()>,
}

impl Sinks {
    pub(super) fn new(work: &Work, elections: usize, journal: Arc<Journal>) -> Self {
        let takes = Duration::from_micros(work.takes_us);
        Self {
            write_takes: Duration::from_nanos(nanos(takes).next_multiple_of(nanos(TICK))),
            reads_first: work.reads_first,
            journal,
            writes: Mutex::default(),
            fences: Mutex::new(vec![0; elections]),
        }
    }

    /// The action of a leader that has just checked its lead, on the fenced sink.
    pub(super) fn step(&self, election: usize, token: u64) -> Step {
        sink::step(lock(&self.fences)[election], token, self.reads_first)
    }

    /// Writes to both sinks, having checked the lead at `checked`. Completes once the write has landed.
    pub(super) async fn write(
        &self,
        (node, election): (&Node, usize),
        token: u64,
        step: Step,
        checked: SimTime,
    ) {
        if !node.is_alive() {
            return;
        }
        let (landed, has_landed) = oneshot::channel();
        let lands = self.journal.now() + self.write_takes;
        let who = node.who();
        lock(&self.writes).push_back(Write { election, who, token, step, checked, lands, landed });
        self.land();
        // The sinks never drop a write.
        let _ = has_landed.await;
    }

    /// Carries out the writes that have arrived by now.
    pub(super) fn land(&self) {
        let (now, mut writes) = (self.journal.now(), lock(&self.writes));
        while writes.front().is_some_and(|write| write.lands <= now) {
            let Some(write) = writes.pop_front() else { break };
            let Write { election, who, token, step, checked, landed, .. } = write;
            let fence = &mut lock(&self.fences)[election];
            let accepted_by_fenced = step.is_accepted(*fence, token);
            if accepted_by_fenced {
                *fence = token;
            }
            let takes_over = step == Step::TakesOver;
            let event = Event::Wrote { who, token, checked, takes_over, accepted_by_fenced };
            self.journal.record(Of::One(election), event);
            // The work that waits for it may have been dropped.
            let _ = landed.send(());
        }
    }
}
