//! The properties that must hold, one in each file, judged in true time.
//!
//! A property sees every event, and the [state](State) of the election before it. At the time of
//! every event, and just before it, a property that asks for it also sees the leaders, as
//! `is_leader()` answers on every node. A property is judged only in runs whose plan keeps the
//! assumptions that it rests on.
//!
//! The calm is the part of a run after its last fault has ended. A process is put back if its
//! machine is restored from a snapshot: it lives more than once.
//!
//! An event without an arm of its own is not relevant for that property: the `_` arms here are
//! intended. The order of events at the same instant has no meaning either.

mod answered_when_healthy;
mod asks_in_time;
mod drained_before_the_next;
mod drains_within_bounds;
mod driver_runs_on;
mod due;
mod fail_closed;
mod fenced_reads;
mod fenced_writes;
mod handover_within;
#[cfg(test)]
pub(crate) mod history;
mod judge;
mod leader_within;
mod leads_in_order;
mod leases_handed_back;
pub(crate) mod linearizable;
mod looks_within;
mod margin_kept;
mod name;
mod no_churn_when_healthy;
mod no_late_quarantine;
mod no_release_under_work;
mod no_resurrection;
mod one_step_down;
mod order;
mod own_lease_only;
mod renews_in_time;
mod resigned_at_once;
mod resigned_within;
pub(in crate::judge) mod single_leader;
mod stays_out;
mod store_loss_quarantine;
mod takeover_within;
mod terms;
mod token_monotonic;
mod told_of_the_end;
mod unfenced_in_order;

use std::time::Duration;

use super::finding::Finding;
pub use super::state::{Leader, State};
use crate::plan::{Assumption, SimTime};
use crate::trace::Event;
pub(crate) use driver_runs_on::DriverRunsOn;
pub use judge::{Judge, Violation};
pub use name::PropertyName;
pub(crate) use own_lease_only::allowed;
pub use terms::{Limits, Terms};
use terms::{on_fastest_clock, on_slowest_clock};

/// A statement that must hold in every run.
pub trait Property {
    /// Its name, and the assumptions that it rests on.
    fn about(&self) -> About;

    /// Judges deadlines: at the time of each event, before the event itself, and at the end of the
    /// run. Called only if [`About::timed`] asks for it: there are many events in a run.
    ///
    /// # Errors
    /// A deadline that was missed.
    fn in_time(&self, at: SimTime, state: &State) -> Found {
        let _ = (at, state);
        Ok(())
    }

    /// Judges the next event, before which the election is in that state.
    ///
    /// # Errors
    /// A violation.
    fn observe(&mut self, at: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        let _ = (at, event, state, tally);
        Ok(())
    }

    /// Judges the [leaders](State::leaders) at that time, paused nodes included. Called only if
    /// [`About::probed`] asks for it: there are many probes in a run.
    ///
    /// # Errors
    /// A violation.
    fn probe(&mut self, at: SimTime, state: &State, tally: &mut Tally) -> Found {
        let _ = (at, state, tally);
        Ok(())
    }

    /// Judges the end of the run.
    ///
    /// # Errors
    /// A violation.
    fn finish(&mut self, at: SimTime, tally: &mut Tally) -> Found {
        let _ = (at, tally);
        Ok(())
    }
}

/// No violation, or a description of one.
pub type Found = Result<(), Finding>;

/// The facts about a property that hold before any run.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name.
    pub name: PropertyName,
    /// The assumptions that it rests on: a run whose plan breaks one of them is not judged.
    pub rests_on: &'static [Assumption],
    has_deadlines: bool,
    probes: bool,
}

impl About {
    /// A property that rests on no assumption, has no deadlines and is not probed.
    pub const fn of(name: PropertyName) -> Self {
        Self { name, rests_on: &[], has_deadlines: false, probes: false }
    }

    /// The same, with deadlines.
    #[must_use]
    pub const fn timed(self) -> Self {
        Self { has_deadlines: true, ..self }
    }

    /// The same, resting on these assumptions.
    #[must_use]
    pub const fn resting_on(self, rests_on: &'static [Assumption]) -> Self {
        Self { rests_on, ..self }
    }

    /// The same, probed with the leaders.
    #[must_use]
    pub const fn probed(self) -> Self {
        Self { probes: true, ..self }
    }
}

/// The assumptions of a bound on a candidate's own acts: a clock that is not put back, one life, and
/// a process that runs.
const PROMPT: &[Assumption] =
    &[Assumption::CandidateClocks, Assumption::OneMemory, Assumption::Processor];

/// The number of comparisons of a property: cases in which an event could have violated it. A run
/// without any says nothing about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally(u64);

impl Tally {
    /// Counts one comparison, if there was one.
    pub fn count(&mut self, compared: bool) {
        self.0 += u64::from(compared);
    }

    /// The number so far.
    pub const fn compared(self) -> u64 {
        self.0
    }
}

