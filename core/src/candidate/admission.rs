//! Requests leave when they are admitted: not before, and with what the candidate knows by then.
//!
//! The claim counts from the admission, and so does the request's timeout: a request may wait for
//! other elections' requests in front of it, and that wait says nothing about the store.

use super::outbox::{Asked, Outgoing};
use super::{
    Attempt, Campaign, Candidate, Draining, Flight, Hold, Known, Lease, Phase, Releasing, Tenure,
    Unwanted, Wished,
};
use crate::id::RequestId;
use crate::record::{Asked as ByName, Reservation};
use crate::request::{Acquire, Request};
use crate::time::Instant;

impl Candidate {
    pub(super) fn admitted(&mut self) {
        if let Some(Unwanted { tenure, kept_for, .. }) = self.unwanted.take_if(|one| one.is_kept) {
            self.send(Asked::Release(tenure, kept_for), 0, Instant::FAR_FUTURE);
            return;
        }
        match self.phase {
            Phase::Campaigning(campaign) => self.admit_campaign(campaign),
            Phase::Leading(lease)
            | Phase::Draining(Draining { hold: Hold::Kept { lease, .. }, .. }) => self.renew(lease),
            Phase::Releasing(end @ Releasing { attempt: Attempt::Pending { failures }, .. }) => {
                let asked = Asked::Release(end.tenure, end.kept_for);
                let flight = self.send(asked, failures, end.until);
                let attempt = Attempt::InFlight(flight);
                self.phase = Phase::Releasing(Releasing { attempt, ..end });
            }
            Phase::Releasing(_)
            | Phase::Draining(Draining { hold: Hold::Left(_) | Hold::Gone, .. })
            | Phase::Idle
            | Phase::HoldingOff { .. }
            | Phase::Withdrawing { .. } => {}
        }
    }

    fn admit_campaign(&mut self, mut campaign: Campaign) {
        let Attempt::Pending { failures } = campaign.attempt else { return };
        let asks = self.asks(&campaign);
        if asks {
            self.asks_now(&mut campaign);
        }
        let asked = match campaign.wished {
            _ if asks => Asked::Acquire,
            Some(Wished { token, .. }) => Asked::Ask(token),
            None => Asked::Look,
        };
        let flight = self.send(asked, failures, Instant::FAR_FUTURE);
        let attempt = Attempt::InFlight(flight);
        self.phase =
            Phase::Campaigning(Campaign { attempt, looks: !asks, asks: false, ..campaign });
    }

    /// True if the campaign's next request is an acquire, and no look.
    ///
    /// An acquire that can't be granted yet is a look that costs the store more: it is one only if
    /// the lease may be vacant, or the store has to learn of a loss.
    pub(super) fn asks(&self, campaign: &Campaign) -> bool {
        if self.past.is_unreported() || !self.past.is_settled(&self.config, self.now) {
            return self.past.is_unreported();
        }
        // Who lets others go first looks whether the lease is vacant.
        let tries = campaign.asks && self.config.defer().is_zero();
        tries || self.now >= self.asks_from(campaign)
    }

    /// From when on the campaign may take the lease if it stays as it is.
    pub(super) fn asks_from(&self, campaign: &Campaign) -> Instant {
        let (vacant, defer) = match campaign.known {
            Known::Vacant { since } => (since, self.config.defer()),
            Known::Lease(watch) => (watch.ready(), watch.defer()),
        };
        self.past.ready(&self.config).map_or(vacant, |settled| vacant.max(settled)) + defer
    }

    /// The request that leaves now, of a candidate in which nothing has changed since its
    /// admission.
    pub(super) fn request(&self, id: RequestId, asked: Asked) -> Request {
        let stamp = self.past.watched(self.now);
        let quarantine = self.config.quarantine();
        match asked {
            Asked::Acquire => Request::Acquire(self.acquire(id)),
            Asked::Look => Request::Look { seen: self.seen, quarantine },
            Asked::Ask(token) => {
                Request::Ask { token, asked: self.asked(), seen: self.seen, quarantine }
            }
            Asked::Renew(Tenure { holder, token }) => {
                Request::Renew { holder, token, number: id, stamp }
            }
            Asked::Release(Tenure { holder, token }, kept_for) => {
                let reserve = self.config.reserve();
                let reservation = kept_for.map(|name| Reservation { name, reserve });
                Request::Release { holder, token, reservation }
            }
        }
    }

    /// Its name and priority delay, as an ask states them.
    pub(super) const fn asked(&self) -> ByName {
        ByName { name: self.name, defer: self.config.defer() }
    }

    fn acquire(&self, number: RequestId) -> Acquire {
        let Phase::Campaigning(Campaign { holder, known, .. }) = self.phase else {
            unreachable!("only a campaign asks for the lease")
        };
        let watched = known.lease().filter(|watch| self.now >= watch.ready());
        Acquire {
            holder,
            number,
            seen: self.seen,
            lost: self.past.lost(&self.config, self.now),
            mark: watched.map(|watch| watch.mark()),
            stamp: self.past.watched(self.now),
            ttl: self.config.ttl(),
            quarantine: self.config.quarantine(),
            name: self.name,
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
