//! The scenarios of the compared runs: one in each run, with faults at the leader or at the store.

use std::time::Duration;

use tenure_core::ConfigError;

use crate::engines::EngineError;
use crate::evidence::stage::Stage;
use crate::plan::draw::Draw;
use crate::plan::{
    LinkFault, NodePlan, Plan, PlanError, Point, ProcessFault, Settings, StoreFault, StorePlan,
    What, Work,
};

/// The TTL with which the libraries were measured: renewed every second, retried every half second.
const TTL_MS: u64 = 3_000;
/// The TTLs after which tenure's first leader has waited out the quarantine of a store that it has
/// never seen, and the timers of all nodes are out of step.
pub(super) const SETTLED_TTLS: u64 = 2;
/// The largest error of the clocks' rates where they drift.
const DRIFT_PPM: u64 = 10_000;

described! {
    /// The fault or faults of a run.
    #[allow(missing_docs, reason = "explained by `about`")]
    Scenario {
        CutOff = "cut-off": "the leader is cut off for 5 TTLs (15 s)",
        CutOffLong = "cut-off-long": "the leader is cut off for 40 s",
        Pause = "pause": "the leader is paused for 1.5 to 15 TTLs",
        StoreLoss = "store-loss": "the store restarts without its data",
        LateGrant = "late-grant": "a grant's reply arrives after 1.5 to 10 TTLs",
        StoreClockStep = "store-clock-step": "the store's clock steps 30 s forward",
        Crash = "crash": "the leader's process crashes",
        PowerLoss = "power-loss": "the leader's machine loses power, unnoticed",
        Handover = "handover": "the leader leaves",
        LateMessages = "late-messages": "the leader's messages are late, duplicated and reordered",
        Drift = "drift": "clocks are off by up to 1 %, and the leader is cut off",
    }
}

impl Scenario {
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
        let at_ms = draw.within(SETTLED_TTLS * ttl_ms..=(SETTLED_TTLS + 2) * ttl_ms);
        let plan = healthy(seed, ttl_ms, nodes, self == Self::Drift)?;
        let mut stage = Stage { plan, at_ms, draw };
        self.happens(&mut stage);
        let mut plan = stage.plan;
        let longest = plan.faults.iter().map(|fault| fault.for_ms).max().unwrap_or(0);
        plan.calm_from_ms = at_ms + longest + 2 * ttl_ms;
        Ok(plan)
    }

    fn happens(self, stage: &mut Stage) {
        let (node, ttl_ms) = (None, stage.ttl_ms());
        // Longer than the slowest takeover.
        let for_good = 20 * ttl_ms;
        match self {
            Self::CutOff | Self::Drift => stage.now(5 * ttl_ms, LinkFault::Hold.at(node)),
            Self::CutOffLong => stage.now(40_000, LinkFault::Hold.at(node)),
            Self::Pause => {
                let is_at_guard = stage.draw.pick(&[false, true]);
                let for_ms = stage.draw.within(ttl_ms * 3 / 2..=15 * ttl_ms);
                let pause = ProcessFault::Pause.at(node);
                // Anywhere, or between a check of leadership and the write.
                if is_at_guard {
                    stage.next(Point::Guard, for_ms, pause);
                } else {
                    stage.now(for_ms, pause);
                }
            }
            Self::StoreLoss => stage.now(1, What::Store(StoreFault::StoreLoss)),
            Self::LateGrant => {
                // The leader leaves, and comes back soon, so that there is a candidate to take
                // over.
                stage.now(ttl_ms, ProcessFault::Leave.at(node));
                let for_ms = stage.draw.within(ttl_ms * 3 / 2..=10 * ttl_ms);
                stage.next(Point::Grant, for_ms, LinkFault::Hold.at(node));
            }
            Self::StoreClockStep => {
                stage.now(0, What::Store(StoreFault::StoreClockStep { by_ms: 30_000 }));
            }
            Self::Crash => stage.now(for_good, ProcessFault::Crash { power: false }.at(node)),
            Self::PowerLoss => stage.now(for_good, ProcessFault::Crash { power: true }.at(node)),
            Self::Handover => stage.now(for_good, ProcessFault::Leave.at(node)),
            Self::LateMessages => {
                let (permille, most_ms) = (200, 2 * ttl_ms);
                stage.now(10 * ttl_ms, LinkFault::Latency { most_ms }.at(node));
                stage.now(10 * ttl_ms, LinkFault::Duplicate { permille, most_ms }.at(node));
                stage.now(10 * ttl_ms, LinkFault::Reorder { permille, most_ms }.at(node));
            }
        }
    }
}

/// A plan of so many nodes with the default settings of that TTL, and timers that fire at different
/// times.
///
/// Leaders write every tenth of a second, and end at once when their tenure does: a handover
/// measures the election, not the work.
fn healthy(seed: u64, ttl_ms: u64, nodes: u64, drifts: bool) -> Result<Plan, EngineError> {
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
    let mut plan = Plan {
        store: StorePlan { clock_rate_ppm: rate(u64::MAX), ..StorePlan::default() },
        latency_us: (50, 500),
        work: Work { every_ms: 100, takes_us: 100, reads_first: false },
        ..Plan::quiet(seed, settings, (0..nodes).map(node).collect())
    };
    // All nodes start at once, and would send all their requests at once: each is paused for a
    // moment around its first renewal.
    let interval = settings.renew_interval_ms;
    for node in 0..plan.nodes.len() {
        let late = Draw::new(seed, "compare step", node as u64).within(1..=interval);
        plan.at(interval * 9 / 10, interval / 10 + late, ProcessFault::Pause.at(Some(node)));
    }
    Ok(plan)
}
