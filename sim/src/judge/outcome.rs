//! What came of a run: its trace, what the properties say, and where it went.

use std::time::Duration;

use tenure_core::Config;

use super::properties::{Judge, PropertyName, Terms};
use super::sometimes::Sometimes;
use crate::plan::clock::True;
use crate::plan::{Plan, PlanError};
use crate::trace::file::{Header, Recorded};
use crate::trace::{Entry, Event, Trace};

/// By what a run is judged.
#[derive(Clone, Copy, Debug, Default)]
pub enum Judging<'a> {
    /// By all properties whose assumptions the plan keeps.
    #[default]
    All,
    /// By those of them that are named.
    Only(&'a [PropertyName]),
    /// By all properties whose assumptions the plan keeps, and on beyond a violation.
    Each,
    /// By all properties, whatever the plan breaks, and on beyond a violation.
    Everything,
}

impl Judging<'_> {
    /// Whether a run is carried on beyond a violation.
    pub const fn goes_on(self) -> bool {
        match self {
            Self::All | Self::Only(_) => false,
            Self::Each | Self::Everything => true,
        }
    }

    /// The judge of a plan's run in an engine of that step.
    pub fn judge(self, plan: &Plan, configs: &[Config], tick: Duration) -> Judge {
        let terms = Terms::of(plan, configs, tick);
        match self {
            Self::All => Judge::new(&terms, &plan.broken(), None),
            Self::Only(only) => Judge::new(&terms, &plan.broken(), Some(only)),
            Self::Each => Judge::of_each(&terms, &plan.broken()),
            Self::Everything => Judge::of_everything(&terms),
        }
    }
}

/// What came of one run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// All that happened.
    pub trace: Trace,
    /// What the properties say.
    pub judge: Judge,
    /// Where the run went.
    pub sometimes: Sometimes,
    /// How much time was simulated.
    pub simulated: Duration,
}

impl Outcome {
    /// A run that is about to begin.
    pub fn of(judge: Judge) -> Self {
        Self { judge, ..Self::default() }
    }

    /// Takes in what happened next.
    pub fn record(&mut self, at: True, event: Event) {
        self.judge.observe(at, &event);
        self.sometimes.observe(at, &event);
        self.trace.push(at, event);
    }

    /// What came of one run with several elections. Its trace is that of the election in which something was
    /// wrong first, or else of the first one.
    #[cfg(feature = "turmoil")]
    pub(crate) fn of_elections(mut all: Vec<Self>) -> Self {
        let wrong = |one: &Self| one.judge.violation().map_or(True::MAX, |first| first.at);
        let told = (0..all.len()).min_by_key(|one| wrong(&all[*one])).unwrap_or(0);
        let mut outcome = std::mem::take(&mut all[told]);
        for (election, other) in all.iter().enumerate().filter(|(one, _)| *one != told) {
            for violation in other.judge.violations() {
                let what = format!("in election {election}: {}", violation.what);
                outcome.judge.accuse(violation.at, violation.property, what);
            }
            outcome.sometimes.beside(&other.sometimes);
            outcome.trace.beside(election as u64, &other.trace);
        }
        outcome
    }

    /// The run is over.
    pub fn finish(&mut self, at: True) {
        self.judge.finish(at);
        self.simulated = Duration::from_nanos(at);
    }
}

impl Recorded {
    /// Judges it, as if it happened again.
    ///
    /// # Errors
    /// If the plan's settings can't hold.
    pub fn judge(self, judging: Judging<'_>) -> Result<Outcome, PlanError> {
        let Self { header: Header { plan, tick_ns, .. }, entries, end } = self;
        let judge = judging.judge(&plan, &plan.configs()?, Duration::from_nanos(tick_ns));
        let mut outcome = Outcome::of(judge);
        for Entry { at, event } in entries {
            outcome.record(at, event);
        }
        outcome.finish(end.end);
        Ok(outcome)
    }
}
