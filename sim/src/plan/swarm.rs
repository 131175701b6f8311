//! Plans drawn from a seed. Each seed first draws which kinds of faults exist at all in its run: with
//! everything at once, some bugs would always be hidden behind others.

use super::{Fault, FaultKind, NodePlan, Plan, Settings, Span};
use crate::draw::Draw;

/// Up to that many faults of each kind that the run has.
const FAULTS_MOST: u64 = 4;
/// How many TTLs long things go wrong.
const TROUBLE_TTLS: u64 = 8;

/// The plan of a seed, from the kinds of faults allowed.
pub fn swarm(seed: u64, allowed: &[FaultKind]) -> Plan {
    let mut draw = Draw::new(seed, "swarm", 0);
    let kinds: Vec<FaultKind> =
        allowed.iter().copied().filter(|kind| is_drawn(seed, *kind)).collect();
    let settings = settings(seed);
    let nodes = usize::try_from(draw.within(2..=5)).unwrap_or(2);
    let calm_from_ms = settings.ttl_ms * TROUBLE_TTLS;
    let drifts = kinds.contains(&FaultKind::Drift);
    let mut faults: Vec<Fault> = kinds
        .iter()
        .flat_map(|kind| of_kind(seed, *kind, nodes, settings.ttl_ms, calm_from_ms))
        .collect();
    faults.sort_by_key(begins);
    let latency_least = draw.within(0..=2);
    Plan {
        seed,
        nodes: (0..nodes).map(|node| clock(seed, node, settings.drift_ppm, drifts)).collect(),
        store_rate_ppm: if drifts { rate(seed, u64::MAX, settings.drift_ppm) } else { 0 },
        settings,
        latency_ms: (latency_least, latency_least + draw.within(0..=6)),
        work_every_ms: draw.pick(&[20, 60, settings.ttl_ms / 4, settings.ttl_ms / 2]),
        faults,
        calm_from_ms,
    }
}

fn is_drawn(seed: u64, kind: FaultKind) -> bool {
    Draw::new(seed, "kinds", kind as u64).chance(2, 5)
}

/// Up to the edges of what is valid: no stop margin, the widest drift bound, the longest timeouts.
fn settings(seed: u64) -> Settings {
    let mut draw = Draw::new(seed, "settings", 0);
    let ttl_ms = draw.pick(&[1_000, 1_200, 1_500, 2_000, 3_000]);
    let stop_margin_ms = draw.pick(&[0, ttl_ms / 50, ttl_ms / 10, ttl_ms / 5]);
    let drift_ppm = draw.pick(&[1_000, 10_000, 30_000, 100_000]);
    let mut settings = Settings {
        ttl_ms,
        renew_interval_ms: draw.pick(&[ttl_ms / 3, ttl_ms / 4, ttl_ms / 6]),
        request_timeout_ms: ttl_ms / 2,
        stop_margin_ms,
        retry_least_ms: ttl_ms / 150,
        retry_most_ms: ttl_ms / draw.pick(&[15, 30]),
        drain_bound_ms: draw.pick(&[ttl_ms / 4, ttl_ms, 2 * ttl_ms]),
        drift_ppm,
    };
    // The longest request timeout that still holds, or half of it.
    while settings.request_timeout_ms > 1 && settings.config().is_err() {
        settings.request_timeout_ms -= 1;
    }
    settings.request_timeout_ms /= draw.pick(&[1, 1, 2]);
    settings
}

fn clock(seed: u64, node: usize, drift_ppm: u32, drifts: bool) -> NodePlan {
    let id = node as u64;
    let mut draw = Draw::new(seed, "clock offset", id);
    NodePlan {
        clock_offset_ms: draw.within(1_000..=10_000_000),
        clock_rate_ppm: if drifts { rate(seed, id, drift_ppm) } else { 0 },
    }
}

/// Often at the very bound, where there is least room.
fn rate(seed: u64, id: u64, drift_ppm: u32) -> i64 {
    let mut draw = Draw::new(seed, "clock rate", id);
    let bound = i64::from(drift_ppm);
    let between = draw.within(0..=2 * u64::from(drift_ppm)).cast_signed() - bound;
    draw.pick(&[-bound, bound, between])
}

