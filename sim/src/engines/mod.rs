//! The engines: each carries out a plan and returns a judged trace.

mod awaited;
pub(crate) mod calls;
mod cut;
pub mod model;
#[cfg(any(feature = "real", feature = "turmoil"))]
mod node;
pub mod overload;
pub(crate) mod panics;
mod queue;
#[cfg(feature = "real")]
pub mod real;
#[cfg(feature = "turmoil")]
pub mod redis;
pub(crate) mod sink;
#[cfg(feature = "turmoil")]
pub mod turmoil;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::judge::properties::{self, PropertyName};
use crate::judge::{Judging, Outcome};
use crate::plan::{FaultKind, Plan, PlanError, Scope, UnknownName, named};
pub(crate) use awaited::{Awaited, Kinds};
pub use cut::cut;

/// An engine, which carries out plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Engine {
    /// The state machine alone, in a queue of events.
    Model,
    /// The real driver, Redis adapter and scripts, over simulated TCP.
    #[cfg(feature = "turmoil")]
    Turmoil,
    /// Processes and a server of that store. Nothing is simulated, so a plan takes as long as it
    /// says, and does not give the same run twice.
    #[cfg(feature = "real")]
    Real(real::Target),
}

impl Engine {
    /// The engines of this build that simulate: a plan has one trace.
    pub const ALL: &[Self] = &[
        Self::Model,
        #[cfg(feature = "turmoil")]
        Self::Turmoil,
    ];

    /// All engines of this build, those with real servers too.
    pub fn every() -> impl Iterator<Item = Self> {
        #[cfg(feature = "real")]
        let real = real::Target::ALL.into_iter().map(Self::Real);
        #[cfg(not(feature = "real"))]
        let real = std::iter::empty();
        Self::ALL.iter().copied().chain(real)
    }

    /// True if it simulates: then a plan has one trace.
    pub const fn simulates(self) -> bool {
        match self {
            Self::Model => true,
            #[cfg(feature = "turmoil")]
            Self::Turmoil => true,
            #[cfg(feature = "real")]
            Self::Real(_) => false,
        }
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            #[cfg(feature = "turmoil")]
            Self::Turmoil => "turmoil",
            #[cfg(feature = "real")]
            Self::Real(target) => target.engine(),
        }
    }

    /// The arguments of the command that choose it.
    pub fn arguments(self) -> String {
        match self {
            Self::Model => "--engine model".to_owned(),
            #[cfg(feature = "turmoil")]
            Self::Turmoil => "--engine turmoil".to_owned(),
            #[cfg(feature = "real")]
            Self::Real(target) => format!("--engine real --store {target}"),
        }
    }

    /// The scope of the plans that are drawn for it.
    pub const fn scope(self) -> Scope {
        match self {
            Self::Model => Scope::Model,
            #[cfg(feature = "turmoil")]
            Self::Turmoil => Scope::Turmoil,
            #[cfg(feature = "real")]
            Self::Real(target) => Scope::Real(target.backend()),
        }
    }

    /// The properties that judge its runs: an engine without ticks has no handles, and not every
    /// server shows what it has refused.
    pub fn properties(self) -> impl Iterator<Item = PropertyName> {
        properties::names_at(self.tick()).filter(move |name| !self.left_out().contains(name))
    }

    const fn left_out(self) -> &'static [PropertyName] {
        match self {
            Self::Model => &[],
            #[cfg(feature = "turmoil")]
            Self::Turmoil => &[],
            #[cfg(feature = "real")]
            Self::Real(target) => target.left_out(),
        }
    }

    /// The tolerance of its times: the length of its step, if it simulates.
    pub const fn tick(self) -> Duration {
        match self {
            Self::Model => model::TICK,
            #[cfg(feature = "turmoil")]
            Self::Turmoil => turmoil::TICK,
            #[cfg(feature = "real")]
            Self::Real(_) => real::TICK,
        }
    }

    /// Prepares this process for runs, before it has started any thread. For some stores that
    /// starts its program again, with the same arguments, and does not return.
    pub fn prepare(self) {
        match self {
            Self::Model => {}
            #[cfg(feature = "turmoil")]
            Self::Turmoil => {}
            #[cfg(feature = "real")]
            Self::Real(target) => real::prepare(target),
        }
    }

    /// Carries out a plan, and judges the run.
    ///
    /// # Errors
    /// If the plan can't be carried out, or the simulation itself fails.
    pub fn run(self, plan: &Plan, judging: Judging<'_>) -> Result<Outcome, EngineError> {
        match self {
            Self::Model => model::run(plan, judging),
            #[cfg(feature = "turmoil")]
            Self::Turmoil => turmoil::run(plan, judging),
            #[cfg(feature = "real")]
            Self::Real(target) => real::run(target, plan, judging),
        }
    }

    /// Carries out a plan, but orders faults of that kind without carrying them out. A check of
    /// effects has to notice that they are missing.
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
            Self::Model => model::run_without(plan, judging, kind),
            #[cfg(feature = "turmoil")]
            Self::Turmoil => turmoil::run_without(plan, judging, kind),
            #[cfg(feature = "real")]
            Self::Real(target) => real::run_without(target, plan, judging, kind),
        }
    }
}

impl From<Engine> for &'static str {
    fn from(engine: Engine) -> Self {
        engine.name()
    }
}

impl TryFrom<String> for Engine {
    type Error = UnknownName;

    fn try_from(name: String) -> Result<Self, UnknownName> {
        name.parse()
    }
}

named!(Engine, "engine", Engine::every(), |one| one.name());

/// The reason why a run did not complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The plan can't be carried out.
    #[error("the plan can't be carried out: {0}")]
    Plan(#[from] PlanError),
    /// A task of a simulated process panicked.
    #[error("a task of node {node} panicked at {at_ms} ms: {what}")]
    Panicked {
        /// The node.
        node: usize,
        /// The time, in milliseconds of true time.
        at_ms: u64,
        /// The message.
        what: String,
    },
    /// A task was spawned outside of its process: it would run while the process is paused.
    #[error("a task of node {node} escapes its process; spawn it with tenure_sim::spawn")]
    Escaped {
        /// The node.
        node: usize,
    },
    /// The run failed in a way that no fault explains.
    #[error("the run broke down: {0}")]
    Simulation(String),
    /// A server can't be started, or does not do what it should.
    #[cfg(feature = "real")]
    #[error(transparent)]
    Server(#[from] tenure_servers::ServerError),
}
