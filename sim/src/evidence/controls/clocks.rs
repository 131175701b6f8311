//! Controls beyond A2: clocks whose error exceeds the drift bound.
//!
//! All of them make a claim outlive a watch of its lease, and nothing else: the store still keeps
//! its contract, so tokens increase, and a resource that checks them is not misled.

use super::{Control, Stage};
use crate::judge::properties::PropertyName;
use crate::plan::clock::PPM;
use crate::plan::{Assumption, ClockFault, LinkFault, NodePlan, ProcessFault, Settings};

/// Properties that two leaders at once break too, if the new leader's clock is wrong: work of the
/// first one still drains, and both write in any order.
const TWO_LEADERS: &[PropertyName] =
    &[PropertyName::DRAINED_BEFORE_THE_NEXT, PropertyName::UNFENCED_IN_ORDER];

/// The same properties if the leader's clock is wrong: its work also drains too long, it renews too
/// late, and it asks too late before it leads.
const OVERSTAYS: &[PropertyName] = &[
    PropertyName::MARGIN_KEPT,
    PropertyName::FAIL_CLOSED,
    PropertyName::DRAINED_BEFORE_THE_NEXT,
    PropertyName::UNFENCED_IN_ORDER,
    PropertyName::DRAINS_WITHIN_BOUNDS,
    PropertyName::RENEWS_IN_TIME,
    PropertyName::ASKS_IN_TIME,
];

/// Rates beyond the drift bound.
pub(super) const DRIFT: Control = Control {
    name: "drift",
    about: "the leader's clock is too slow and a waiting candidate's too fast, by more than the claim's validity allows",
    beyond: &[Assumption::CandidateClocks, Assumption::Waits],
    must_break: &[PropertyName::SINGLE_LEADER],
    may_break: OVERSTAYS,
    faults: |stage| {
        let least = frontier_ppm(&stage.plan.settings);
        let rate =
            stage.draw.within(least * 11 / 10 + 5_000..=least * 3 / 2 + 10_000).cast_signed();
        // One candidate's clock is as fast as the others' are slow. It joins when another one
        // leads, and looks often, so that it is soon told of a renewal.
        stage.plan.nodes.iter_mut().for_each(|node| node.clock_rate_ppm = -rate);
        let often = Settings { poll_bound_ms: stage.ttl_ms() / 200, ..stage.plan.settings };
        stage.plan.nodes[0] =
            NodePlan { clock_rate_ppm: rate, settings: Some(often), ..stage.plan.nodes[0] };
        let joins_ms = stage.at_ms - stage.ttl_ms();
        stage.plan.at(0, joins_ms, ProcessFault::Leave.at(Some(0)));
        // A lease does not end while it is renewed.
        let for_ms = stage.ttls(3, 4);
        stage.now(for_ms, LinkFault::Partition.at(None));
    },
};

/// The rate, in ppm, at which a claim lasts as long as its lease if the leader is slow by it and a
/// waiting candidate fast by it: `v/(1-d) = 1/(1+d)`, where `v` is the validity in parts of the
/// TTL. Without a stop margin this is the drift bound itself.
fn frontier_ppm(settings: &Settings) -> u64 {
    let rho = u64::from(settings.drift_ppm);
    let countable = PPM * (PPM - rho) / (PPM + rho);
    let validity = countable - settings.stop_margin_ms * PPM / settings.ttl_ms;
    PPM * (PPM - validity) / (PPM + validity)
}

/// A waiting candidate's clock jumps forward.
pub(super) const WATCHER_STEP: Control = Control {
    name: "watcher-step",
    about: "the clocks of waiting candidates are put forward by more than a TTL while the leader is cut off",
    // A clock that is put forward shortens the time for an effect too.
    beyond: &[Assumption::Waits, Assumption::PromptEffects],
    must_break: &[PropertyName::SINGLE_LEADER],
    may_break: TWO_LEADERS,
    faults: |stage| {
        the_first_leads(stage);
        let for_ms = stage.ttls(2, 3);
        // A leader with a connection learns that it was superseded.
        stage.now(for_ms, LinkFault::Partition.at(Some(0)));
        let by_ms = stage.ttls(1, 3).cast_signed();
        for node in 1..stage.plan.nodes.len() {
            stage.now(0, ClockFault::ClockStep { by_ms }.at(Some(node)));
        }
    },
};

