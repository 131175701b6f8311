//! A campaign: from its first request to a grant, or until it is given up.

use super::{
    Abandoned, Attempt, Campaign, Candidate, Draining, Flight, Lease, Phase, Plan, Tenure,
};
use crate::alphabet::{Event, Refusal, Reply, Unknown};
use crate::id::{HolderId, RequestId};
use crate::time::{Instant, Span};
use core::time::Duration;

impl Candidate {
    /// Campaigns from now on, or as soon as the tenure that is ending has ended.
    pub(super) fn join(&mut self) {
        match &mut self.phase {
            Phase::Idle | Phase::HoldingOff { .. } => self.campaign(),
            Phase::Withdrawing { then, .. }
            | Phase::Draining(Draining { then, .. })
            | Phase::Releasing { then, .. } => match then {
                Plan::Campaign => {}
                // The end of the resignation must still be reported.
                Plan::HoldOff(_) | Plan::Idle => *then = Plan::HoldOff(Duration::ZERO),
            },
            Phase::Campaigning(_) | Phase::Quarantined { .. } | Phase::Leading(_) => {}
        }
    }

    /// Begins a campaign under a new identity.
    pub(super) fn campaign(&mut self) {
        let campaign = Campaign {
            holder: self.random.holder(),
            attempt: Attempt::due(self.now),
            hinted: false,
            hints_from: self.now,
            unknown: None,
        };
        self.advance_campaign(campaign);
    }

    pub(super) fn advance_campaign(&mut self, mut campaign: Campaign) {
        if let Attempt::InFlight(flight) = campaign.attempt
            && self.now >= flight.give_up_at
        {
            campaign = self.acquire_failed(campaign, flight);
        }
        campaign.attempt = campaign.attempt.at(self.now);
        self.phase = Phase::Campaigning(campaign);
    }

    pub(super) fn hint(&mut self) {
        match self.phase {
            Phase::Campaigning(campaign) => {
                self.phase = Phase::Campaigning(self.hinted(campaign));
            }
            Phase::Idle
            | Phase::HoldingOff { .. }
            | Phase::Withdrawing { .. }
            | Phase::Quarantined { .. }
            | Phase::Leading(_)
            | Phase::Draining(_)
            | Phase::Releasing { .. } => {}
        }
    }

    fn hinted(&self, campaign: Campaign) -> Campaign {
        match campaign.attempt {
            // It leaves after the hint.
            Attempt::Pending { .. } => campaign,
            Attempt::InFlight(_) => Campaign { hinted: true, ..campaign },
            Attempt::Due { at, failures } => {
                let soon = self.now.max(campaign.hints_from);
                if soon >= at {
                    return campaign;
                }
                let attempt = Attempt::Due { at: soon, failures };
                let hints_from = soon + self.config.retry_least();
                Campaign { attempt, hints_from, ..campaign }
            }
        }
    }

    pub(super) fn acquire_answered(
        &mut self,
        campaign: Campaign,
        flight: Flight,
        result: Result<Reply, Unknown>,
    ) {
        match result {
            Ok(Reply::Granted { token, wait }) => {
                self.store_answered();
                self.granted(Tenure { holder: campaign.holder, token }, flight, wait);
            }
            Ok(Reply::Held { token, remaining, ttl }) => {
                self.store_answered();
                self.refusal = None;
                self.learn(token);
                self.knows_ttl(ttl);
                if self.incumbent != Some(token) {
                    self.incumbent = Some(token);
                    self.emit(Event::IncumbentChanged { token });
                }
                // A lease with no time left must not cause a tight loop of requests.
                let remaining = remaining.max(Duration::from_millis(1));
                let jitter = self.random.up_to(self.config.takeover_jitter());
                let wait = remaining.saturating_add(jitter).min(self.config.poll_bound());
                self.ask_again(campaign, self.now + wait);
            }
            Ok(Reply::Refused { ttl, quarantine }) => {
                self.store_answered();
                self.knows_ttl(ttl);
                let refusal = Refusal::new(ttl, quarantine);
                if self.refusal.replace(refusal) != Some(refusal) {
                    self.emit(Event::Refused(refusal));
                }
                self.ask_again(campaign, self.now + self.config.poll_bound());
            }
            // Asking again is useful only with a token that was not known.
            Ok(Reply::Stale { last }) if Some(last) > self.seen => {
                self.store_answered();
                self.learn(last);
                self.ask_again(campaign, self.now);
            }
            Ok(
                Reply::Stale { .. }
                | Reply::Renewed
                | Reply::Superseded { .. }
                | Reply::Released
                | Reply::NotHeld,
            )
            | Err(Unknown) => {
                let failed = self.acquire_failed(campaign, flight);
                self.phase = Phase::Campaigning(failed);
            }
        }
    }

