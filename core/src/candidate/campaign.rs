//! A campaign: from its first request to a grant, or until it is given up.

use core::time::Duration;

use super::watch::{Answer, LeaseWatch};
use super::{
    Abandoned, Attempt, Campaign, Candidate, Draining, Flight, Known, Lease, Phase, Plan,
    Releasing, Tenure, Unwanted, Wished,
};
use crate::alphabet::{Event, OtherSettings, Unknown, Watched};
use crate::id::{HolderId, RequestId};
use crate::request::{Reply, Sight};
use crate::time::Instant;

impl Candidate {
    /// Campaigns from now on, or as soon as the tenure that is ending has ended.
    pub(super) fn join(&mut self) {
        match &mut self.phase {
            Phase::Idle | Phase::HoldingOff { .. } => self.campaign(),
            Phase::Withdrawing { then, .. }
            | Phase::Draining(Draining { then, .. })
            | Phase::Releasing(Releasing { then, .. }) => match then {
                Plan::Campaign => {}
                // The end of the resignation must still be reported.
                Plan::HoldOff(_) | Plan::Idle => *then = Plan::HoldOff(Duration::ZERO),
            },
            Phase::Campaigning(_) | Phase::Leading(_) => {}
        }
    }

    /// Begins a campaign under a new identity.
    pub(super) fn campaign(&mut self) {
        let campaign = Campaign {
            holder: self.random.holder(),
            attempt: Attempt::due(self.now),
            known: Known::Vacant { since: self.now },
            looks: false,
            asks: false,
            hinted: false,
            hints_from: self.now,
            first_asked: None,
            unanswered: None,
            own: None,
            wished: None,
        };
        self.advance_campaign(campaign);
    }

    pub(super) fn advance_campaign(&mut self, mut campaign: Campaign) {
        if let Attempt::InFlight(flight) = campaign.attempt
            && self.now >= flight.give_up_at
        {
            campaign = self.campaign_failed(campaign, flight);
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
            | Phase::Leading(_)
            | Phase::Draining(_)
            | Phase::Releasing(_) => {}
        }
    }

