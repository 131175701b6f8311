//! Controls beyond prompt effects: what a check of leadership says nothing about is the time after it.
//!
//! There is never more than one leader here, and every property about leads and leases holds. It is the
//! writes that come too late, and the resource that checks tokens refuses them.

use super::Control;
use super::stage::Stage;
use crate::plan::{Assumption, Plan, Point, Trigger, What};

const MILLION: u64 = 1_000_000;

/// A pause between a check and its effect.
pub(super) const UNFENCED: Control = Control {
    name: "unfenced",
    about: "the leader stands still between a check and its write until another one has written",
    beyond: &[Assumption::PromptEffects],
    must_break: &["unfenced-in-order"],
    may_break: &[],
    plan: unfenced,
};

fn unfenced(seed: u64) -> Plan {
    let mut stage = Stage::new(UNFENCED.name, seed);
    let nth = u32::try_from(stage.draw.within(1..=20)).unwrap_or(1);
    let after_ms = stage.at_ms;
    let trigger = Trigger { point: Point::Guard, node: None, of: None, nth, after_ms };
    let for_ms = stage.ttls(2, 4);
    stage.on(trigger, for_ms, What::Pause { node: None });
    stage.plan
}

/// Effects that take longer than the stop margin.
pub(super) const NO_MARGIN: Control = Control {
    name: "no-margin",
    about: "writes take longer than from the end of a claim to the next tenure's first write",
    beyond: &[Assumption::PromptEffects],
    must_break: &["unfenced-in-order"],
    may_break: &[],
    plan: no_margin,
};

fn no_margin(seed: u64) -> Plan {
    let mut stage = Stage::new(NO_MARGIN.name, seed);
    let settings = stage.plan.settings;
    // A claim ends before its lease by the stop margin, and by what both clocks may be off.
    let gap_us = settings.stop_margin_ms * 1_000
        + settings.ttl_ms * 1_000 * 2 * u64::from(settings.drift_ppm) / MILLION;
    let ttl_us = settings.ttl_ms * 1_000;
    stage.plan.work.takes_us = gap_us + stage.draw.within(ttl_us / 4..=ttl_us);
    // So that claims end by themselves, with writes under way.
    let (at_ms, for_ms) = (stage.at_ms, stage.ttls(2, 3));
    stage.at(at_ms, for_ms, What::Partition { node: None });
    stage.plan
}
