//! The code under test, and the engine that runs it.

#[cfg(feature = "turmoil")]
use std::sync::Arc;

use super::workload::Judged;
use crate::engines::model::{run_beside, run_with, store::StoreModel, tenure::Tenure};
use crate::engines::sink::{Sink, TwinSinks};
#[cfg(feature = "turmoil")]
use crate::engines::turmoil::{self, Hosted};
use crate::engines::{Engine, EngineError};
use crate::judge::properties::PropertyName;
#[cfg(feature = "turmoil")]
use crate::judge::sometimes::names_of_work;
use crate::judge::{Judging, Outcome};
#[cfg(feature = "turmoil")]
use crate::plan::Program;
use crate::plan::{Assumption, FaultKind, Plan, swarm};
use crate::search::shrink::Budget;
use crate::trace::Digest;

/// Makes the workload of a run whose plan breaks those assumptions.
pub(super) type NewWorkload = Box<dyn Fn(&[Assumption]) -> Box<dyn Judged> + Sync>;
/// Carries out a plan with leaders that write to that resource.
type Carry = fn(&Plan, Judging<'_>, &mut dyn Sink) -> Result<Outcome, EngineError>;
/// Makes the service of a run.
#[cfg(feature = "turmoil")]
pub(super) type NewService = Box<dyn Fn() -> Arc<dyn Hosted> + Sync>;

/// The code under test.
pub(super) enum Subject {
    /// Leader-only work as a value, and a store as a value.
    Values { workload: NewWorkload, carry: Carry },
    /// A service, with the shipped driver and the shipped store.
    #[cfg(feature = "turmoil")]
    Service(NewService),
}

impl Subject {
    /// Tenure's own: no work but that of the engine, and the store contract.
    pub(super) fn own() -> Self {
        Self::Values { workload: Box::new(|_| Box::new(TwinSinks::default())), carry: run_beside }
    }

    /// Replaces the workload.
    pub(super) fn with_workload(self, workload: NewWorkload) -> Self {
        match self {
            Self::Values { carry, .. } => Self::Values { workload, carry },
            #[cfg(feature = "turmoil")]
            Self::Service(_) => Self::Values { workload, carry: run_beside },
        }
    }

    /// Replaces the store.
    pub(super) fn with_store<S: StoreModel>(self) -> Self {
        let own = match self {
            Self::Values { .. } => self,
            #[cfg(feature = "turmoil")]
            Self::Service(_) => Self::own(),
        };
        match own {
            Self::Values { workload, .. } => {
                Self::Values { workload, carry: run_with::<Tenure<S>> }
            }
            #[cfg(feature = "turmoil")]
            Self::Service(_) => own,
        }
    }

    /// The engine that runs it.
    pub(super) const fn engine(&self) -> Engine {
        match self {
            Self::Values { .. } => Engine::Model,
            #[cfg(feature = "turmoil")]
            Self::Service(_) => Engine::Turmoil,
        }
    }

    /// The number of runs, unless it is set.
    pub(super) const fn runs(&self) -> u64 {
        match self {
            Self::Values { .. } => 1_000,
            #[cfg(feature = "turmoil")]
            Self::Service(_) => 100,
        }
    }

    /// The budget for shrinking a plan that fails.
    pub(super) const fn budget(&self) -> Budget {
        match self {
            Self::Values { .. } => Budget::default_for(Engine::Model),
            // A run takes the better part of a second.
            #[cfg(feature = "turmoil")]
            Self::Service(_) => Budget { runs: 150 },
        }
    }

    /// The properties that judge its runs, if they are not all of its engine.
    pub(super) fn properties(&self) -> Option<Vec<PropertyName>> {
        match self {
            Self::Values { .. } => None,
            #[cfg(feature = "turmoil")]
            Self::Service(_) => Some(turmoil::judges_services().collect()),
        }
    }

    /// The conditions that its runs can't meet, though its engine can.
    pub(super) fn never_meets(&self) -> Vec<&'static str> {
        match self {
            Self::Values { .. } => Vec::new(),
            #[cfg(feature = "turmoil")]
            Self::Service(_) => names_of_work().collect(),
        }
    }

    /// The reason for no comparison by its own property.
    pub(super) fn nothing_compared(&self, property: &str) -> String {
        match self {
            Self::Values { .. } => {
                format!("no effect was judged by the workload's property {property:?}")
            }
            #[cfg(feature = "turmoil")]
            Self::Service(_) => format!(
                "no call of Process::outside was judged by the property {property:?} of the service"
            ),
        }
    }

    /// The plan of a seed.
    pub(super) fn plan(&self, seed: u64, faults: &[FaultKind]) -> Plan {
        let plan = swarm(seed, faults, self.engine().scope());
        match self {
            Self::Values { .. } => plan,
            #[cfg(feature = "turmoil")]
            Self::Service(_) => Plan { program: Program::default(), ..plan },
        }
    }

    /// The run of a plan, and a digest of its events and of what a workload intended.
    pub(super) fn carry_out(&self, plan: &Plan) -> Result<(Outcome, Digest), EngineError> {
        let (outcome, did) = match self {
            Self::Values { workload, carry } => {
                let mut workload = workload(&plan.broken());
                let mut outcome = carry(plan, Judging::default(), workload.as_sink())?;
                if let Some((property, effects)) = workload.property() {
                    outcome.judge.also(property, effects);
                }
                (outcome, workload.intents())
            }
            #[cfg(feature = "turmoil")]
            Self::Service(new) => {
                let outcome = turmoil::run_service(plan, Judging::default(), new())?;
                (outcome, Digest::default())
            }
        };
        let mut digest = outcome.trace.hash();
        digest.add_run(plan.seed, did);
        Ok((outcome, digest))
    }
}
