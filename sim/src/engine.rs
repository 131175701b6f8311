//! What carries plans out, and what comes of it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::Config;

use crate::clock::True;
use crate::model_engine;
use crate::plan::{FaultKind, Plan, PlanError, Scope};
use crate::properties::{Judge, PropertyName, Terms};
use crate::sometimes::Sometimes;
use crate::trace::{Event, Trace};
#[cfg(feature = "turmoil")]
use crate::turmoil_engine;

/// What carries plans out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// The state machine alone, in a queue of events.
    Model,
    /// The shipped driver, Redis adapter and scripts, over simulated TCP.
    #[cfg(feature = "turmoil")]
    Turmoil,
}

impl Engine {
    /// All that this build has.
    pub const ALL: &[Self] = &[
        Self::Model,
        #[cfg(feature = "turmoil")]
        Self::Turmoil,
    ];

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            #[cfg(feature = "turmoil")]
            Self::Turmoil => "turmoil",
        }
    }

    /// What plans are drawn for it.
    pub const fn scope(self) -> Scope {
        match self {
            Self::Model => Scope::Model,
            #[cfg(feature = "turmoil")]
            Self::Turmoil => Scope::Turmoil,
        }
    }

    /// The length of its step.
    pub const fn tick(self) -> Duration {
        match self {
            Self::Model => model_engine::TICK,
            #[cfg(feature = "turmoil")]
            Self::Turmoil => turmoil_engine::TICK,
        }
    }

    /// Carries out a plan, and judges it.
    ///
    /// # Errors
    /// If the plan can't be carried out, or the engine itself breaks down.
    pub fn run(self, plan: &Plan, judging: Judging<'_>) -> Result<Outcome, EngineError> {
        match self {
            Self::Model => model_engine::run(plan, judging),
            #[cfg(feature = "turmoil")]
            Self::Turmoil => turmoil_engine::run(plan, judging),
        }
    }

    /// The same, and faults of that kind are ordered but not carried out: for those who want to see that it is
    /// noticed.
    ///
    /// # Errors
    /// As those of [`run`](Self::run).
    pub fn run_without(
        self,
        plan: &Plan,
        judging: Judging<'_>,
        kind: FaultKind,
    ) -> Result<Outcome, EngineError> {
        match self {
            Self::Model => model_engine::run_without(plan, judging, kind),
            #[cfg(feature = "turmoil")]
            Self::Turmoil => turmoil_engine::run_without(plan, judging, kind),
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No engine has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown engine {name:?}; known are {}", known())]
pub struct UnknownEngine {
    /// What was asked for.
    pub name: String,
}

fn known() -> String {
    Engine::ALL.iter().map(|engine| engine.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Engine {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, UnknownEngine> {
        let found = Self::ALL.iter().copied().find(|engine| engine.name() == name);
        found.ok_or_else(|| UnknownEngine { name: name.to_owned() })
    }
}

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

/// Why a run did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The plan can't be carried out.
    #[error("the plan can't be carried out: {0}")]
    Plan(#[from] PlanError),
    /// A task of the driver or the adapter panicked; its message is on standard error.
    #[error("a task of node {node} panicked at {at_ms} ms")]
    Panicked {
        /// The node.
        node: usize,
        /// When, in milliseconds of true time.
        at_ms: u64,
    },
    /// A task of a process runs beside it: it would go on while the process stands still.
    #[error("a task of node {node} escapes its process; spawn it with tenure_sim::spawn")]
    Escaped {
        /// The node.
        node: usize,
    },
    /// The simulation failed in a way that no fault explains.
    #[error("the simulation broke down: {0}")]
    Simulation(String),
}
