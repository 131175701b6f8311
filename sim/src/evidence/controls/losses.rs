//! Controls beyond what promises assume of a store that loses data, or fails over.

use super::Control;
use super::stage::Stage;
use crate::plan::{Assumption, Plan, What};

/// A loss of data without a quarantine.
pub(super) const NO_QUARANTINE: Control = Control {
    name: "no-quarantine",
    about: "the store loses its data, is trusted to have lost nothing, and grants a new candidate at once",
    beyond: &[Assumption::LossIsFinal],
    must_break: &["single-leader", "store-loss-quarantine"],
    // Both leaders write, in any order.
    may_break: &["unfenced-in-order"],
    plan: no_quarantine,
};

fn no_quarantine(seed: u64) -> Plan {
    let mut stage = Stage::new(NO_QUARANTINE.name, seed);
    stage.plan.store.trust_empty_store = true;
    let (at_ms, for_ms) = (stage.at_ms, outage_ms(&mut stage));
    stage.at(at_ms, for_ms, What::StoreLoss);
    only_strangers_ask(&mut stage, for_ms);
    stage.plan
}

/// Another TTL than the one that the others' quarantine covers.
pub(super) const UNDECLARED_TTL: Control = Control {
    name: "undeclared-ttl",
    about: "the store loses its data, and candidates whose quarantine is shorter than the leader's TTL ask it",
    beyond: &[Assumption::LossIsFinal],
    // Each of the others waits for as long as it declared.
    must_break: &["single-leader"],
    // Both leaders write, in any order; and where the first one steps down, its work drains beside the next.
    may_break: &["unfenced-in-order", "drained-before-the-next"],
    plan: undeclared_ttl,
};

fn undeclared_ttl(seed: u64) -> Plan {
    let mut stage = Stage::new(UNDECLARED_TTL.name, seed);
    // What has seen the leader's record, or is refused for it, knows of the longer TTL.
    let short = stage.plan.settings.in_parts(5);
    for node in &mut stage.plan.nodes[1..] {
        node.settings = Some(short);
    }
    let (at_ms, for_ms) = (stage.at_ms, outage_ms(&mut stage));
    stage.at(at_ms, for_ms, What::StoreLoss);
    only_strangers_ask(&mut stage, for_ms);
    stage.plan
}

/// The store's wall clock is behind the last grant that it lost.
pub(super) const TOKEN_CLOCK: Control = Control {
    name: "token-clock",
    about: "the store loses its data, and its wall clock is put back to before the last grant",
    // A store's clock that goes back makes every wait longer.
    beyond: &[Assumption::Waits, Assumption::WallClock],
    must_break: &["token-monotonic"],
    // Not even fenced writes: the resource has heard of the first tenure, and refuses all of the next.
    may_break: &[],
    plan: token_clock,
};

fn token_clock(seed: u64) -> Plan {
    let mut stage = Stage::new(TOKEN_CLOCK.name, seed);
    let (at_ms, for_ms) = (stage.at_ms, outage_ms(&mut stage));
    // To before anything was granted.
    let by_ms = -(at_ms + stage.ttls(1, 10)).cast_signed();
    if stage.draw.chance(1, 2) {
        stage.at(at_ms, for_ms, What::StoreLoss);
        stage.at(at_ms, 0, What::StoreClockStep { by_ms });
    } else {
        stage.at(at_ms, for_ms, What::Failover { lag_ms: at_ms, clock_ahead_ms: by_ms });
    }
    only_strangers_ask(&mut stage, for_ms);
    stage.plan
}

/// A cut-off primary goes on acknowledging.
pub(super) const OLD_PRIMARY: Control = Control {
    name: "old-primary",
    about: "a replica is promoted, and the old primary goes on acknowledging what the leader asks",
    // Two servers grant in an order that is nobody's.
    beyond: &[Assumption::LossIsFinal, Assumption::WallClock],
    must_break: &["single-leader"],
    // Both leaders write, in any order.
    may_break: &["unfenced-in-order"],
    plan: old_primary,
};

fn old_primary(seed: u64) -> Plan {
    let mut stage = Stage::new(OLD_PRIMARY.name, seed);
    // Long enough for the lease to end at the new one, and for its quarantine to be waited out.
    let (at_ms, for_ms) = (stage.at_ms, stage.ttls(5, 7));
    stage.at(at_ms, for_ms, What::OldPrimary { node: None });
    stage.plan
}

/// A short one: the claim of whoever leads goes on for longer.
fn outage_ms(stage: &mut Stage) -> u64 {
    let most = stage.ttl_ms() / 10;
    stage.draw.within(1..=most)
}

/// Whoever knows of an earlier tenure proves to the store that it lost data, and its token is a floor for
/// the next one. So only candidates that know of none may ask: the leader is cut off, and the others are
/// away from before the first grant until after the loss.
fn only_strangers_ask(stage: &mut Stage, outage_ms: u64) {
    let (loss_ms, ttl_ms) = (stage.at_ms, stage.ttl_ms());
    let for_ms = stage.ttls(2, 3);
    stage.at(loss_ms, for_ms, What::Partition { node: Some(0) });
    for node in 1..stage.plan.nodes.len() {
        let power = stage.draw.chance(1, 2);
        let back_ms = loss_ms + outage_ms + stage.draw.within(1..=ttl_ms / 4);
        stage.at(0, back_ms, What::Crash { node: Some(node), power });
    }
}
