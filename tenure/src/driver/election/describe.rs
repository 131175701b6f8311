//! Tells the store what a leader says of itself now.
//!
//! An acquire carries the profile of its time, and which of several attempts was carried out is not
//! known. So a leader whose profile was ever replaced tells it once more when it is elected. What
//! was not answered is told again after each renewal, and so is all of it once a request has
//! failed: a server that has failed may have lost it.
//!
//! No lead depends on it, so it waits behind the requests on which one does; see
//! [`admission`](super::super::admission).

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::super::admission::Left;
use super::super::{World, given_up, is_answer};
use super::Election;
use crate::logging::{self, LIFE, REQUEST};
use crate::shared::{ElectionId, Version};
use crate::store::{Reply, Request, StoreError, StoreErrorKind};
use crate::{Instant, Token};

/// The known state of the record of the present tenure, of a candidate whose profile was replaced.
/// The others have none: a process may have a hundred thousand.
#[derive(Default)]
pub(super) struct Describing(Option<Box<Known>>);

struct Known {
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    None,
    Waits,
    InFlight,
}

/// The end of a description.
pub(in super::super) struct Description {
    pub(in super::super) election: ElectionId,
    pub(in super::super) left: Left,
    /// The answer's duration; `None` if there was none.
    pub(in super::super) took: Option<Duration>,
    token: Token,
    version: u64,
    failures: u32,
    result: Result<Reply, StoreError>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
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

impl Election {
    /// The profile was replaced.
    pub(in super::super) fn profile_was_replaced(&mut self) {
        self.shared.replaced.is_noticed();
        self.describing.known().may_be_behind = true;
    }

    /// Joins the queue of those who tell the store their profile, if it leads and the record has an
    /// older one.
    pub(super) fn describe(&mut self, world: &mut World, now: Instant) {
        if self.describing.deadline().is_some_and(|at| at <= now) {
            let is_undescribed = self.undescribed(now).is_some();
            let known = self.describing.known();
            known.may_be_behind = false;
            if is_undescribed {
                known.progress = Progress::Waits;
                world.admission.tell(self.shared.id);
            }
        }
    }

    /// The version that the store is not known to have, and the request that tells it.
    fn undescribed(&self, now: Instant) -> Option<(u64, Token, Request)> {
        let (claim, holder) = (self.machine.claim(now)?, self.machine.leads_as()?);
        let known = self.describing.0.as_deref()?;
        let known = known.recorded.max(known.refused);
        let Version { number: version, profile, .. } = self.shared.replaced.newer_than(known)?;
        let token = claim.token();
        Some((version, token, Request::Describe { holder, token, version, profile }))
    }

    /// Tells it now, unless that is no longer needed.
    pub(in super::super) fn tell(&mut self, world: &mut World) {
        let now = world.runtime.now();
        let Some((version, token, request)) = self.undescribed(now) else {
            self.describing.known().progress = Progress::None;
            return;
        };
        let known = self.describing.known();
        known.progress = Progress::InFlight;
        known.not_before = now + self.machine.config().retry().0;
        let (election, failures) = (self.shared.id, known.failures);
        let (runtime, within) = (Arc::clone(&world.runtime), self.request_timeout());
        let late = runtime.sleep_until(now + within);
        let store = world.store.clone();
        let left = world.admission.describes(request.name(), now);
        let call = store.call_owned(self.shared.key.clone(), request);
        let end = async move {
            let (result, is_answered) = tokio::select! {
                biased;
                result = call => {
                    let is_answered = is_answer(&result);
                    (result, is_answered)
                }
                () = late => (Err(given_up(&store, within)), false),
            };
            let took = is_answered.then(|| runtime.now().since(now));
            Description { election, left, took, token, version, failures, result }
        };
        world.descriptions.push(end.boxed());
    }

    pub(in super::super) fn was_described(&mut self, world: &mut World, end: Description) {
        let Description { token, version, failures, result, .. } = end;
        let now = world.runtime.now();
        let is_present = self.machine.claim(now).is_some_and(|claim| claim.token() == token);
        let known = self.describing.known();
        known.progress = Progress::None;
        let counts = is_present && failures == known.failures;
        let key = &self.shared.key;
        match result {
            Ok(_) => {
                logging::debug!(target: REQUEST, ?key, %token, version, "the leader's metadata are recorded");
                if counts {
                    known.recorded = version;
                }
                // They may have changed meanwhile.
                known.may_be_behind = true;
            }
            Err(error) if error.kind() == StoreErrorKind::Unsupported => {
                if !std::mem::replace(&mut world.has_refused_descriptions, true) {
                    logging::warn!(
                        target: LIFE, ?key, %error,
                        "other candidates are not told a leader's new metadata before its next tenure; not said \
                         again of other elections"
                    );
                }
                known.refused = version;
            }
            // Told again after the next renewal.
            Err(error) => {
                logging::debug!(target: REQUEST, ?key, %token, %error, "the leader's metadata were not recorded");
            }
        }
    }
}
