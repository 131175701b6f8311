//! Every order of events of one driver with two elections, over one connection, up to a number of
//! steps.
//!
//! A step is one of: the driver does what is due, or waits for its deadline; a call reaches the
//! store, and its answer comes back, whole, in part, or not at all; work ends; and, as often as the
//! bounds allow, a command, a hint or a suspend. Each may come before each other, also between two
//! steps of a turn. The store is the contract as code.
//!
//! Judged after each step: what a driver owes its shell (`Ledger`), one leader of each election,
//! and that from here, if both candidates stop and the store answers again, the driver ends in time
//! and nothing is left.
//!
//! States with the same fingerprint of 64 bits count as one.

mod state;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;

use crate::engines::panics::{message, quietly};
pub use state::Bounds;
use state::{State, Step};

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The number of states.
    pub states: usize,
    /// The number of steps, some of which led to known states.
    pub steps: u64,
    /// The number of states in which a candidate led.
    pub led: u64,
    /// The number of states with a call of two requests under way.
    pub shared: u64,
    /// The first failure, and the steps that led there.
    pub failed: Option<(String, Vec<String>)>,
}

struct Search {
    /// The most steps that were left in each state, by its fingerprint.
    known: HashMap<u64, u8>,
    path: Vec<Step>,
    report: Report,
}

/// Tries every order.
pub fn search(bounds: &Bounds) -> Report {
    let report = Report { states: 0, steps: 0, led: 0, shared: 0, failed: None };
    let mut search = Search { known: HashMap::new(), path: Vec::new(), report };
    let ran = quietly(|| {
        catch_unwind(AssertUnwindSafe(|| search.goes_on(&State::new(bounds), bounds.steps)))
    });
    if let Err(panic) = ran {
        let steps = search.path.iter().map(|step| format!("{step:?}")).collect();
        search.report.failed = Some((message(&*panic).to_owned(), steps));
    }
    search.report.states = search.known.len();
    search.report
}

impl Search {
    fn goes_on(&mut self, state: &State, left: u8) {
        let known = self.known.entry(state.fingerprint()).or_insert(u8::MAX);
        if *known != u8::MAX && *known >= left {
            return;
        }
        let is_new = std::mem::replace(known, left) == u8::MAX;
        if is_new {
            self.report.led += u64::from(state.leads());
            self.report.shared += u64::from(state.shares());
            state.clone().ends();
        }
        if left == 0 {
            return;
        }
        for step in state.steps() {
            self.path.push(step);
            self.report.steps += 1;
            let mut next = state.clone();
            next.takes(step);
            self.goes_on(&next, left - 1);
            self.path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(bounds: &Bounds) -> Report {
        let report = search(bounds);
        assert_eq!(report.failed, None);
        report
    }

    #[test]
    fn every_order_of_some_steps_holds() {
        for (in_call, rivals) in [(1, false), (2, false), (1, true), (2, true)] {
            let report = held(&Bounds { in_call, rivals, steps: 9, ..Bounds::default() });
            assert!(report.states > 1_000 && report.led > 100, "{report:?}");
            assert_eq!(report.shared > 0, in_call > 1, "{report:?}");
        }
    }

    #[test]
    fn more_steps_have_more_states() {
        let states = |steps| held(&Bounds { steps, ..Bounds::default() }).states;
        assert!(states(5) < states(6));
    }
}
