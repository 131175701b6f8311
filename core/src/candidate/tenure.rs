//! From a grant to the end of its claim.

use super::watch::Answer;
use super::{Attempt, Candidate, Draining, Flight, Hold, Lease, Phase, Plan};
use crate::alphabet::{Event, StepDownReason, Unknown};
use crate::config::RenewErrorPolicy;
use crate::id::NameId;
use crate::request::Reply;
use crate::time::Instant;

impl Candidate {
    pub(super) fn elected(&mut self, lease: Lease) {
        self.emit(Event::Elected(lease.claim()));
        self.phase = Phase::Leading(lease);
        self.advance_lease(lease);
    }

    /// Renews a lease when that is due, in each phase that keeps one.
    pub(super) fn advance_lease(&mut self, mut lease: Lease) {
        if let Attempt::InFlight(flight) = lease.attempt
            && self.now >= flight.give_up_at
        {
            let Some(kept) = self.renew_failed(lease, flight) else { return };
            lease = kept;
        }
        lease.attempt = lease.attempt.at(self.now);
        self.keep(lease);
    }

    pub(super) fn renew_answered(
        &mut self,
        lease: Lease,
        flight: Flight,
        result: Result<Reply, Unknown>,
    ) {
        match result {
            Ok(Reply::Renewed { asked, wanted, past }) => {
                self.store_answered();
                self.past.is_told(self.now, past);
                let valid_until = lease.valid_until.max(self.config.valid_until(flight.sent_at));
                let other_wished = wanted.map(|_| lease.other_wished.unwrap_or(self.now));
                let attempt = Attempt::due(self.renews_next(flight, other_wished));
                let lease = Lease { valid_until, attempt, other_wished, ..lease };
                let asks = asked.zip(wanted).filter(|(asked, wanted)| asked.is_wished(*wanted));
                match (asks, self.phase) {
                    // Not to a candidate of the same name: this one would be back before it.
                    (Some((asked, _)), Phase::Leading(_)) if asked.name != self.name => {
                        let (reason, kept_for) = (StepDownReason::HandedOver, Some(asked.name));
                        self.step_down_on_request(lease, reason, kept_for, Plan::Campaign);
                    }
                    _ => self.renewed(lease),
                }
            }
            Ok(Reply::Superseded { last }) => {
                self.store_answered();
                self.take_in(Answer { last, past: None, to_acquire: false });
                self.superseded(lease);
            }
            Ok(
                Reply::Granted { .. }
                | Reply::Not(_)
                | Reply::At(_)
                | Reply::Released
                | Reply::NotHeld
                | Reply::Noted
                | Reply::NotNoted
                | Reply::Purged
                | Reply::Kept,
            )
            | Err(Unknown) => {
                if let Some(lease) = self.renew_failed(lease, flight) {
                    self.keep(lease);
                }
            }
        }
    }

    /// A leader learns of an ask with a renewal: as long as another candidate is wished for, the
    /// next one follows sooner, at first.
    fn renews_next(&self, flight: Flight, other_wished: Option<Instant>) -> Instant {
        let usual = flight.sent_at + self.config.renew_interval();
        other_wished.map_or(usual, |since| usual.min(self.again_after(self.now.since(since))))
    }

    /// `None` if the failure ended the tenure.
    fn renew_failed(&mut self, lease: Lease, flight: Flight) -> Option<Lease> {
        let attempt = self.store_failed(flight);
        let lease = Lease { attempt, ..lease };
        let strict = self.config.on_renew_error == RenewErrorPolicy::StepDown;
        if strict && matches!(self.phase, Phase::Leading(_)) {
            self.step_down(lease, StepDownReason::RenewFailed);
            return None;
        }
        Some(lease)
    }

    fn renewed(&mut self, lease: Lease) {
        match self.phase {
            Phase::Leading(_) => self.emit(Event::Renewed(lease.claim())),
            Phase::Draining(Draining { hold: Hold::Kept { lease: before, bound }, .. }) => {
                let until = self.kept_until(lease, bound);
                if until > self.kept_until(before, bound) {
                    self.emit(Event::DrainUntil { token: lease.tenure.token, until });
                }
            }
            Phase::Draining(_)
            | Phase::Idle
            | Phase::HoldingOff { .. }
            | Phase::Campaigning(_)
            | Phase::Withdrawing { .. }
            | Phase::Releasing(_) => {}
        }
        self.keep(lease);
    }

    /// Writes a lease back into the phase that keeps it.
    pub(super) fn keep(&mut self, renewed: Lease) {
        match &mut self.phase {
            Phase::Leading(lease)
            | Phase::Draining(Draining { hold: Hold::Kept { lease, .. }, .. }) => *lease = renewed,
            Phase::Draining(Draining { hold: Hold::Left(_) | Hold::Gone, .. })
            | Phase::Idle
            | Phase::HoldingOff { .. }
            | Phase::Campaigning(_)
            | Phase::Withdrawing { .. }
            | Phase::Releasing(_) => {}
        }
    }

    fn superseded(&mut self, lease: Lease) {
        match self.phase {
            Phase::Leading(_) => {
                self.emit(Event::SteppedDown {
                    token: lease.tenure.token,
                    reason: StepDownReason::Superseded,
                    drain_until: self.now,
                });
                let (hold, kept_for, then) = (Hold::Gone, None, Plan::Campaign);
                self.phase = Phase::Draining(Draining { hold, kept_for, then });
            }
            Phase::Draining(end) => {
                self.emit(Event::DrainUntil { token: lease.tenure.token, until: self.now });
                self.phase = Phase::Draining(Draining { hold: Hold::Gone, ..end });
            }
            Phase::Idle
            | Phase::HoldingOff { .. }
            | Phase::Campaigning(_)
            | Phase::Withdrawing { .. }
            | Phase::Releasing(_) => {}
        }
    }

    pub(super) fn expire_claim(&mut self, lease: Lease) {
        self.step_down(lease, StepDownReason::Expired);
    }

    /// Ends the claim and stops renewing the lease: the store may count it as live for a while.
    fn step_down(&mut self, lease: Lease, reason: StepDownReason) {
        let drain_until = lease.valid_until + self.config.stop_margin();
        self.emit(Event::SteppedDown { token: lease.tenure.token, reason, drain_until });
        let hold = Hold::Left(lease.tenure);
        self.phase = Phase::Draining(Draining { hold, kept_for: None, then: Plan::Campaign });
    }

    /// Ends the claim on request, and keeps the lease for the work that drains.
    pub(super) fn step_down_on_request(
        &mut self,
        lease: Lease,
        reason: StepDownReason,
        kept_for: Option<NameId>,
        then: Plan,
    ) {
        let bound = self.now + self.config.drain_bound();
        self.emit(Event::SteppedDown {
            token: lease.tenure.token,
            reason,
            drain_until: self.kept_until(lease, bound),
        });
        let hold =
            if bound > self.now { Hold::Kept { lease, bound } } else { Hold::Left(lease.tenure) };
        self.phase = Phase::Draining(Draining { hold, kept_for, then });
    }

    /// The end of the lease's cover for draining work: the store can't end it before.
    fn kept_until(&self, lease: Lease, bound: Instant) -> Instant {
        bound.min(lease.valid_until + self.config.stop_margin())
    }
}
