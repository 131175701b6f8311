//! Requests of the page, and their answers.

use std::error::Error;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_sim::evidence::compare::{Contender, Scenario};
use tenure_sim::plan::{NodePlan, Plan, Scope, Settings, Work, swarm};

use crate::change::Change;
use crate::run;
use crate::tool::Tool;

/// A request of the page.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Request {
    /// All that there is to choose from.
    Menu,
    /// The plan of a scenario; without one, a plan without faults.
    Preset { scenario: Option<Scenario>, members: u64 },
    /// A plan that is drawn from a seed, as the command draws it.
    Draw { seed: String },
    /// A plan of a file or an address.
    Read { plan: String },
    /// A plan with a change.
    Change { plan: String, change: Change },
    /// A run of a plan.
    Run { plan: String, contender: Contender },
    /// A small plan in which two members lead, too.
    Shrink { plan: String, contender: Contender, runs: u64 },
}

/// The reason why a request is not answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// In the words of another error and its causes.
    #[error("{0}")]
    Told(String),
    /// There is no such fault.
    #[error("the plan has no fault with the index {index}")]
    NoFault {
        /// Its index.
        index: usize,
    },
    /// There is no such member.
    #[error("the plan has {members} members, and none with that number")]
    NoNode {
        /// The number of members.
        members: usize,
    },
    /// A fault of the store at a member, or the other way round.
    #[error("{tool:?} is a fault of {}", if *.of_store { "the store: choose its lane" } else { "a member: choose its lane" })]
    Elsewhere {
        /// The fault.
        tool: &'static str,
        /// True if it is one of the store.
        of_store: bool,
    },
    /// The seed is not a number.
    #[error("the seed {seed:?} is no whole number from 0 to {}", u64::MAX)]
    Seed {
        /// The text.
        seed: String,
    },
    /// Nothing to make smaller.
    #[error("there is nothing to shrink: no two members lead at once in this run")]
    OneLeader,
}

impl Refusal {
    /// An error with its causes.
    pub(crate) fn of(error: impl Error) -> Self {
        let mut words = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            // Writing to a text does not fail.
            let _ = write!(words, ": {error}");
            cause = error.source();
        }
        Self::Told(words)
    }
}

/// Answers a request. Both are JSON; an answer that has the field `error` has no other.
pub fn answer(request: &str) -> String {
    reply(request).unwrap_or_else(|why| json!({ "error": why.to_string() }).to_string())
}

fn reply(request: &str) -> Result<String, Refusal> {
    match serde_json::from_str(request).map_err(Refusal::of)? {
        Request::Menu => Ok(menu().to_string()),
        Request::Preset { scenario, members } => Ok(of_plan(&preset(scenario, members)?)),
        Request::Draw { seed } => {
            let seed = seed.trim().parse().map_err(|_| Refusal::Seed { seed })?;
            Ok(of_plan(&swarm(seed, &Scope::Model.kinds(), Scope::Model)))
        }
        Request::Read { plan } => Ok(of_plan(&read(&plan)?)),
        Request::Change { plan, change } => {
            let mut plan = read(&plan)?;
            change.apply(&mut plan)?;
            Ok(of_plan(&plan))
        }
        Request::Run { plan, contender } => run::run(&read(&plan)?, contender),
        Request::Shrink { plan, contender, runs } => {
            let smallest = run::shrink(&read(&plan)?, contender, runs)?;
            Ok(of_plan(&smallest))
        }
    }
}

fn read(plan: &str) -> Result<Plan, Refusal> {
    Plan::parse(plan).map_err(Refusal::of)
}

/// A plan as the command reads it, and as short as possible, for an address.
fn of_plan(plan: &Plan) -> String {
    let short = serde_json::to_string(plan).unwrap_or_default();
    json!({ "plan": plan.to_text(), "short": short }).to_string()
}

/// The time for which a run without faults is shown, in milliseconds.
const QUIET_MS: u64 = 40_000;
/// The TTL of the plans of scenarios.
const TTL_MS: u64 = 3_000;

/// With the seed of the first run of `tenure-sim compare`.
fn preset(scenario: Option<Scenario>, members: u64) -> Result<Plan, Refusal> {
    if let Some(scenario) = scenario {
        return scenario.plan_of(0, TTL_MS, members).map_err(Refusal::of);
    }
    let ttl = std::time::Duration::from_millis(TTL_MS);
    let settings = Settings::of_ttl(ttl).map_err(Refusal::of)?;
    let nodes = (1..=members).map(|number| NodePlan::of_offset(1_000 * number));
    let settings = Settings { drain_bound_ms: 0, ..settings };
    let mut plan = Plan {
        latency_us: (50, 500),
        work: Work { every_ms: 100, takes_us: 100, reads_first: false },
        ..Plan::quiet(0, settings, nodes.collect())
    };
    plan.calm_from_ms = QUIET_MS;
    Ok(plan)
}

/// The scenarios of the table in `docs/comparison.md` in which a model has two leaders.
const SCENARIOS: [Scenario; 7] = [
    Scenario::CutOff,
    Scenario::CutOffLong,
    Scenario::Pause,
    Scenario::StoreLoss,
    Scenario::LateGrant,
    Scenario::StoreClockStep,
    Scenario::LateMessages,
];

fn menu() -> Value {
    #[derive(Serialize)]
    struct Choice<T> {
        value: T,
        label: String,
        of_store: bool,
    }
    let scenarios =
        SCENARIOS.map(|value| Choice { value, label: value.about().to_owned(), of_store: false });
    let contenders = Contender::ALL.into_iter().filter(|one| *one != Contender::Tenure);
    let contenders: Vec<_> = contenders
        .map(|value| Choice {
            value,
            label: format!("{} ({})", run::label(value), value.about()),
            of_store: false,
        })
        .collect();
    let tools = Tool::ALL.map(|value| Choice {
        value,
        label: value.label().to_owned(),
        of_store: value.is_of_the_store(),
    });
    json!({ "scenarios": scenarios, "contenders": contenders, "tools": tools })
}
