//! Tells the store what a leader says of itself now.
//!
//! An acquire carries the profile of its time, and which of several attempts was carried out is not known. So a leader
//! whose profile was ever replaced tells it once more when it is elected. What was not answered is told again after each
//! renewal, and so is all of it once a request has failed: a server that has failed may have lost it.

use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::super::World;
use super::Election;
use crate::Token;
use crate::logging::{LIFE, REQUEST};
use crate::shared::{Ask, ElectionId, Version};
use crate::store::{Reply, Request, StoreError, StoreErrorKind};

/// What is known of the record of the present tenure.
#[derive(Default)]
pub(super) struct Describing {
    /// The version that the record has; 0 for that of the grant.
    recorded: u64,
    /// Counts failures: an answer to what was sent before the last one proves nothing.
    failures: u32,
    is_in_flight: bool,
}

/// How telling a version has ended.
pub(in super::super) struct Description {
    pub(in super::super) election: ElectionId,
    token: Token,
    version: u64,
    failures: u32,
    result: Result<Reply, StoreError>,
}

impl Describing {
    /// A tenure begins, with the record of its grant.
    pub(super) fn begins(&mut self) {
        self.recorded = 0;
    }

    /// A request has failed.
    pub(super) fn may_be_lost(&mut self) {
        self.recorded = 0;
        self.failures = self.failures.wrapping_add(1);
    }
}

impl Election {
    /// Tells the store the candidate's profile, if it leads and the record has an older one. One request at a time.
    pub(in super::super) fn describe(&mut self, world: &mut World) {
        let now = world.runtime.now();
        let (Some(claim), Some(holder)) = (self.machine.claim(now), self.machine.leads_as()) else {
            return;
        };
        if self.describing.is_in_flight {
            return;
        }
        let Some(Version { number: version, profile }) =
            self.shared.replaced.newer_than(self.describing.recorded)
        else {
            return;
        };
        self.describing.is_in_flight = true;
        let (election, token, failures) = (self.shared.id, claim.token(), self.describing.failures);
        let (answer, answered) = oneshot::channel();
        world.admission.ask(Box::new(Ask {
            key: self.shared.key.clone(),
            request: Request::Describe { holder, token, version, profile },
            within: self.request_timeout(),
            answer,
        }));
        let end = async move {
            let gone = |_| Err(StoreError::new(StoreErrorKind::Unreachable, "not asked"));
            let result = answered.await.unwrap_or_else(gone);
            Description { election, token, version, failures, result }
        };
        world.descriptions.push(end.boxed());
    }

    pub(in super::super) fn was_described(&mut self, world: &mut World, end: Description) {
        let Description { token, version, failures, result, .. } = end;
        self.describing.is_in_flight = false;
        let now = world.runtime.now();
        let is_present = self.machine.claim(now).is_some_and(|claim| claim.token() == token);
        let counts = is_present && failures == self.describing.failures;
        let key = &self.shared.key;
        match result {
            Ok(_) => {
                tracing::debug!(target: REQUEST, ?key, %token, version, "the leader's metadata are recorded");
                if counts {
                    self.describing.recorded = version;
                }
                // They may have changed meanwhile.
                self.describe(world);
            }
            Err(error) if error.kind() == StoreErrorKind::Unsupported => {
                tracing::warn!(
                    target: LIFE, ?key, %error,
                    "other candidates are not told the leader's new metadata before its next tenure"
                );
                self.describing.recorded = version;
            }
            // Told again after the next renewal.
            Err(error) => {
                tracing::debug!(target: REQUEST, ?key, %token, %error, "the leader's metadata were not recorded");
            }
        }
    }
}
