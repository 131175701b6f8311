//! The common part of the plans of all controls: a cluster of some size, some valid settings, and
//! times without faults before and after the control's own, so that no other fault can be the
//! cause.

use crate::evidence::stage::Stage;
use crate::plan::draw::Draw;
use crate::plan::{NodePlan, Plan, Settings, StorePlan, Work};

/// The time at which the first leader has waited out its quarantine and leads, in TTLs.
const SETTLED: u64 = 5;
/// The time within which the faults begin, in TTLs.
const SPREAD: u64 = 3;
/// The time at which all faults and their consequences are over, in TTLs.
const QUIET_AGAIN: u64 = 24;

/// A cluster without faults. The control's name keys the random draws, so that controls don't share
/// their runs.
pub(super) fn healthy(control: &str, seed: u64) -> Stage {
    let mut draw = Draw::new(seed, control, 0);
    let settings = settings(&mut draw);
    let ttl_ms = settings.ttl_ms;
    let count = draw.within(2..=5);
    let node = |_| NodePlan {
        clock_offset_ms: draw.within(1_000..=10_000_000),
        clock_rate_ppm: within_the_bound(&mut draw, settings),
        settings: None,
    };
    let nodes = (0..count).map(node).collect();
    let least_us = draw.pick(&[0, 50, 500]);
    let clock_rate_ppm = within_the_bound(&mut draw, settings);
    let plan = Plan {
        store: StorePlan { clock_rate_ppm, ..StorePlan::default() },
        latency_us: (least_us, least_us + draw.pick(&[0, 200, 2_000])),
        work: Work {
            every_ms: draw.pick(&[ttl_ms / 50, ttl_ms / 16]),
            takes_us: 0,
            reads_first: false,
        },
        calm_from_ms: QUIET_AGAIN * ttl_ms,
        handover: draw.chance(1, 2),
        ..Plan::quiet(seed, settings, nodes)
    };
    // When there has been a leader for a while.
    let at_ms = draw.within(SETTLED * ttl_ms..=(SETTLED + SPREAD) * ttl_ms);
    Stage { plan, at_ms, draw }
}

fn settings(draw: &mut Draw) -> Settings {
    let ttl_ms = draw.pick(&[1_000, 3_000, 5_000, 15_000, 30_000]);
    Settings {
        ttl_ms,
        renew_interval_ms: draw.pick(&[ttl_ms / 3, ttl_ms / 4]),
        request_timeout_ms: ttl_ms / 20,
        stop_margin_ms: draw.pick(&[0, ttl_ms / 50, ttl_ms / 10, ttl_ms / 5]),
        retry_least_ms: ttl_ms / 150,
        retry_most_ms: ttl_ms / 30,
        poll_bound_ms: draw.pick(&[ttl_ms, ttl_ms / 2]),
        drain_bound_ms: draw.pick(&[ttl_ms / 4, ttl_ms]),
        quarantine_ms: ttl_ms * draw.pick(&[1, 1, 2]),
        granularity_ns: draw.pick(&[1, 1_000_000]),
        drift_ppm: draw.pick(&[1_000, 10_000, 30_000, 100_000]),
    }
}

fn within_the_bound(draw: &mut Draw, settings: Settings) -> i64 {
    let bound = u64::from(settings.drift_ppm);
    draw.within(0..=2 * bound).cast_signed() - bound.cast_signed()
}
