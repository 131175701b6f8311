//! Controls beyond prompt effects: a check of leadership can't bound the time after it.
//!
//! There is never more than one leader here, and every property about leads and leases holds; only
//! the writes come too late. A resource that checks tokens refuses them, if it has seen the newer
//! token by then: a new leader's reads are safe only once it has taken the resource over.

use super::{Control, Stage};
use crate::judge::properties::PropertyName;
use crate::plan::clock::PPM;
use crate::plan::{Assumption, LinkFault, Point, ProcessFault, Trigger};

/// A pause between a check and its effect.
pub(super) const UNFENCED: Control = Control {
    name: "unfenced",
    about: "the leader is paused between a check and its write until another leader has written",
    beyond: &[Assumption::PromptEffects],
    must_break: &[PropertyName::UNFENCED_IN_ORDER],
    may_break: &[],
    faults: |stage| {
        let nth = u32::try_from(stage.draw.within(1..=20)).unwrap_or(1);
        let trigger = Trigger { nth, ..Trigger::next(Point::Guard, stage.at_ms) };
        let for_ms = stage.ttls(2, 4);
        stage.plan.on(trigger, for_ms, ProcessFault::Pause.at(None));
    },
};

/// Effects that take longer than the stop margin.
pub(super) const NO_MARGIN: Control = Control {
    name: "no-margin",
    about: "writes take longer than the time from the end of a claim to the next tenure's first write",
    beyond: &[Assumption::PromptEffects],
    must_break: &[PropertyName::UNFENCED_IN_ORDER],
    may_break: &[],
    faults: slow_effects,
};

/// Leaders that read a resource before they have taken it over.
pub(super) const READS_FIRST: Control = Control {
    name: "reads-first",
    about: "a new leader reads before the resource has seen its token, while an old write is under way",
    beyond: &[Assumption::PromptEffects, Assumption::TakeOverFirst],
    must_break: &[PropertyName::FENCED_READS],
    // A resource that compares no tokens accepts the late writes, too.
    may_break: &[PropertyName::UNFENCED_IN_ORDER],
    faults: |stage| {
        slow_effects(stage);
        stage.plan.work.reads_first = true;
    },
};

/// A leader is cut off until its claim ends, with writes under way that arrive in the next tenure.
fn slow_effects(stage: &mut Stage) {
    let settings = stage.plan.settings;
    // A claim ends before its lease by the stop margin, and by the error of both clocks.
    let gap_us = settings.stop_margin_ms * 1_000
        + settings.ttl_ms * 1_000 * 2 * u64::from(settings.drift_ppm) / PPM;
    let ttl_us = settings.ttl_ms * 1_000;
    stage.plan.work.takes_us = gap_us + stage.draw.within(ttl_us / 4..=ttl_us);
    // So that claims end by themselves, with writes under way.
    let for_ms = stage.ttls(2, 3);
    stage.now(for_ms, LinkFault::Partition.at(None));
}
