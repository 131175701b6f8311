//! Requests leave when they are admitted: not before, and with what the candidate knows by then.
//!
//! The claim counts from the admission, and so does the request's timeout: a request may wait for other elections'
//! requests in front of it, and that wait says nothing about the store.

use super::outbox::{Asked, Outgoing};
use super::{Attempt, Candidate, Draining, Flight, Hold, Lease, Phase};
use crate::id::RequestId;
use crate::time::Instant;

impl Candidate {
    pub(super) fn admitted(&mut self) {
        if let Some(tenure) = self.unwanted.take() {
            self.send(Asked::Release(tenure), 0, Instant::FAR_FUTURE);
            return;
        }
        match self.phase {
            Phase::Campaigning(mut campaign) => {
                if let Attempt::Pending { failures } = campaign.attempt {
                    let acquire = Asked::Acquire { holder: campaign.holder, seen: self.seen };
                    campaign.attempt =
                        Attempt::InFlight(self.send(acquire, failures, Instant::FAR_FUTURE));
                    self.phase = Phase::Campaigning(campaign);
                }
            }
            Phase::Quarantined { lease, .. }
            | Phase::Leading(lease)
            | Phase::Draining(Draining { hold: Hold::Kept { lease, .. }, .. }) => self.renew(lease),
            Phase::Releasing { tenure, attempt: Attempt::Pending { failures }, until, then } => {
                let attempt = Attempt::InFlight(self.send(Asked::Release(tenure), failures, until));
                self.phase = Phase::Releasing { tenure, attempt, until, then };
            }
            Phase::Releasing { .. }
            | Phase::Draining(Draining { hold: Hold::Left(_) | Hold::Gone, .. })
            | Phase::Idle
            | Phase::HoldingOff { .. }
            | Phase::Withdrawing { .. } => {}
        }
    }

    /// Also before its time: a driver of many elections spreads their renewals.
    fn renew(&mut self, mut lease: Lease) {
        let (Attempt::Due { failures, .. } | Attempt::Pending { failures }) = lease.attempt else {
            return;
        };
        let renew = Asked::Renew(lease.tenure);
        lease.attempt = Attempt::InFlight(self.send(renew, failures, Instant::FAR_FUTURE));
        self.keep(lease);
    }

    fn send(&mut self, asked: Asked, failures: u32, until: Instant) -> Flight {
        let id = RequestId::after(self.last_request);
        self.last_request = Some(id);
        let give_up_at = (self.now + self.config.request_timeout()).min(until);
        self.outbox.send(Outgoing { id, asked, give_up_at });
        Flight { id, sent_at: self.now, give_up_at, failures }
    }
}
