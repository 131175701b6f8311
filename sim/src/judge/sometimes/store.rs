//! Conditions on the store's answers and its data.

use std::time::Duration;

use super::candidates::Renewal;
use super::{Condition, Sometimes};
use crate::judge::State;
use crate::judge::recent::Recent;
use crate::plan::SimTime;
use crate::trace::{Answer, Asked, Kept, StoreStep};

/// The longest time from a release to the next grant that counts as a handover.
const HANDOVER_MOST: Duration = Duration::from_secs(2);
/// The last moment of a lease is its last twentieth.
const LAST_PART: u32 = 20;

/// The store's history.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    pub(super) tenures: Recent<u64, Tenure>,
    /// For how long the lease that was granted or renewed last is certainly not taken.
    pub(super) lease_lasts: Duration,
    /// True if the present server has told a candidate to watch its past.
    pub(super) told_of_a_past: bool,
    /// Token and time of the last release.
    released: Option<(u64, SimTime)>,
    /// The number of the newest server that has carried out a request.
    newest: u32,
    /// True if it has lost its data at least once.
    lost_data: bool,
}

/// The history of a tenure.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tenure {
    holder: u128,
    pub(super) granted_at: Option<SimTime>,
    pub(super) led: bool,
    pub(super) worked: bool,
    pub(super) resigned: bool,
}

impl Sometimes {
    pub(super) fn store_crashed(&mut self, keeps_data: bool, state: &State) {
        let waits = self.lives.iter().any(|(_, life)| life.waits);
        self.met_if(Condition::StoreReplacedInAQuarantine, waits);
        self.store.told_of_a_past = false;
        if !keeps_data {
            self.store.lost_data = true;
            let led = !state.leaders().is_empty();
            self.met_if(Condition::StoreLostDataUnderALeader, led);
        }
    }

    pub(super) fn store_stepped(&mut self, at: SimTime, step: &StoreStep, state: &State) {
        self.store.newest = self.store.newest.max(step.server);
        if let (Answer::Granted { .. } | Answer::Renewed { .. }, Some(after)) =
            (step.answer, step.after)
        {
            self.store.lease_lasts = after.lease_ends.since(at);
            let is_old = step.server < self.store.newest;
            self.met_if(Condition::OldPrimaryAcknowledged, is_old);
        }
        match (step.request, step.answer) {
            (Asked::Acquire { seen, .. }, Answer::Granted { .. }) => {
                let waited = self.store.lost_data && self.store.told_of_a_past;
                self.met_if(Condition::QuarantineWaited, waited);
                self.granted(at, step, seen);
            }
            (Asked::Acquire { seen, .. }, Answer::Not { past_is_watched }) => {
                self.store.told_of_a_past |= !past_is_watched;
                let free = step.before.filter(|before| before.released);
                self.met_if(
                    Condition::StaleAcquireRefused,
                    free.is_some_and(|before| seen < before.token),
                );
                // It was granted a lease before. A new campaign has a new holder id, so this is an
                // old request.
                let holds = |tenure: &Tenure| tenure.holder == step.holder;
                let late = self.store.tenures.iter().any(|(_, tenure)| holds(tenure));
                let is_over = |before: Kept| before.released || before.mark.holder != step.holder;
                let over = step.before.is_some_and(is_over);
                self.met_if(Condition::LateAcquireRefused, late && over);
            }
            (Asked::Renew { token }, Answer::Renewed { .. }) => {
                self.renewed(at, step, token, state);
            }
            (Asked::Renew { token }, Answer::Superseded) => {
                self.met(Condition::RenewalSuperseded);
                let handed_back = |kept: Kept| kept.token == token && kept.released;
                self.met_if(Condition::RenewalAfterRelease, step.before.is_some_and(handed_back));
            }
            (Asked::Release { token }, Answer::Released) => {
                self.store.released = Some((token, at));
                let tenure = *self.store.tenures.of(token);
                self.met_if(Condition::ReleaseAfterDrain, tenure.worked);
                self.met_if(Condition::GrantHandedBackUnused, !tenure.led);
            }
            (
                Asked::Acquire { .. }
                | Asked::Look { .. }
                | Asked::Renew { .. }
                | Asked::Release { .. },
                _,
            ) => {}
        }
    }

    fn granted(&mut self, at: SimTime, step: &StoreStep, seen: u64) {
        // A repeated grant begins no tenure; `answered` counts it if its holder retried.
        let Some(token) = step.new_tenure() else { return };
        let tenure = self.store.tenures.of(token);
        tenure.holder = step.holder;
        tenure.granted_at.get_or_insert(at);
        let last = step.before.map_or(0, |kept| kept.token);
        self.met_if(Condition::GrantBeyondTheRecord, seen > last);
        if let Some(before) = step.before.filter(|kept| kept.mark.holder != step.holder) {
            self.succeeded(at, before);
        }
    }

    /// A lease was granted to another holder than the last one.
    fn succeeded(&mut self, at: SimTime, before: Kept) {
        if before.released {
            let in_time = |(token, released_at): (u64, SimTime)| {
                token == before.token && at.since(released_at) <= HANDOVER_MOST
            };
            let handed_over = self.store.released.is_some_and(in_time);
            return self.met_if(Condition::GracefulHandover, handed_over);
        }
        self.met(Condition::TakeoverAfterExpiry);
        let renews = |renewal: Renewal| renewal.token == before.token && !renewal.carried_out;
        let races = self.lives.iter().any(|(_, life)| life.renewal.is_some_and(renews));
        self.met_if(Condition::TakeoverUnderARenewal, races);
        let resigned = self.store.tenures.of(before.token).resigned;
        self.met_if(Condition::ResignedLeaseRanOut, resigned);
    }

    fn renewed(&mut self, at: SimTime, step: &StoreStep, token: u64, state: &State) {
        let of_that = self.lives.iter_mut().filter_map(|(_, life)| life.renewal.as_mut());
        of_that.filter(|last| last.token == token).for_each(|last| last.carried_out = true);
        let remains = step.before.map_or(Duration::ZERO, |kept| kept.lease_ends.since(at));
        let at_the_end = remains.saturating_mul(LAST_PART) <= self.store.lease_lasts;
        self.met_if(Condition::RenewedAtTheLastMoment, at_the_end);
        let Tenure { led, resigned, .. } = *self.store.tenures.of(token);
        let has_leader = state.leaders().iter().any(|leader| leader.token == token);
        let without = led && !resigned && !has_leader;
        self.met_if(Condition::RenewedWithoutALeader, without);
    }
}
