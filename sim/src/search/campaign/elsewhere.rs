//! A violation that was seen with real servers, tried in the engines that simulate: which of them
//! could have seen it, and if none, why not.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Failure, attempt};
use crate::engines::Engine;
use crate::judge::{Judging, Which};
use crate::plan::Plan;

/// The result of a plan in another engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// The name of the engine.
    pub engine: String,
    /// The number of tries, each with other delays, until one was refused.
    pub tries: u64,
    /// The number of tries that violated each property.
    pub violated: BTreeMap<String, u64>,
    /// The reason the engine refuses the plan, if it does: mostly, a fault that it lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
}

/// The tries of a plan: the engine draws other delays each time.
const fn tries(engine: Engine) -> u64 {
    match engine {
        Engine::Model => 1_000,
        #[cfg(feature = "turmoil")]
        Engine::Turmoil => 20,
        #[cfg(feature = "real")]
        Engine::Real(_) => 0,
    }
}

/// Tries the plan in each engine that simulates.
pub(super) fn elsewhere(plan: &Plan, which: Which<'_>) -> Vec<Elsewhere> {
    Engine::ALL.iter().map(|engine| tried(*engine, plan, which)).collect()
}

fn tried(engine: Engine, plan: &Plan, which: Which<'_>) -> Elsewhere {
    let mut sum = Elsewhere {
        engine: engine.name().to_owned(),
        tries: 0,
        violated: BTreeMap::new(),
        lacks: None,
    };
    for number in 0..tries(engine) {
        let plan = Plan { seed: plan.seed.wrapping_add(number), ..plan.clone() };
        match attempt(engine, &plan, Judging::KeepJudging(which)) {
            Ok(outcome) => {
                for violation in outcome.judge.violations() {
                    *sum.violated.entry(violation.property.to_string()).or_default() += 1;
                }
            }
            Err(Failure::Refused { what } | Failure::Broke { what }) => {
                sum.lacks = Some(what);
                break;
            }
            Err(failure) => {
                sum.lacks = Some(format!("{failure:?}"));
                break;
            }
        }
        sum.tries += 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{FaultKind, Scope, swarm};

    #[test]
    fn an_engine_sees_what_it_could_have_seen() {
        // A store that comes back without data, and a candidate that declares no quarantine: beyond
        // the assumptions, so that a sound library shows a violation.
        let drawn = |seed| swarm(seed, &Scope::Model.kinds(), Scope::Model);
        let broken = |plan: &Plan| {
            let seen = tried(Engine::Model, plan, Which::All);
            assert_eq!((seen.tries, seen.lacks.clone()), (1_000, None));
            seen.violated.contains_key("single-leader")
        };
        let with = (1..500).map(drawn).find(|plan| plan.has(FaultKind::VmRestore) && broken(plan));
        let sound = tried(Engine::Model, &with.unwrap(), Which::Applicable);
        assert_eq!(sound.violated, BTreeMap::new(), "within its assumptions the library is sound");
    }

    #[cfg(feature = "turmoil")]
    #[test]
    fn an_engine_that_lacks_a_fault_says_which() {
        let drawn = |seed| swarm(seed, &[FaultKind::VmRestore], Scope::Model);
        let plan = (1..500).map(drawn).find(|plan| plan.has(FaultKind::VmRestore)).unwrap();
        let seen = elsewhere(&plan, Which::Applicable);
        let of = |name: &str| seen.iter().find(|one| one.engine == name).unwrap();
        assert_eq!((of("model").tries, &of("model").lacks), (1_000, &None));
        assert_eq!(of("turmoil").tries, 0);
        assert!(of("turmoil").lacks.as_ref().unwrap().contains("vm-restore"), "{seen:?}");
    }
}
