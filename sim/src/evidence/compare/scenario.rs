//! The scenarios of the compared runs: one in each run, with faults at the leader or at the store.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::ConfigError;

use crate::engines::EngineError;
use crate::plan::draw::Draw;
use crate::plan::{
    Fault, LinkFault, NodePlan, Plan, PlanError, Point, ProcessFault, Program, SCHEMA, Settings,
    StoreFault, StorePlan, Trigger, What, When, Work,
};

/// The TTL with which the libraries were measured: renewed every second, retried every half second.
const TTL_MS: u64 = 3_000;
/// The TTLs after which tenure's first leader has waited out the quarantine of a store that it has never
/// seen, and the timers of all nodes are out of step.
pub(super) const SETTLED_TTLS: u64 = 2;
/// The largest error of the clocks' rates where they drift.
const DRIFT_PPM: u64 = 10_000;

/// The fault or faults of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "explained by `about`")]
pub enum Scenario {
    CutOff,
    CutOffLong,
    Pause,
    StoreLoss,
    LateGrant,
    StoreClockStep,
    Crash,
    PowerLoss,
    Handover,
    LateMessages,
    Drift,
}

impl Scenario {
    /// All scenarios.
    pub const ALL: [Self; 11] = [
        Self::CutOff,
        Self::CutOffLong,
        Self::Pause,
        Self::StoreLoss,
        Self::LateGrant,
        Self::StoreClockStep,
        Self::Crash,
        Self::PowerLoss,
        Self::Handover,
        Self::LateMessages,
        Self::Drift,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.described().0
    }

    /// A short description.
    pub const fn about(self) -> &'static str {
        self.described().1
    }

    /// Whether it breaks an assumption that tenure's single leadership rests on.
    pub const fn is_beyond_the_assumptions(self) -> bool {
        matches!(self, Self::StoreClockStep)
    }

    const fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::CutOff => ("cut-off", "the leader is cut off for 5 TTLs (15 s)"),
            Self::CutOffLong => ("cut-off-long", "the leader is cut off for 40 s"),
            Self::Pause => ("pause", "the leader is paused for 1.5 to 15 TTLs"),
            Self::StoreLoss => ("store-loss", "the store restarts without its data"),
            Self::LateGrant => ("late-grant", "a grant's reply arrives after 1.5 to 10 TTLs"),
            Self::StoreClockStep => ("store-clock-step", "the store's clock steps 30 s forward"),
            Self::Crash => ("crash", "the leader's process crashes"),
            Self::PowerLoss => ("power-loss", "the leader's machine loses power, unnoticed"),
            Self::Handover => ("handover", "the leader leaves"),
            Self::LateMessages => {
                ("late-messages", "the leader's messages are late, duplicated and reordered")
            }
            Self::Drift => ("drift", "clocks are off by up to 1 %, and the leader is cut off"),
        }
    }

    /// The plan of a run: the time, the duration and the number of nodes are drawn from the seed.
    ///
    /// # Errors
    /// None: the settings are valid.
    pub fn plan(self, seed: u64) -> Result<Plan, EngineError> {
        self.plan_of(seed, TTL_MS, Draw::new(seed, "compare nodes", 0).within(2..=5))
    }

    /// The plan of a run with that number of nodes and another TTL, and durations in proportion.
    ///
    /// # Errors
    /// If the TTL is not valid.
    pub fn plan_of(self, seed: u64, ttl_ms: u64, nodes: u64) -> Result<Plan, EngineError> {
        let mut draw = Draw::new(seed, "compare", 0);
        let mut plan = quiet(seed, ttl_ms, nodes, self == Self::Drift)?;
        let at_ms = draw.within(SETTLED_TTLS * ttl_ms..=(SETTLED_TTLS + 2) * ttl_ms);
        plan.faults = out_of_step(&plan);
        plan.faults.extend(self.faults(&mut draw, at_ms, ttl_ms));
        let longest = plan.faults.iter().map(|fault| fault.for_ms).max().unwrap_or(0);
        plan.calm_from_ms = at_ms + longest + 2 * ttl_ms;
        Ok(plan)
    }

    fn faults(self, draw: &mut Draw, at_ms: u64, ttl_ms: u64) -> Vec<Fault> {
        let node = None;
        let now = When::AtMs(at_ms);
        let next =
            |point| When::On(Trigger { point, node: None, of: None, nth: 1, after_ms: at_ms });
        let fault = |when, for_ms, what| Fault { when, for_ms, what };
        // Longer than the slowest takeover.
        let for_good = 20 * ttl_ms;
        match self {
            Self::CutOff | Self::Drift => vec![fault(now, 5 * ttl_ms, LinkFault::Hold.at(node))],
            Self::CutOffLong => vec![fault(now, 40_000, LinkFault::Hold.at(node))],
            Self::Pause => {
                // Anywhere, or between a check of leadership and the write.
                let when = draw.pick(&[now, next(Point::Guard)]);
                let for_ms = draw.within(ttl_ms * 3 / 2..=15 * ttl_ms);
                vec![fault(when, for_ms, ProcessFault::Pause.at(node))]
            }
            Self::StoreLoss => vec![fault(now, 1, What::Store(StoreFault::StoreLoss))],
            Self::LateGrant => {
                // The leader leaves, and comes back soon, so that there is a candidate to take over.
                let for_ms = draw.within(ttl_ms * 3 / 2..=10 * ttl_ms);
                let leaves = fault(now, ttl_ms, ProcessFault::Leave.at(node));
                vec![leaves, fault(next(Point::Grant), for_ms, LinkFault::Hold.at(node))]
            }
            Self::StoreClockStep => {
                vec![fault(now, 0, What::Store(StoreFault::StoreClockStep { by_ms: 30_000 }))]
            }
            Self::Crash => {
                vec![fault(now, for_good, ProcessFault::Crash { power: false }.at(node))]
            }
            Self::PowerLoss => {
                vec![fault(now, for_good, ProcessFault::Crash { power: true }.at(node))]
            }
            Self::Handover => vec![fault(now, for_good, ProcessFault::Leave.at(node))],
            Self::LateMessages => {
                let (permille, most_ms) = (200, 2 * ttl_ms);
                let late = [
                    LinkFault::Latency { most_ms }.at(node),
                    LinkFault::Duplicate { permille, most_ms }.at(node),
                    LinkFault::Reorder { permille, most_ms }.at(node),
                ];
                late.map(|what| fault(now, 10 * ttl_ms, what)).to_vec()
            }
        }
    }
}

