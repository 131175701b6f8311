//! The row of a kind of fault: all that is known of it beside its magnitudes.

use std::ops::RangeInclusive;

use super::FaultKind;
use crate::plan::Assumption;

/// The row of a kind. What is not said of a kind is as in [`Row::lasting`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Its name in plans, on the command line, and in reports.
    pub(crate) name: &'static str,
    /// A short description.
    pub(crate) about: &'static str,
    pub(crate) time: Time,
    /// Its duration in drawn plans, in milliseconds, at a TTL in milliseconds.
    pub(crate) drawn_for: fn(u64) -> RangeInclusive<u64>,
    pub(crate) class: Class,
    /// True if it does nothing while the process of its node is down.
    pub(crate) needs_a_process: bool,
    /// The reason the model engine lacks it.
    pub(crate) not_in_model: Option<&'static str>,
    /// The reason the turmoil engine lacks it.
    pub(crate) not_in_turmoil: Option<&'static str>,
    pub(crate) real: Real,
    /// A simpler kind, which a failing plan may have instead.
    pub(crate) plainer: Option<FaultKind>,
    /// The assumptions that a fault of this kind breaks, whatever else the plan has.
    pub(crate) breaks: &'static [Assumption],
    /// The assumptions that it breaks in some plans, and in which.
    pub(crate) may_break: Option<(&'static [Assumption], &'static str)>,
    pub(crate) shown_by: Option<Shown>,
}

/// A fault's beginning, end and time of effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// It happens at one moment, and has no duration.
    Moment,
    /// It has a duration, and its effect in between.
    Lasts,
    /// It has a duration, and its effect at the end: nothing is felt of it before, and it is over
    /// then.
    AtItsEnd,
    /// It is there for the whole run: it neither begins nor ends, and is no fault among others.
    WholeRun,
}

/// The effect of a fault on which promises or conditions depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Other,
    /// No message passes in one direction at least.
    CutsOff,
    /// The process does not run.
    Pauses,
    /// Another server takes the store's place, with all data.
    ReplacesTheStore,
    /// The store has lost acknowledged writes, or is another one.
    LosesData,
}

/// A kind's support in the engine with real servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Real {
    Has,
    /// At stores that have what it needs; the reason why the others do not have it.
    Needs(Need, &'static str),
    /// It does not, and the reason.
    Lacks(&'static str),
}

/// A fault's need of a real store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A network between candidates and the store.
    Network,
    /// A replica that can be promoted.
    Replica,
    /// A server whose clock can be set.
    Clock,
    /// An operator who can do the act of which it consists.
    Act,
}

/// The condition that shows it: a campaign that has not met it is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// It had its effect on a node that led, or on the store while a node led.
    UnderALeader(&'static str),
    /// It had its effect.
    ByItsEffect(&'static str),
}

impl Shown {
    /// The name of the condition.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::UnderALeader(name) | Self::ByItsEffect(name) => name,
        }
    }
}

impl Row {
    /// A fault with a duration, of up to two TTLs in drawn plans, that every engine has, breaks
    /// nothing, and is simple.
    pub(super) const fn lasting(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            time: Time::Lasts,
            drawn_for: |ttl_ms| 1..=2 * ttl_ms,
            class: Class::Other,
            needs_a_process: false,
            not_in_model: None,
            not_in_turmoil: None,
            real: Real::Has,
            plainer: None,
            breaks: &[],
            may_break: None,
            shown_by: None,
        }
    }

    /// The same without a duration.
    pub(super) const fn moment(name: &'static str, about: &'static str) -> Self {
        Self { time: Time::Moment, ..Self::lasting(name, about) }
    }

    pub(super) const fn at_its_end(self) -> Self {
        Self { time: Time::AtItsEnd, ..self }
    }

    pub(super) const fn for_the_whole_run(self) -> Self {
        Self { time: Time::WholeRun, ..self }
    }

    pub(super) const fn drawn_for(self, drawn_for: fn(u64) -> RangeInclusive<u64>) -> Self {
        Self { drawn_for, ..self }
    }

    pub(super) const fn cuts_off(self) -> Self {
        Self { class: Class::CutsOff, ..self }
    }

    /// The process does not run, so that an effect may come long after its check.
    pub(super) const fn pauses(self) -> Self {
        Self { class: Class::Pauses, breaks: &[Assumption::PromptEffects], ..self }
    }

    pub(super) const fn replaces_the_store(self) -> Self {
        Self { class: Class::ReplacesTheStore, ..self }
    }

    pub(super) const fn loses_data(self) -> Self {
        Self { class: Class::LosesData, ..self }
    }

    pub(super) const fn needs_a_process(self) -> Self {
        Self { needs_a_process: true, ..self }
    }

    pub(super) const fn not_in_model(self, why: &'static str) -> Self {
        Self { not_in_model: Some(why), ..self }
    }

    pub(super) const fn not_in_turmoil(self, why: &'static str) -> Self {
        Self { not_in_turmoil: Some(why), ..self }
    }

    pub(super) const fn not_in_real(self, why: &'static str) -> Self {
        Self { real: Real::Lacks(why), ..self }
    }

    /// In the engine with real servers it needs that; the reason why stores without it do not have
    /// it.
    pub(super) const fn real_needs(self, need: Need, why: &'static str) -> Self {
        Self { real: Real::Needs(need, why), ..self }
    }

    pub(super) const fn plainer(self, kind: FaultKind) -> Self {
        Self { plainer: Some(kind), ..self }
    }

    pub(super) const fn breaks(self, assumptions: &'static [Assumption]) -> Self {
        Self { breaks: assumptions, ..self }
    }

    pub(super) const fn may_break(
        self,
        assumptions: &'static [Assumption],
        when: &'static str,
    ) -> Self {
        Self { may_break: Some((assumptions, when)), ..self }
    }

    pub(super) const fn shown_under_a_leader(self, condition: &'static str) -> Self {
        Self { shown_by: Some(Shown::UnderALeader(condition)), ..self }
    }

    pub(super) const fn shown_by_its_effect(self, condition: &'static str) -> Self {
        Self { shown_by: Some(Shown::ByItsEffect(condition)), ..self }
    }
}