    /// Another candidate has that TTL.
    fn knows_ttl(&mut self, ttl: Duration) {
        self.longest_ttl = Span::of(self.longest_ttl.get().max(ttl));
    }

    fn ask_again(&mut self, campaign: Campaign, at: Instant) {
        let answered = Campaign { attempt: Attempt::due(at), hinted: false, ..campaign };
        let next = if campaign.hinted { self.hinted(answered) } else { answered };
        self.phase = Phase::Campaigning(next);
    }

    fn acquire_failed(&mut self, campaign: Campaign, flight: Flight) -> Campaign {
        let attempt = self.store_failed(flight);
        Campaign { attempt, hinted: false, unknown: Some(flight.id), ..campaign }
    }

    fn granted(&mut self, tenure: Tenure, flight: Flight, wait: Duration) {
        // A store that was rolled back may grant a token that is not above the highest known one.
        let is_new = Some(tenure.token) > self.seen;
        self.refusal = None;
        self.learn(tenure.token);
        let valid_until = self.config.valid_until(flight.sent_at);
        if !is_new || self.now >= valid_until {
            return self.release(tenure, Plan::Campaign);
        }
        self.incumbent = Some(tenure.token);
        let renew_at = flight.sent_at + self.config.renew_interval();
        let lease = Lease { tenure, valid_until, attempt: Attempt::due(renew_at) };
        // The store uses the declared quarantine. Where that is below a TTL that was seen, only the
        // candidate knows the difference; it does not know how long ago the history began.
        let undeclared = self.longest_ttl.get().saturating_sub(self.config.quarantine());
        let wait = wait.saturating_add(undeclared);
        if wait.is_zero() {
            self.elected(lease);
        } else {
            let until = self.now + wait;
            self.emit(Event::Quarantined { until });
            self.phase = Phase::Quarantined { lease, until };
        }
    }

    /// Gives the campaign up. The request in flight may still be granted.
    pub(super) fn give_up(&mut self, campaign: Campaign, then: Plan) {
        match campaign.attempt {
            Attempt::InFlight(flight) => {
                self.phase = Phase::Withdrawing { holder: campaign.holder, flight, then };
            }
            Attempt::Due { .. } | Attempt::Pending { .. } => {
                self.abandon(campaign.holder, campaign.unknown);
                self.withdrawn(then);
            }
        }
    }

    pub(super) fn withdrawal_answered(
        &mut self,
        holder: HolderId,
        flight: Flight,
        then: Plan,
        result: Result<Reply, Unknown>,
    ) {
        match result {
            Ok(Reply::Granted { token, .. }) => {
                self.store_answered();
                self.learn(token);
                self.release(Tenure { holder, token }, then);
            }
            Ok(Reply::Held { token, .. } | Reply::Stale { last: token }) => {
                self.store_answered();
                self.learn(token);
                self.withdrawn(then);
            }
            Ok(Reply::Refused { .. }) => {
                self.store_answered();
                self.withdrawn(then);
            }
            Ok(Reply::Renewed | Reply::Superseded { .. } | Reply::Released | Reply::NotHeld)
            | Err(Unknown) => {
                self.store_failed(flight);
                self.abandon(holder, Some(flight.id));
                self.withdrawn(then);
            }
        }
    }

    fn abandon(&mut self, holder: HolderId, unknown: Option<RequestId>) {
        if let Some(id) = unknown {
            self.abandoned = Some(Abandoned { id, holder });
        }
    }

    /// A reply to a request that was given up: only a grant of an abandoned campaign matters. It is
    /// released once, so that other candidates need not wait for its end.
    pub(super) fn stray(&mut self, id: RequestId, result: Result<Reply, Unknown>) {
        if let Ok(Reply::Granted { token, .. }) = result
            && let Some(Abandoned { holder, .. }) =
                self.abandoned.take_if(|abandoned| abandoned.id == id)
        {
            self.learn(token);
            self.unwanted = Some(Tenure { holder, token });
        }
    }
}