    fn hinted(&self, campaign: Campaign) -> Campaign {
        match campaign.attempt {
            // It leaves after the hint.
            Attempt::Pending { .. } => Campaign { asks: true, ..campaign },
            Attempt::InFlight(_) => Campaign { hinted: true, ..campaign },
            Attempt::Due { at, failures } => {
                let soon = self.now.max(campaign.hints_from);
                if soon >= at {
                    return Campaign { asks: true, ..campaign };
                }
                let attempt = Attempt::Due { at: soon, failures };
                let hints_from = soon + self.config.retry_least();
                Campaign { attempt, hints_from, asks: true, ..campaign }
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
            Ok(Reply::Granted { token }) if !campaign.looks => {
                self.store_answered();
                // Of a grant whose reply was lost. Nobody has led under it.
                let is_own = campaign.own == self.seen && campaign.own == Some(token);
                self.granted(Tenure { holder: campaign.holder, token }, is_own, flight);
            }
            Ok(Reply::Not(sight) | Reply::At(sight)) => {
                self.store_answered();
                self.sighted(campaign, sight);
            }
            Ok(
                Reply::Granted { .. }
                | Reply::Renewed { .. }
                | Reply::Superseded { .. }
                | Reply::Released
                | Reply::NotHeld
                | Reply::Noted
                | Reply::NotNoted
                | Reply::Purged
                | Reply::Kept,
            )
            | Err(Unknown) => {
                let failed = self.campaign_failed(campaign, flight);
                self.phase = Phase::Campaigning(failed);
            }
        }
    }

    /// Takes in what the store knows, and decides when to ask again, or to look.
    fn sighted(&mut self, mut campaign: Campaign, sight: Sight) {
        let (before, looked, before_wished) = (campaign.known, campaign.looks, campaign.wished);
        let knows_more = sight.last > self.seen;
        let waits_anew = self.take_in(Answer::of(&sight, !looked));
        campaign.known = self.sees(&campaign, &sight);
        campaign.wished = self.is_wished(&campaign, &sight);
        let own = sight.record.filter(|one| !one.released && one.holder == campaign.holder);
        campaign.own = own.map(|record| record.token);
        let settled = self.past.ready(&self.config);
        if let Some(until) = settled.filter(|_| waits_anew) {
            self.emit(Event::Watching { watched: Watched::Past, until });
        }
        let lease = campaign.known.lease();
        let ready = self.asks_from(&campaign);
        if ready <= self.now || self.past.is_unreported() {
            let is_the_same = lease.is_none_or(|watch| watch.shows_what(before.lease()));
            let may_help = looked || knows_more || waits_anew || !is_the_same;
            // An answer that tells nothing new must not cause a tight loop of requests.
            let pause = if may_help { Duration::ZERO } else { self.config.retry_least() };
            return self.ask_again(campaign, self.now + pause);
        }
        let jitter = self.random.up_to(self.config.takeover_jitter());
        let look = self.next_look(lease).min(self.now + self.config.poll_bound());
        let look = look.min(self.next_ask(before_wished, campaign.wished));
        self.ask_again(campaign, look.min(ready + jitter));
    }

    /// The lease, as an answer shows it.
    fn sees(&mut self, campaign: &Campaign, sight: &Sight) -> Known {
        let Some(record) = sight.record else {
            let Known::Lease(_) = campaign.known else { return campaign.known };
            return Known::Vacant { since: self.now };
        };
        if let Some(left) = &mut self.unwanted {
            let Tenure { holder, token } = left.tenure;
            left.is_kept = !record.released && (record.holder, record.token) == (holder, token);
        }
        let is_own = !record.released && record.holder == campaign.holder;
        let (ttl, quarantine) = (self.config.ttl(), self.config.quarantine());
        let demand = match () {
            () if is_own => Duration::ZERO,
            () if self.config.server_ends_leases() && !record.released => Duration::MAX,
            () => record.demands(self.name, ttl, quarantine),
        };
        let is_for_this = is_own || record.is_kept_for(self.name);
        let defer = if is_for_this { Duration::ZERO } else { self.config.defer() };
        if !record.released && !is_own && self.incumbent != Some(record.token) {
            self.incumbent = Some(record.token);
            self.emit(Event::IncumbentChanged { token: record.token });
        }
        let renews_at = self.now + self.config.look_interval(sight.now.since(record.written));
        let seen = LeaseWatch::new(&record, self.now, demand, defer, renews_at);
        let watch = seen.continues(campaign.known.lease());
        let other = OtherSettings::new(record.ttl, record.quarantine);
        if is_own || record.agrees(ttl, quarantine) {
            self.contradiction = None;
        } else if self.contradiction.replace(other) != Some(other) {
            self.emit(Event::Watching { watched: Watched::Settings, until: watch.ready() });
        }
        Known::Lease(watch)
    }

    /// The leader's next renewal; for one that is overdue, the time after as long again.
    fn next_look(&self, lease: Option<LeaseWatch>) -> Instant {
        let interval = self.config.look_interval(Duration::ZERO);
        let Some(watch) = lease else { return self.now + interval };
        if self.now < watch.renews_at() {
            return watch.renews_at();
        }
        self.again_after(self.now.since(watch.renews_at()))
    }

    /// The next look for what is overdue by that time: soon at first, then after as long again.
    pub(super) fn again_after(&self, due: Duration) -> Instant {
        let usual = self.config.look_interval(Duration::ZERO);
        self.now + due.max(self.config.first_overdue()).min(usual)
    }

    /// The request that this candidate succeed the present leader, if it could lead at once.
    fn is_wished(&self, campaign: &Campaign, sight: &Sight) -> Option<Wished> {
        let record = sight.record.filter(|one| !one.released && one.holder != campaign.holder)?;
        let wished = record.wanted.is_some_and(|wish| self.asked().is_wished(wish));
        let could = record.agrees(self.config.ttl(), self.config.quarantine())
            && self.past.is_settled(&self.config, self.now);
        let token = record.token;
        let before = campaign.wished.filter(|before| before.token == token);
        (wished && could).then_some(before.unwrap_or(Wished { token, since: self.now }))
    }

    /// A wish is answered at once, and again until the leader is gone.
    fn next_ask(&self, before: Option<Wished>, wished: Option<Wished>) -> Instant {
        match wished {
            None => Instant::FAR_FUTURE,
            Some(_) if before != wished => self.now,
            Some(Wished { since, .. }) => self.again_after(self.now.since(since)),
        }
    }

    fn ask_again(&mut self, campaign: Campaign, at: Instant) {
        let answered = Campaign { attempt: Attempt::due(at), hinted: false, ..campaign };
        let next = if campaign.hinted { self.hinted(answered) } else { answered };
        self.phase = Phase::Campaigning(next);
    }

    fn campaign_failed(&mut self, campaign: Campaign, flight: Flight) -> Campaign {
        let attempt = self.store_failed(flight);
        let unanswered = if campaign.looks { campaign.unanswered } else { Some(flight.id) };
        Campaign { attempt, hinted: false, unanswered, ..campaign }
    }

    /// An acquire leaves. It leaves under a new identity if the claim of the first one under this
    /// identity would be over.
    ///
    /// Another candidate may have led since then: the network may have repeated an acquire, also
    /// one that was answered, and a store that was restored shows the lease that it was granted,
    /// whose token is lower. Such a lease is watched as another candidate's.
    pub(super) fn asks_now(&mut self, campaign: &mut Campaign) {
        let is_late = |first: Instant| self.now >= self.config.valid_until(first);
        if campaign.first_asked.is_some_and(is_late) {
            self.abandon(campaign.holder, campaign.unanswered.take());
            campaign.holder = self.random.holder();
            campaign.first_asked = None;
            if campaign.own.take().is_some() {
                campaign.known = Known::Vacant { since: self.now };
            }
        }
        campaign.first_asked.get_or_insert(self.now);
    }

    fn granted(&mut self, tenure: Tenure, is_own: bool, flight: Flight) {
        // A store that was rolled back may grant a token that is not above the highest known one.
        let is_new = is_own || Some(tenure.token) > self.seen;
        self.contradiction = None;
        self.take_in(Answer::granted(tenure.token));
        let valid_until = self.config.valid_until(flight.sent_at);
        if !is_new || self.now >= valid_until {
            return self.release(tenure, None, Plan::Campaign);
        }
        self.incumbent = Some(tenure.token);
        let renew_at = flight.sent_at + self.config.renew_interval();
        let attempt = Attempt::due(renew_at);
        self.elected(Lease { tenure, valid_until, attempt, other_wished: None });
    }

    /// Gives the campaign up. The request in flight may still be granted.
    pub(super) fn give_up(&mut self, campaign: Campaign, then: Plan) {
        match campaign.attempt {
            Attempt::InFlight(flight) if !campaign.looks => {
                self.phase = Phase::Withdrawing { holder: campaign.holder, flight, then };
            }
            Attempt::InFlight(_) | Attempt::Due { .. } | Attempt::Pending { .. } => {
                self.abandon(campaign.holder, campaign.unanswered);
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
            Ok(Reply::Granted { token }) => {
                self.store_answered();
                self.take_in(Answer::granted(token));
                self.release(Tenure { holder, token }, None, then);
            }
            Ok(Reply::Not(sight)) => {
                self.store_answered();
                self.take_in(Answer::of(&sight, true));
                self.withdrawn(then);
            }
            Ok(
                Reply::At(_)
                | Reply::Renewed { .. }
                | Reply::Superseded { .. }
                | Reply::Released
                | Reply::NotHeld
                | Reply::Noted
                | Reply::NotNoted
                | Reply::Purged
                | Reply::Kept,
            )
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

    /// A reply to a request that was given up, or to a release beside a campaign. A grant of an
    /// abandoned campaign is released once, so that other candidates need not wait for its end.
    pub(super) fn stray(&mut self, id: RequestId, result: Result<Reply, Unknown>) {
        match result {
            Ok(Reply::Granted { token }) => {
                let abandoned = self.abandoned.take_if(|abandoned| abandoned.id == id);
                if let Some(Abandoned { holder, .. }) = abandoned {
                    self.seen = self.seen.max(Some(token));
                    let tenure = Tenure { holder, token };
                    self.unwanted = Some(Unwanted { tenure, kept_for: None, is_kept: true });
                }
            }
            Ok(Reply::Released) => self.hint(),
            Ok(_) | Err(Unknown) => {}
        }
    }
}