/// Rows of properties: the constant of a name, the name, and the initial state.
macro_rules! properties {
    (
        $terms:ident;
        $($name:ident $text:literal $of:expr;)+
        => { $($with_name:ident $with_text:literal $with:expr;)+ }
    ) => {
        #[allow(missing_docs, reason = "each property is explained in its own file")]
        impl PropertyName {
            $(pub const $name: Self = Self::new($text);)+
            $(pub const $with_name: Self = Self::new($with_text);)+

            /// The names of this crate's properties, in the order in which they judge.
            pub const ALL: [Self; [$($text,)+ $($with_text),+].len()] =
                [$(Self::$name,)+ $(Self::$with_name),+];
        }

        /// All properties, in their initial state.
        pub fn all($terms: &Terms) -> Vec<Box<dyn Property>> {
            let mut all: Vec<Box<dyn Property>> = vec![$(Box::new($of)),+];
            if $terms.has_handles() {
                $(all.push(Box::new($with));)+
            }
            all
        }
    };
}

properties! {
    terms;
    SINGLE_LEADER "single-leader" single_leader::SingleLeader::default();
    MARGIN_KEPT "margin-kept" margin_kept::MarginKept::new(terms);
    FAIL_CLOSED "fail-closed" fail_closed::FailClosed::new(terms);
    TOKEN_MONOTONIC "token-monotonic" token_monotonic::TokenMonotonic::default();
    LEADS_IN_ORDER "leads-in-order" leads_in_order::LeadsInOrder::default();
    FENCED_WRITES "fenced-writes" fenced_writes::FencedWrites::default();
    FENCED_READS "fenced-reads" fenced_reads::FencedReads::default();
    OWN_LEASE_ONLY "own-lease-only" own_lease_only::OwnLeaseOnly::default();
    LINEARIZABLE "linearizable" linearizable::Linearizable::new(terms);
    ONE_STEP_DOWN_PER_ELECTION "one-step-down-per-election" one_step_down::OneStepDown;
    NO_RESURRECTION "no-resurrection" no_resurrection::NoResurrection::new(terms);
    NO_RELEASE_UNDER_WORK "no-release-under-work" no_release_under_work::NoReleaseUnderWork::default();
    DRAINED_BEFORE_THE_NEXT "drained-before-the-next" drained_before_the_next::DrainedBeforeTheNext::default();
    DRAINS_WITHIN_BOUNDS "drains-within-bounds" drains_within_bounds::DrainsWithinBounds::new(terms);
    LEASES_HANDED_BACK "leases-handed-back" leases_handed_back::LeasesHandedBack::new(terms);
    UNFENCED_IN_ORDER "unfenced-in-order" unfenced_in_order::UnfencedInOrder::default();
    STORE_LOSS_QUARANTINE "store-loss-quarantine" store_loss_quarantine::StoreLossQuarantine::new(terms);
    LEADER_WITHIN "leader-within" leader_within::LeaderWithin::new(terms);
    NO_CHURN_WHEN_HEALTHY "no-churn-when-healthy" no_churn_when_healthy::NoChurnWhenHealthy::new(terms);
    RENEWS_IN_TIME "renews-in-time" renews_in_time::RenewsInTime::new(terms);
    ASKS_IN_TIME "asks-in-time" asks_in_time::AsksInTime::new(terms);
    HANDOVER_WITHIN "handover-within" handover_within::HandoverWithin::new(terms);
    NO_LATE_QUARANTINE "no-late-quarantine" no_late_quarantine::NoLateQuarantine::new(terms);
    TAKEOVER_WITHIN "takeover-within" takeover_within::TakeoverWithin::new(terms);
    RESIGNED_WITHIN "resigned-within" resigned_within::ResignedWithin::new(terms);
    ANSWERED_WHEN_HEALTHY "answered-when-healthy" answered_when_healthy::AnsweredWhenHealthy::new(terms);
    STAYS_OUT "stays-out" stays_out::StaysOut::new(terms);
    // Of the runs of engines with handles and drivers.
    => {
        LOOKS_WITHIN "looks-within" looks_within::LooksWithin::new(terms);
        RESIGNED_AT_ONCE "resigned-at-once" resigned_at_once::ResignedAtOnce::default();
        TOLD_OF_THE_END "told-of-the-end" told_of_the_end::ToldOfTheEnd::new(terms);
        DRIVER_RUNS_ON "driver-runs-on" driver_runs_on::DriverRunsOn;
    }
}

/// The names of the properties that judge runs of an engine with that tick: an engine without ticks
/// has no handles and no driver, so the properties about them do not apply.
pub fn names_at(tick: Duration) -> impl Iterator<Item = PropertyName> {
    let terms = Terms::of_engine(tick);
    all(&terms).into_iter().map(|property| property.about().name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::NANOSECOND;

    #[test]
    fn nothing_is_compared_before_the_first_event() {
        for mut property in all(&Terms { tick: NANOSECOND, ..Terms::default() }) {
            let mut tally = Tally::default();
            let calm = (&Event::Calm, &State::default());
            property.observe(SimTime::START, calm.0, calm.1, &mut tally).expect("nothing is wrong");
            assert_eq!(tally.compared(), 0, "{}", property.about().name);
        }
    }
}
