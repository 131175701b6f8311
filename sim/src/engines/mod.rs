//! The engines: each carries out a plan and returns a judged trace.

mod awaited;
mod cut;
pub mod model;
#[cfg(feature = "overload")]
pub mod overload;
#[cfg(feature = "turmoil")]
pub mod redis;
#[cfg(feature = "turmoil")]
pub mod turmoil;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::judge::{Judging, Outcome};
use crate::plan::{FaultKind, Plan, PlanError, Scope};
pub(crate) use awaited::{Awaited, Kinds};
pub use cut::cut;

/// An engine, which carries out plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// The state machine alone, in a queue of events.
    Model,
    /// The real driver, Redis adapter and scripts, over simulated TCP.
    #[cfg(feature = "turmoil")]
    Turmoil,
}

impl Engine {
    /// All engines of this build.
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

    /// The scope of the plans that are drawn for it.
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
            Self::Model => model::TICK,
            #[cfg(feature = "turmoil")]
            Self::Turmoil => turmoil::TICK,
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
        }
    }

    /// Carries out a plan, but orders faults of that kind without carrying them out. A check of effects has to notice
    /// that they are missing.
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
    /// The name that was given.
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

/// The reason why a run did not complete.
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
        /// The time, in milliseconds of true time.
        at_ms: u64,
    },
    /// A task was spawned outside of its process: it would run while the process is paused.
    #[error("a task of node {node} escapes its process; spawn it with tenure_sim::spawn")]
    Escaped {
        /// The node.
        node: usize,
    },
    /// The simulation failed in a way that no fault explains.
    #[error("the simulation broke down: {0}")]
    Simulation(String),
}
