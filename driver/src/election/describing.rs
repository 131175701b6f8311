//! Tells the store what a leader says of itself now.
//!
//! An acquire carries the profile of its time, and which of several attempts was carried out is not
//! known. So a leader whose profile was ever replaced tells it once more when it is elected. What
//! was not answered is told again after each renewal, and so is all of it once a request has
//! failed: a server that has failed may have lost it.
//!
//! No lead depends on it, so it waits behind the requests on which one does; see
//! [`admission`](crate::admission).

use tenure_core::{HolderId, Input, Instant, Token};

use super::Election;
use crate::admission::Lane;
use crate::alphabet::{Action, DescribeOutcome};
use crate::calls::{Carries, Description, End, Flying};
use crate::world::World;

/// The known state of the record of the present tenure, of a candidate whose profile was replaced.
/// The others have none: a process may have a hundred thousand.
#[derive(Clone, Debug, Default)]
pub(super) struct Describing(Option<Box<Known>>);

#[derive(Clone, Debug)]
struct Known {
    /// The latest version that was reported.
    latest: u64,
    /// The version that the record has; 0 for that of the grant.
    recorded: u64,
    /// The version that the store does not record, since it replaces none.
    refused: u64,
    /// Counts failures: an answer to what was sent before the last one proves nothing.
    failures: u32,
    /// True if the record may be older than the profile.
    may_be_behind: bool,
    progress: Progress,
    /// A profile that is replaced all the time costs no more than one request in the least retry
    /// time.
    not_before: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    None,
    Waits,
    InFlight,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            latest: 0,
            recorded: 0,
            refused: 0,
            failures: 0,
            may_be_behind: false,
            progress: Progress::None,
            not_before: Instant::ORIGIN,
        }
    }
}

impl Describing {
    /// A tenure begins, with the record of its grant.
    pub(super) fn begins(&mut self) {
        if let Some(known) = &mut self.0 {
            known.recorded = 0;
            known.may_be_behind = true;
        }
    }

    /// A renewal was answered.
    pub(super) fn may_be_behind(&mut self) {
        if let Some(known) = &mut self.0 {
            known.may_be_behind = true;
        }
    }

    /// A request has failed.
    pub(super) fn may_be_lost(&mut self) {
        if let Some(known) = &mut self.0 {
            known.recorded = 0;
            known.failures = known.failures.wrapping_add(1);
        }
    }

    /// The next look whether the store has to be told something.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let known = self.0.as_deref()?;
        (known.may_be_behind && known.progress == Progress::None).then_some(known.not_before)
    }

    /// The state from the first replaced profile on.
    fn known(&mut self) -> &mut Known {
        self.0.get_or_insert_default()
    }
}

impl<K> Election<K> {
    /// The profile was replaced.
    pub(crate) fn profile_was_replaced(&mut self, version: u64) {
        let known = self.describing.known();
        known.latest = known.latest.max(version);
        known.may_be_behind = true;
    }

    /// Joins the queue of those who tell the store their profile, if it leads and the record has an
    /// older one.
    pub(super) fn describe(&mut self, world: &mut World<K>, now: Instant) {
        if self.describing.deadline().is_some_and(|at| at <= now) {
            let is_undescribed = self.undescribed(now).is_some();
            let known = self.describing.known();
            known.may_be_behind = false;
            if is_undescribed {
                known.progress = Progress::Waits;
                world.admission.tell(self.id);
            }
        }
    }

    /// The tenure of which the store is not known to have the latest profile.
    fn undescribed(&self, now: Instant) -> Option<(HolderId, Token)> {
        let (claim, holder) = (self.machine.claim(now)?, self.machine.leads_as()?);
        let known = self.describing.0.as_deref()?;
        (known.latest > known.recorded.max(known.refused)).then(|| (holder, claim.token()))
    }

    /// Tells it now, unless that is no longer needed.
    pub(crate) fn tell(&mut self, world: &mut World<K>, now: Instant) {
        let Some((holder, token)) = self.undescribed(now) else {
            self.describing.known().progress = Progress::None;
            return;
        };
        let known = self.describing.known();
        known.progress = Progress::InFlight;
        known.not_before = now + self.machine.config().retry().0;
        let (election, failures) = (self.id, known.failures);
        let call = world.admission.describes(now);
        let about = Description { election, token, failures };
        let give_up_at = now + self.machine.config().request_timeout();
        let carries = Carries::Description { about, give_up_at };
        world.calls.leaves(call, Flying { lane: Lane::Usual, left_at: now, carries });
        world.acts(Action::Describe { call, election, holder, token });
    }

    /// A description has ended.
    pub(crate) fn was_described(
        &mut self,
        world: &mut World<K>,
        now: Instant,
        about: Description,
        end: &End,
    ) {
        let (version, outcome) = end.of_description();
        let Description { token, failures, .. } = about;
        let is_present = self.machine.claim(now).is_some_and(|claim| claim.token() == token);
        let known = self.describing.known();
        known.progress = Progress::None;
        match outcome {
            DescribeOutcome::Answered => {
                if is_present && failures == known.failures {
                    known.recorded = version;
                }
                // It may have changed meanwhile.
                known.may_be_behind = true;
            }
            DescribeOutcome::Unsupported => known.refused = version,
            // Told again after the next renewal.
            DescribeOutcome::Refused | DescribeOutcome::Unanswered => {}
        }
        self.handle(world, now, Input::Wake);
    }
}