/// A waiting candidate's clock is too fast.
pub(super) const WATCHER_FAST: Control = Control {
    name: "watcher-fast",
    about: "the clocks of waiting candidates are far too fast, and the leader is cut off",
    beyond: &[Assumption::Waits],
    must_break: &[PropertyName::SINGLE_LEADER],
    may_break: TWO_LEADERS,
    faults: |stage| {
        the_first_leads(stage);
        let rate = stage.draw.within(PPM * 4 / 10..=PPM / 2).cast_signed();
        stage.plan.nodes[1..].iter_mut().for_each(|node| node.clock_rate_ppm = rate);
        let for_ms = stage.ttls(2, 3);
        stage.now(for_ms, LinkFault::Partition.at(Some(0)));
    },
};

/// All others join later than the first candidate.
fn the_first_leads(stage: &mut Stage) {
    let late_ms = stage.at_ms / 2;
    for node in 1..stage.plan.nodes.len() {
        stage.plan.at(0, late_ms, ProcessFault::Leave.at(Some(node)));
    }
}

/// A candidate's clock jumps back.
pub(super) const BOOT_STEP: Control = Control {
    name: "boot-step",
    about: "the leader's clock is put back by more than a TTL: its next renewal comes too late",
    beyond: &[Assumption::CandidateClocks],
    must_break: &[PropertyName::SINGLE_LEADER],
    may_break: OVERSTAYS,
    faults: |stage| {
        let by_ms = stage.ttls(1, 4).cast_signed();
        stage.now(0, ClockFault::ClockStep { by_ms: -by_ms }.at(None));
    },
};

/// A machine is stopped with all its clocks.
pub(super) const VM_STOP: Control = Control {
    name: "vm-stop",
    about: "the leader's machine is stopped with all its clocks for more than a TTL",
    // The stop may come between a check and its effect.
    beyond: &[Assumption::CandidateClocks, Assumption::PromptEffects],
    must_break: &[PropertyName::SINGLE_LEADER],
    may_break: OVERSTAYS,
    faults: |stage| {
        let for_ms = stage.ttls(2, 4);
        stage.now(for_ms, ProcessFault::VmStop.at(None));
    },
};

/// A machine is restored from a snapshot.
pub(super) const VM_RESTORE: Control = Control {
    name: "vm-restore",
    about: "the leader's machine is restored from a snapshot once another candidate leads",
    beyond: &[Assumption::CandidateClocks, Assumption::OneMemory, Assumption::PromptEffects],
    // It leads on under a token below the next one.
    must_break: &[PropertyName::SINGLE_LEADER, PropertyName::LEADS_IN_ORDER],
    may_break: &[
        PropertyName::MARGIN_KEPT,
        PropertyName::FAIL_CLOSED,
        PropertyName::DRAINED_BEFORE_THE_NEXT,
        PropertyName::DRAINS_WITHIN_BOUNDS,
        PropertyName::UNFENCED_IN_ORDER,
        PropertyName::RENEWS_IN_TIME,
        // It has forgotten that it waits for the lease, and renews.
        PropertyName::ASKS_IN_TIME,
        // The process has forgotten that its tenure is over: it leads under it again, and ends it
        // again.
        PropertyName::NO_RESURRECTION,
        PropertyName::ONE_STEP_DOWN_PER_ELECTION,
    ],
    faults: |stage| {
        let for_ms = stage.ttls(3, 4);
        stage.now(for_ms, ProcessFault::VmRestore.at(None));
        // So that another candidate leads by then.
        stage.now(for_ms, LinkFault::Partition.at(None));
    },
};
