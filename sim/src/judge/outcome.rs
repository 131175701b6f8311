//! The outcome of a run: its trace, the findings of the properties, and the conditions that it met.

use std::time::Duration;

use tenure_core::Config;

use super::margin::Margin;
use super::properties::{Judge, PropertyName, Terms};
use super::sometimes::Sometimes;
use super::state::State;
use super::turnover::Turnover;
use crate::plan::{Plan, PlanError, SimTime};
use crate::trace::file::{Header, Recorded};
use crate::trace::{Entry, Event, Trace};

/// The properties that judge a run, and for how long.
#[derive(Clone, Copy, Debug)]
pub enum Judging<'a> {
    /// Up to the first violation of any of them: a later one may be its consequence.
    StopAtFirst(Which<'a>),
    /// Each up to its own first violation: this shows every property that a bug or a broken
    /// assumption violates.
    KeepJudging(Which<'a>),
}

/// The properties that judge a run.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// Those whose assumptions the plan keeps.
    Applicable,
    /// The named ones of them.
    Named(&'a [PropertyName]),
    /// All, whatever the plan breaks.
    All,
}

impl Default for Judging<'_> {
    fn default() -> Self {
        Self::StopAtFirst(Which::Applicable)
    }
}

impl Judging<'_> {
    /// True if a run stops at the first violation.
    pub const fn stops_at_first(self) -> bool {
        matches!(self, Self::StopAtFirst(_))
    }

    /// The judge of a plan's run in an engine with that tick.
    pub fn judge(self, plan: &Plan, configs: &[Config], tick: Duration) -> Judge {
        let terms = Terms::of(plan, configs, tick);
        let (Self::StopAtFirst(which) | Self::KeepJudging(which)) = self;
        let judge = match which {
            Which::Applicable => Judge::new(&terms, &plan.broken(), None),
            Which::Named(only) => Judge::new(&terms, &plan.broken(), Some(only)),
            Which::All => Judge::new(&terms, &[], None),
        };
        if self.stops_at_first() { judge } else { judge.continuing() }
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
    /// The times between the writes of one tenure and of the next.
    pub margin: Margin,
    /// The times between the leads.
    pub turnover: Turnover,
    /// The simulated time.
    pub simulated: Duration,
    state: State,
}

impl Outcome {
    /// The outcome of a run that is about to begin.
    pub fn of(judge: Judge) -> Self {
        Self { judge, ..Self::default() }
    }

    /// Records the next event.
    pub fn record(&mut self, at: SimTime, event: Event) {
        self.judge.observe(at, &event, &self.state);
        self.sometimes.observe(at, &event, &self.state);
        self.margin.observe(at, &event, &self.state);
        self.turnover.observe(at, &event, &self.state);
        self.state.observe(at, &event);
        self.trace.push(at, event);
    }

    /// The outcome of one run with several elections. Its trace is that of the election with the
    /// earliest violation, or of the first election if there is none.
    #[cfg(feature = "turmoil")]
    pub(crate) fn of_elections(mut all: Vec<Self>) -> Self {
        let violated_at =
            |one: &Self| one.judge.violation().map_or(SimTime::NEVER, |first| first.at);
        let main = (0..all.len()).min_by_key(|one| violated_at(&all[*one])).unwrap_or(0);
        let mut outcome = std::mem::take(&mut all[main]);
        for (election, other) in all.iter().enumerate().filter(|(one, _)| *one != main) {
            for violation in other.judge.violations() {
                let finding = violation.finding.in_election(election);
                outcome.judge.accuse(violation.at, violation.property, finding);
            }
            outcome.sometimes.beside(&other.sometimes);
            outcome.trace.beside(election as u64, &other.trace);
        }
        outcome
    }

    /// Ends the run at that time.
    pub fn finish(&mut self, at: SimTime) {
        self.judge.finish(at, &self.state);
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
