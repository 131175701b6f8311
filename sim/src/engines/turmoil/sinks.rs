//! The resources to which leaders write: two sinks for each election, one of which compares tokens.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::TICK;
use super::journal::{Journal, Of};
use super::landings::Landings;
use super::lock;
use super::node::Node;
use crate::engines::node::NodeProcess;
use crate::engines::sink::{self, Step};
use crate::plan::{SimTime, Work, nanos};
use crate::trace::Event;

pub(super) struct Sinks {
    /// The duration of a write, in whole ticks.
    write_takes: Duration,
    /// True if leaders read before they have taken over.
    reads_first: bool,
    journal: Arc<Journal>,
    landings: Arc<Landings>,
    /// The token of the last take-over that each election's fenced sink has accepted.
    fences: Arc<Mutex<Vec<u64>>>,
}

impl Sinks {
    pub(super) fn new(
        work: &Work,
        elections: usize,
        journal: Arc<Journal>,
        landings: Arc<Landings>,
    ) -> Self {
        let takes = Duration::from_micros(work.takes_us);
        Self {
            write_takes: Duration::from_nanos(nanos(takes).next_multiple_of(nanos(TICK))),
            reads_first: work.reads_first,
            journal,
            landings,
            fences: Arc::new(Mutex::new(vec![0; elections])),
        }
    }

    /// The action of a leader that has just checked its lead, on the fenced sink.
    pub(super) fn step(&self, election: usize, token: u64) -> Step {
        sink::step(lock(&self.fences)[election], token, self.reads_first)
    }

    /// Writes to both sinks, having checked the lead at `checked` in the same poll. Completes once
    /// the write has landed.
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
        let (who, fences, journal) =
            (node.who(), Arc::clone(&self.fences), Arc::clone(&self.journal));
        let lands = move || {
            let fence = &mut lock(&fences)[election];
            let accepted_by_fenced = step.is_accepted(*fence, token);
            if accepted_by_fenced {
                *fence = token;
            }
            let takes_over = step == Step::TakesOver;
            let event = Event::Wrote { who, token, checked, takes_over, accepted_by_fenced };
            journal.record(Of::One(election), event);
        };
        self.landings.send(node, self.write_takes, lands).await;
    }
}
