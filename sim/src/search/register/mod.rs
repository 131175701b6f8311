//! Every order of what reaches a store that compares and swaps.
//!
//! Such a store carries out the contract in two steps: a candidate reads the rows, and sends a
//! statement that replaces them if they are still the same. Between the two anything may happen:
//! other candidates' statements, a loss of all rows, another server with rows that the store had
//! once. And a statement may arrive late, again, and without an answer. So what a statement
//! compares decides whether two can lead.
//!
//! Candidates have no timers: each may ask at any moment. Time is a step of its own, after which
//! one has watched for long enough what it saw, and no claim from before that stands.
//!
//! Judged after each step: at most one candidate leads. [`Weakness`] leaves out a comparison: the
//! search has to find the two leaders then.
//!
//! It is no proof: orders end after so many steps, and there are two candidates of one election.

mod candidate;
mod rows;
mod state;

use std::fmt;

use serde::Serialize;

use super::breadth_first::{self, End, Model};
use state::{State, Step};

/// The bounds of a search.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The most steps.
    pub steps: u8,
    /// The most losses and failovers together.
    pub faults: u8,
    /// The comparison that is left out.
    pub weakness: Option<Weakness>,
}

/// A comparison that a store leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weakness {
    /// A swap compares the election's row alone, and not the past.
    UncomparedPast,
    /// A swap does not compare the server's identity.
    UncomparedServer,
    /// Versions are counters, which begin again with the rows.
    CountedVersions,
    /// The statement that begins a past stamps it as well.
    StampAtOnce,
    /// A past begins at a version that the candidate has drawn.
    ClientsNumber,
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UncomparedPast => "the past is not compared",
            Self::UncomparedServer => "the server is not compared",
            Self::CountedVersions => "versions are counters",
            Self::StampAtOnce => "the past is stamped as it begins",
            Self::ClientsNumber => "the past begins at a client's number",
        })
    }
}

impl Weakness {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::UncomparedPast,
        Self::UncomparedServer,
        Self::CountedVersions,
        Self::StampAtOnce,
        Self::ClientsNumber,
    ];
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The number of states.
    pub states: u64,
    /// The number of steps, some of which led to known states.
    pub steps: u64,
    /// The number of steps after which a candidate led.
    pub led: u64,
    /// The steps of a shortest way to two leaders.
    pub two_lead: Option<Vec<String>>,
}

struct Register(Bounds);

impl Model for Register {
    type State = State;
    type Packed = State;
    type Action = Step;
    type Broken = ();
    type Seen = u64;
    type Common = ();

    fn initial(&self) -> Vec<State> {
        vec![State::empty(self.0), State::begun(self.0)]
    }

    fn fingerprint(&self, state: &State) -> u64 {
        state.fingerprint()
    }

    fn actions(&self, state: &State) -> Vec<Step> {
        state.steps()
    }

    fn step(&self, state: &State, step: Step, led: &mut u64) -> Result<State, ()> {
        let mut next = state.clone();
        next.takes(step);
        *led += u64::from(next.leads());
        if next.two_lead() { Err(()) } else { Ok(next) }
    }

    fn add(all: &mut u64, more: u64) {
        *all += more;
    }

    fn pack(state: State, (): &mut ()) -> State {
        state
    }

    fn unpack(packed: &State) -> State {
        packed.clone()
    }
}

/// Tries every order, on so many threads.
pub fn search(bounds: &Bounds, jobs: usize) -> Report {
    let found = breadth_first::search(&Register(*bounds), bounds.steps.into(), u64::MAX, jobs);
    let two_lead = match found.end {
        End::Broken { actions, .. } => {
            Some(actions.iter().map(|step| format!("{step:?}")).collect())
        }
        End::Complete | End::Cut => None,
    };
    Report { states: found.states, steps: found.transitions, led: found.seen, two_lead }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(steps: u8, weakness: Option<Weakness>) -> Report {
        search(&Bounds { steps, faults: 1, weakness }, 2)
    }

    #[test]
    fn one_leads_in_every_order() {
        let report = searched(8, None);
        assert_eq!(report.two_lead, None);
        assert!(report.states > 1_000 && report.led > 100, "{report:?}");
    }

    #[test]
    fn each_comparison_is_needed() {
        for weakness in Weakness::ALL {
            let two_lead = searched(9, Some(weakness)).two_lead;
            assert!(two_lead.is_some(), "{weakness:?}");
        }
    }
}