fn of_kind(seed: u64, kind: FaultKind, nodes: usize, ttl_ms: u64, until_ms: u64) -> Vec<Fault> {
    let stream = kind.name();
    let count = Draw::new(seed, stream, u64::MAX).within(1..=FAULTS_MOST);
    (0..count)
        .filter_map(|id| one(Draw::new(seed, stream, id), kind, nodes, ttl_ms, until_ms))
        .collect()
}

fn one(mut draw: Draw, kind: FaultKind, nodes: usize, ttl_ms: u64, until_ms: u64) -> Option<Fault> {
    let last = nodes as u64 - 1;
    let node = usize::try_from(draw.within(0..=last)).unwrap_or(0);
    let at_ms = draw.within(1..=until_ms - 1);
    let for_ms = draw.within(1..=2 * ttl_ms);
    let span = Span { from_ms: at_ms, to_ms: (at_ms + for_ms).min(until_ms) };
    Some(match kind {
        FaultKind::Partition => Fault::Partition { node, span },
        FaultKind::OneWay => Fault::OneWay { node, to_store: draw.chance(1, 2), span },
        FaultKind::Hold => Fault::Hold { node, span },
        FaultKind::Latency => Fault::Latency { node, most_ms: draw.within(20..=ttl_ms / 2), span },
        FaultKind::Cut => Fault::Cut { node, at_ms },
        FaultKind::Pause => Fault::Pause { node, span },
        FaultKind::PauseAtGuard => {
            Fault::PauseAtGuard { node, from_ms: at_ms, for_ms: span.to_ms - at_ms }
        }
        FaultKind::PauseAtSend => {
            Fault::PauseAtSend { node, from_ms: at_ms, for_ms: span.to_ms - at_ms }
        }
        FaultKind::PauseAfterSend => {
            Fault::PauseAfterSend { node, from_ms: at_ms, for_ms: span.to_ms - at_ms }
        }
        FaultKind::ClockStep => {
            Fault::ClockStep { node, at_ms, forward_ms: draw.within(1..=2 * ttl_ms) }
        }
        FaultKind::Crash => Fault::Crash { node, power: draw.chance(1, 2), span },
        FaultKind::Resign => Fault::Resign { node, at_ms },
        FaultKind::StoreCrash => Fault::StoreCrash { span: short(span, ttl_ms) },
        FaultKind::StoreLoss => Fault::StoreLoss { span: short(span, ttl_ms) },
        FaultKind::StoreStall => Fault::StoreStall { span: short(span, ttl_ms) },
        FaultKind::Drift => return None,
    })
}

/// A store that is away for long hides everything else.
fn short(span: Span, ttl_ms: u64) -> Span {
    Span { to_ms: span.to_ms.min(span.from_ms + ttl_ms / 2), ..span }
}

fn begins(fault: &Fault) -> u64 {
    match *fault {
        Fault::Partition { span, .. }
        | Fault::OneWay { span, .. }
        | Fault::Hold { span, .. }
        | Fault::Latency { span, .. }
        | Fault::Pause { span, .. }
        | Fault::Crash { span, .. }
        | Fault::StoreCrash { span }
        | Fault::StoreLoss { span }
        | Fault::StoreStall { span } => span.from_ms,
        Fault::Cut { at_ms, .. } | Fault::ClockStep { at_ms, .. } | Fault::Resign { at_ms, .. } => {
            at_ms
        }
        Fault::PauseAtGuard { from_ms, .. }
        | Fault::PauseAtSend { from_ms, .. }
        | Fault::PauseAfterSend { from_ms, .. } => from_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_gives_valid_settings_and_faults_within_the_run() {
        for seed in 0..5_000 {
            let plan = swarm(seed, &FaultKind::ALL);
            plan.settings.config().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert!(plan.faults.iter().all(|fault| begins(fault) < plan.calm_from_ms));
        }
    }
}
