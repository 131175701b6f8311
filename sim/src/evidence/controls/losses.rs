//! Controls beyond the assumptions about a store that loses data, or fails over.

use super::{Control, Stage};
use crate::judge::properties::PropertyName;
use crate::plan::{Assumption, LinkFault, ProcessFault, StoreFault, What};

/// A loss of data without a quarantine.
pub(super) const NO_QUARANTINE: Control = Control {
    name: "no-quarantine",
    about: "the store loses its data, is trusted to have lost nothing, and grants a new candidate at once",
    beyond: &[Assumption::LossIsFinal],
    must_break: &[PropertyName::SINGLE_LEADER, PropertyName::STORE_LOSS_QUARANTINE],
    // Both leaders write, in any order.
    may_break: &[PropertyName::UNFENCED_IN_ORDER],
    faults: |stage| {
        stage.plan.store.trust_empty_store = true;
        let for_ms = outage_ms(stage);
        stage.now(for_ms, What::Store(StoreFault::StoreLoss));
        only_strangers_ask(stage, for_ms);
    },
};

/// A TTL that the other candidates' quarantine does not cover.
pub(super) const UNDECLARED_TTL: Control = Control {
    name: "undeclared-ttl",
    about: "the store loses its data, and candidates whose quarantine is shorter than the leader's TTL ask it",
    beyond: &[Assumption::LossIsFinal],
    // Each of the others waits for its own quarantine.
    must_break: &[PropertyName::SINGLE_LEADER],
    // Both leaders write, in any order; and if the first one steps down, its work drains while the
    // next leads.
    may_break: &[PropertyName::UNFENCED_IN_ORDER, PropertyName::DRAINED_BEFORE_THE_NEXT],
    faults: |stage| {
        // A candidate that has seen the leader's record, or was refused because of it, knows the
        // longer TTL.
        let short = stage.plan.settings.in_parts(5);
        for node in &mut stage.plan.nodes[1..] {
            node.settings = Some(short);
        }
        let for_ms = outage_ms(stage);
        stage.now(for_ms, What::Store(StoreFault::StoreLoss));
        only_strangers_ask(stage, for_ms);
    },
};

/// The store's wall clock is behind the last grant that it lost.
pub(super) const TOKEN_CLOCK: Control = Control {
    name: "token-clock",
    about: "the store loses its data, and its wall clock is put back to before the last grant",
    beyond: &[Assumption::WallClock],
    must_break: &[PropertyName::TOKEN_MONOTONIC, PropertyName::LEADS_IN_ORDER],
    // Fenced writes hold: the resource knows the first tenure, and refuses all writes of the next.
    may_break: &[],
    faults: |stage| {
        let for_ms = outage_ms(stage);
        // To a time before the first grant.
        let by_ms = -(stage.at_ms + stage.ttls(1, 10)).cast_signed();
        if stage.draw.chance(1, 2) {
            stage.now(for_ms, What::Store(StoreFault::StoreLoss));
            stage.now(0, What::Store(StoreFault::StoreClockStep { by_ms }));
        } else {
            let back = StoreFault::Failover { lag_ms: stage.at_ms, clock_ahead_ms: by_ms };
            stage.now(for_ms, What::Store(back));
        }
        only_strangers_ask(stage, for_ms);
    },
};

/// A cut-off primary continues to acknowledge.
pub(super) const OLD_PRIMARY: Control = Control {
    name: "old-primary",
    about: "a replica is promoted, and the old primary continues to acknowledge the leader's requests",
    // The grants of two servers have no common order.
    beyond: &[Assumption::LossIsFinal, Assumption::WallClock],
    must_break: &[PropertyName::SINGLE_LEADER],
    // Both leaders write, in any order.
    may_break: &[PropertyName::UNFENCED_IN_ORDER],
    faults: |stage| {
        // Long enough for the lease and the quarantine to end at the new primary.
        let for_ms = stage.ttls(5, 7);
        stage.now(for_ms, LinkFault::OldPrimary.at(None));
    },
};

/// The duration of a short outage: the leader's claim lasts longer.
fn outage_ms(stage: &mut Stage) -> u64 {
    let most = stage.ttl_ms() / 10;
    stage.draw.within(1..=most)
}

/// A candidate that knows an earlier tenure proves to the store that it lost data, and its token is
/// a lower bound for the next one. So only candidates that know none may ask: the leader is cut
/// off, and the others are down from before the first grant until after the loss.
fn only_strangers_ask(stage: &mut Stage, outage_ms: u64) {
    let (loss_ms, ttl_ms) = (stage.at_ms, stage.ttl_ms());
    let for_ms = stage.ttls(2, 3);
    stage.now(for_ms, LinkFault::Partition.at(Some(0)));
    for node in 1..stage.plan.nodes.len() {
        let power = stage.draw.chance(1, 2);
        let back_ms = loss_ms + outage_ms + stage.draw.within(1..=ttl_ms / 4);
        stage.plan.at(0, back_ms, ProcessFault::Crash { power }.at(Some(node)));
    }
}
