//! Leaves out each kind of fault, to check that a campaign notices.

use serde::Serialize;

use crate::engines::{Engine, EngineError};
use crate::judge::{Judging, Outcome};
use crate::plan::{FaultKind, Plan};
use crate::search::campaign::{Campaign, Failure, OFTEN, Ordered, Run, Seeds, Summary};

/// The seeds that are searched for plans of a kind. A default campaign of any engine has all of
/// them.
pub const SEEDS: u64 = 500;

/// The result of the same runs with and without one kind of fault in one engine.
#[derive(Debug, Serialize)]
pub struct LeftOut {
    /// The engine.
    pub engine: Engine,
    /// The kind that is ordered, but not carried out.
    pub kind: FaultKind,
    /// The number of seeds that were run with it and without it.
    pub runs: u64,
    /// The counts when it was carried out.
    pub with: Ordered,
    /// The counts when it was not.
    pub without: Ordered,
    /// The reasons why a campaign without it fails, as far as they are due to the kind.
    pub noticed_by: Vec<String>,
}

impl LeftOut {
    /// True if the kind has effects, and leaving it out is noticed.
    pub fn is_noticed(&self) -> bool {
        self.with.effects > 0 && !self.noticed_by.is_empty()
    }
}

/// Carries out plans of a default campaign that contain faults of that kind, with them and without:
/// as many plans as a campaign needs to notice, or those of the first `runs` seeds.
pub fn leave_out(engine: Engine, kind: FaultKind, runs: Option<u64>) -> LeftOut {
    let count = runs.unwrap_or(SEEDS);
    let campaign = Campaign {
        engine,
        seeds: Seeds::range(1, count),
        jobs: 1,
        faults: engine.scope().kinds(),
        properties: None,
        check_determinism: false,
    };
    let (mut with, mut without) = (Summary::new(&campaign), Summary::new(&campaign));
    let of = |summary: &Summary| summary.faults.get(&kind).copied().unwrap_or_default();
    let plans = (1..=count).map(|seed| campaign.plan(seed)).filter(|plan| plan.has(kind));
    for plan in plans {
        with.add(run(&plan, engine.run(&plan, Judging::default())));
        without.add(run(&plan, engine.run_without(&plan, Judging::default(), kind)));
        let is_enough = of(&with).effects > 0 && of(&without).ordered >= OFTEN;
        if runs.is_none() && is_enough {
            break;
        }
    }
    LeftOut {
        engine,
        kind,
        runs: with.runs,
        with: of(&with),
        without: of(&without),
        noticed_by: noticed_by(&without, kind),
    }
}

fn run(plan: &Plan, outcome: Result<Outcome, EngineError>) -> Run {
    match outcome {
        Ok(outcome) => Run::of(plan, &outcome),
        Err(error) => Run::failed(plan.seed, Failure::Broke { what: error.to_string() }),
    }
}

fn noticed_by(without: &Summary, kind: FaultKind) -> Vec<String> {
    let no_effect = without.without_effect().contains(&kind).then(|| "no effect".to_owned());
    let failed = without.failed.as_ref().map(|failed| match &failed.failure {
        Failure::Violated { property, .. } => format!("{property} in seed {}", failed.seed),
        Failure::Refused { what } | Failure::Broke { what } => what.clone(),
        Failure::Nondeterministic { .. } => "nondeterministic".to_owned(),
    });
    no_effect.into_iter().chain(failed).collect()
}