/// All nodes start at once, and would send all their requests at once: each is paused for a moment around its
/// first renewal, so that their timers fire at different times.
fn out_of_step(plan: &Plan) -> Vec<Fault> {
    let interval = plan.settings.renew_interval_ms;
    let pause = |node| Fault {
        when: When::AtMs(interval * 9 / 10),
        for_ms: interval / 10
            + Draw::new(plan.seed, "compare step", node as u64).within(1..=interval),
        what: ProcessFault::Pause.at(Some(node)),
    };
    (0..plan.nodes.len()).map(pause).collect()
}

/// A plan without faults, with that number of nodes and the default settings of that TTL.
///
/// Leaders write every tenth of a second, and end at once when their tenure does: a handover measures the
/// election, not the work.
fn quiet(seed: u64, ttl_ms: u64, nodes: u64, drifts: bool) -> Result<Plan, EngineError> {
    let invalid = |why: ConfigError| PlanError::Settings { node: 0, why: why.into() };
    let ttl = Duration::from_millis(ttl_ms);
    let settings = Settings { drain_bound_ms: 0, ..Settings::of_ttl(ttl).map_err(invalid)? };
    let rate = |node| {
        let off = Draw::new(seed, "compare rate", node).within(0..=2 * DRIFT_PPM).cast_signed();
        if drifts { off - DRIFT_PPM.cast_signed() } else { 0 }
    };
    let node = |node| NodePlan {
        clock_offset_ms: Draw::new(seed, "compare offset", node).within(1_000..=10_000_000),
        clock_rate_ppm: rate(node),
        settings: None,
    };
    Ok(Plan {
        schema: SCHEMA,
        seed,
        settings,
        nodes: (0..nodes).map(node).collect(),
        store: StorePlan { clock_rate_ppm: rate(u64::MAX), trust_empty_store: false },
        latency_us: (50, 500),
        work: Work { every_ms: 100, takes_us: 100, reads_first: false },
        program: Program::default(),
        faults: Vec::new(),
        calm_from_ms: ttl_ms,
        handover: false,
    })
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
