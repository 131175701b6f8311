//! The outcome of a run: its trace, the findings of the properties, and the conditions that it met.

use std::time::Duration;

use tenure_core::Config;

use super::properties::{Judge, PropertyName, Terms};
use super::sometimes::Sometimes;
use crate::plan::{Plan, PlanError, SimTime};
use crate::trace::file::{Header, Recorded};
use crate::trace::{Entry, Event, Trace};

/// Which properties judge a run, and whether judging stops at the first violation.
#[derive(Clone, Copy, Debug, Default)]
pub enum Judging<'a> {
    /// All properties whose assumptions the plan keeps, up to the first violation.
    #[default]
    All,
    /// Only the named ones of them.
    Only(&'a [PropertyName]),
    /// All properties whose assumptions the plan keeps, each up to its own first violation.
    Each,
    /// All properties, whatever the plan breaks, each up to its own first violation.
    Everything,
}

impl Judging<'_> {
    /// Whether a run continues after a violation.
    pub const fn goes_on(self) -> bool {
        match self {
            Self::All | Self::Only(_) => false,
            Self::Each | Self::Everything => true,
        }
    }

    /// The judge of a plan's run in an engine with that tick.
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

/// The outcome of one run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// All events of the run.
    pub trace: Trace,
    /// The findings of the properties.
    pub judge: Judge,
    /// The conditions that the run met.
    pub sometimes: Sometimes,
    /// How much time was simulated.
    pub simulated: Duration,
}

impl Outcome {
    /// The outcome of a run that is about to begin.
    pub fn of(judge: Judge) -> Self {
        Self { judge, ..Self::default() }
    }

    /// Records the next event.
    pub fn record(&mut self, at: SimTime, event: Event) {
        self.judge.observe(at, &event);
        self.sometimes.observe(at, &event);
        self.trace.push(at, event);
    }

    /// The outcome of one run with several elections. Its trace is that of the election with the earliest
    /// violation, or of the first election if there is none.
    #[cfg(feature = "turmoil")]
    pub(crate) fn of_elections(mut all: Vec<Self>) -> Self {
        let violated_at =
            |one: &Self| one.judge.violation().map_or(SimTime::NEVER, |first| first.at);
        let main = (0..all.len()).min_by_key(|one| violated_at(&all[*one])).unwrap_or(0);
        let mut outcome = std::mem::take(&mut all[main]);
        for (election, other) in all.iter().enumerate().filter(|(one, _)| *one != main) {
            for violation in other.judge.violations() {
                let what = format!("in election {election}: {}", violation.what);
                outcome.judge.accuse(violation.at, violation.property, what);
            }
            outcome.sometimes.beside(&other.sometimes);
            outcome.trace.beside(election as u64, &other.trace);
        }
        outcome
    }

    /// Ends the run at that time.
    pub fn finish(&mut self, at: SimTime) {
        self.judge.finish(at);
        self.simulated = at.since(SimTime::START);
    }
}

impl Recorded {
    /// Judges a recorded run by its events.
    ///
    /// # Errors
    /// If the plan's settings contradict each other.
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
