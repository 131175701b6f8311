//! One request as the contract has it, with the bug.

use std::time::Duration;

use tenure::store::contract::Acquire;
use tenure::store::{Message, Profile, Reply, Request, Shown};
use tenure::{HolderId, Instant, Token};
use tenure_core::contract::{self, Moment, Past, Record};
use tenure_core::{Reply as Told, Request as Asked, RequestId, Sight};

use super::{Bug, Election};

/// The deletion of a record, with the bug.
pub(super) fn purge(bug: Bug, past: &mut Option<Past>, election: &mut Election) -> bool {
    let Some(record) = election.record else { return false };
    let now = super::now();
    let mark = record.mark();
    let watch = match election.purging {
        Some(watch) if watch.0 == mark || bug == Bug::PurgesWithoutMark => watch,
        _ => (mark, now),
    };
    election.purging = Some(watch);
    let watched = match bug {
        Bug::PurgesLive => true,
        Bug::PurgesNothing => return false,
        _ => now.since(watch.1) >= record.ttl.max(record.quarantine),
    };
    let before = past.and_then(|past| past.purged);
    let asked = Asked::Purge { mark, watched };
    let deleted = contract::apply(&mut election.record, past, at_nothing(now), asked);
    if let (Bug::PurgeForgetsTokens, Some(past)) = (bug, past) {
        past.purged = before;
    }
    deleted == Told::Purged
}

/// The circumstances of a step that is not the first of its connection.
fn at_nothing(now: Instant) -> Moment {
    let fresh = tenure_core::Stamp::from_bits(0);
    Moment { now, identity: 0, fresh, first: false, trust_empty_store: false }
}

/// One atomic step.
pub(super) struct Step<'a> {
    pub(super) bug: Bug,
    pub(super) at: Moment,
    pub(super) past: &'a mut Option<Past>,
    pub(super) election: &'a mut Election,
}

impl Step<'_> {
    pub(super) fn carry_out(mut self, request: Request) -> Reply {
        let Some(asked) = request.to_contract() else { return self.of_people(request) };
        let profile = match request {
            Request::Acquire { profile, .. } => Some(profile),
            _ => None,
        };
        let before = self.election.record.map(|record| record.token);
        let reply = match asked {
            Asked::Acquire(mut asks) => {
                asks.holder = self.taken_for(asks.holder, profile.as_ref());
                self.acquire(asks)
            }
            Asked::Renew { .. } => self.renew(asked),
            Asked::Release { .. } => self.release(asked),
            Asked::Look { .. } => self.look(asked),
            Asked::Ask { .. } => self.ask(asked),
            Asked::Want { .. } | Asked::Purge { .. } => self.want(asked),
        };
        if let Told::Granted { token } = reply
            && (before != Some(token) || self.bug == Bug::RetryDescribes)
        {
            self.election.profile = profile;
        }
        Reply::from_contract(self.hinted(reply), || self.profile())
    }

    fn of_people(&mut self, request: Request) -> Reply {
        match request {
            Request::Describe { holder, token, version, profile } => {
                self.describe((holder, token), version, profile)
            }
            Request::Notify { message } => self.notify(&message),
            _ => {
                let last = self.last();
                let (record, now) = (self.election.record, self.at.now);
                let sight = Sight { last, record, past: None, now };
                match self.hinted(Told::At(sight)) {
                    Told::At(sight) => Reply::At(Shown { sight, profile: self.profile() }),
                    _ => unreachable!("a look"),
                }
            }
        }
    }

    fn last(&self) -> Option<Token> {
        let purged = || self.past.and_then(|past| past.purged);
        self.election.record.map_or_else(purged, |record| Some(record.token))
    }

    fn profile(&self) -> Option<Profile> {
        let profile = self.election.profile.clone()?;
        self.election.record?;
        if self.bug != Bug::ShortensNames {
            return Some(profile);
        }
        let name: String = profile.name().chars().take(64).collect();
        Some(Profile::new(name, profile.metadata().clone()).unwrap())
    }

    /// The reply with the bug's hints.
    fn hinted(&self, reply: Told) -> Told {
        let told = |mut sight: Sight| {
            match (self.bug, &mut sight.record) {
                (Bug::TellsNoSettings, Some(record)) => record.quarantine = Duration::ZERO,
                (Bug::TellsNoReservation, Some(record)) => record.reservation = None,
                (Bug::TellsNoAge, Some(record)) => record.written = self.at.now,
                _ => {}
            }
            sight
        };
        match reply {
            Told::At(sight) => Told::At(told(sight)),
            Told::Not(sight) => Told::Not(told(sight)),
            Told::Renewed { asked, wanted, past } => {
                let past = past.filter(|_| self.bug != Bug::RenewalsTellNoPast);
                Told::Renewed { asked, wanted, past }
            }
            other => other,
        }
    }

    /// The holder that the store takes the candidate for.
    fn taken_for(&self, holder: HolderId, profile: Option<&Profile>) -> HolderId {
        let known = self.election.profile.as_ref().map(Profile::name);
        match (self.bug, self.held()) {
            (Bug::ComparesNames, Some(lease)) if known == profile.map(Profile::name) => {
                lease.holder
            }
            (Bug::ShortHolders, Some(lease))
                if lease.holder.to_bits() >> 64 == holder.to_bits() >> 64 =>
            {
                lease.holder
            }
            _ => holder,
        }
    }

    fn apply(&mut self, request: Asked) -> Told {
        contract::apply(&mut self.election.record, self.past, self.at, request)
    }

    fn held(&self) -> Option<Record> {
        self.election.record.filter(|record| !record.released)
    }

    #[allow(clippy::too_many_lines, reason = "an arm for each bug")]
    fn acquire(&mut self, mut asks: Acquire) -> Told {
        let (before, held) = (self.election.record, self.held());
        let (last, knows) = (self.last(), asks.seen);
        let is_held = held.is_some_and(|lease| lease.holder != asks.holder);
        match self.bug {
            Bug::NeverGrants => {
                let (now, record) = (self.at.now, None);
                return Told::Not(Sight { last: None, record, past: None, now });
            }
            Bug::GrantsWhenHeld if is_held => asks.mark = before.map(|lease| lease.mark()),
            Bug::AnyMark => asks.mark = asks.mark.and(before.map(|lease| lease.mark())),
            Bug::MarkOfTheHolder => {
                asks.mark = asks.mark.map(|mark| match before {
                    Some(lease) if lease.holder == mark.holder => lease.mark(),
                    _ => mark,
                });
            }
            Bug::MarkOfTheNumber => {
                asks.mark = asks.mark.map(|mark| match before {
                    Some(lease) if lease.number == mark.number => lease.mark(),
                    _ => mark,
                });
            }
            Bug::NeverTaken => asks.mark = None,
            Bug::IgnoresSeen => asks.seen = asks.seen.max(last),
            Bug::ProofIgnored => asks.lost = Some(tenure_core::Loss { last }),
            Bug::AnyLossCounts => {
                asks.lost = asks.lost.map(|_| tenure_core::Loss { last });
            }
            Bug::StampsForEver if asks.seen > last => {
                if let Some(past) = self.past.as_mut() {
                    past.watched = past.watched.max(Duration::from_nanos(1));
                }
            }
            Bug::RetryIsNewTenure if held.is_some() && !is_held => {
                self.election.record = None;
                asks.seen = last;
            }
            Bug::SettingsIgnored => {
                if let Some(record) = &mut self.election.record {
                    (record.ttl, record.quarantine) = (Duration::ZERO, Duration::from_secs(99_999));
                }
            }
            Bug::ReservationIgnored => {
                if let Some(record) = &mut self.election.record {
                    record.reservation = None;
                }
            }
            Bug::ForgetsLongTtls => {
                if let Some(past) = self.past.as_mut() {
                    past.longest = Duration::ZERO;
                }
            }
            Bug::AnyStampCounts => {
                if let (Some(watch), Some(past)) = (&mut asks.stamp, &*self.past) {
                    watch.stamp = past.stamp;
                }
            }
            Bug::LastWatchCounts => {
                if let (Some(watch), Some(past)) = (asks.stamp, self.past.as_mut())
                    && watch.stamp == past.stamp
                {
                    past.watched = Duration::ZERO;
                }
            }
            Bug::LeaderNeedNotWatch if held.is_some() && !is_held => {
                asks.quarantine = Duration::ZERO;
                if let Some(past) = self.past.as_mut() {
                    past.longest = Duration::ZERO;
                }
            }
            _ => {}
        }
        let mut reply = self.apply(Asked::Acquire(asks));
        if self.bug == Bug::WatchIsForgotten
            && let Some(past) = self.past.as_mut()
        {
            past.watched = Duration::ZERO;
        }
        let Told::Granted { token } = &mut reply else {
            if self.bug == Bug::SettingsIgnored || self.bug == Bug::ReservationIgnored {
                self.election.record = before;
            }
            return reply;
        };
        let record = self.election.record.as_mut().unwrap();
        let is_new = held.is_none_or(|lease| lease.token != *token);
        match self.bug {
            Bug::TokenStandsStill if is_new => *token = before.map_or(*token, |last| last.token),
            Bug::TokenWithoutFloor if is_new => {
                *token = before.map_or(Token::FIRST, |last| last.token.next());
            }
            Bug::TokenBelowSeen if knows > last && before.is_some() => {
                *token = before.unwrap().token.next();
            }
            Bug::PurgeForgetsTokens if before.is_none() && knows.is_none() => {
                *token = Token::FIRST;
            }
            Bug::RetryChangesSettings if !is_new => record.ttl = asks.ttl,
            Bug::RetryKeepsMark if !is_new => record.number = before.unwrap().number,
            Bug::OlderRetryCounts if !is_new => record.number = asks.number,
            Bug::WishOutlivesTenure if is_new => {
                record.wanted = before.and_then(|last| last.wanted);
            }
            _ => {}
        }
        record.token = *token;
        reply
    }

    fn renew(&mut self, mut request: Asked) -> Told {
        let Asked::Renew { token, number, stamp, .. } = &mut request else {
            unreachable!("a renewal");
        };
        let (before, watch, late) = (self.election.record, *stamp, *number);
        let is_newer = before.is_some_and(|record| late > record.number);
        match (self.bug, &mut self.election.record) {
            (Bug::RenewsUnknown, None) | (Bug::RenewsNothing, _) => {
                return Told::Renewed { asked: None, wanted: None, past: None };
            }
            (Bug::RenewsAnyToken, Some(record)) => *token = record.token,
            (Bug::Resurrects, Some(record)) => record.released = false,
            (Bug::LeaderWatchesInVain, _) => *stamp = None,
            _ => {}
        }
        if self.bug == Bug::RenewalsExamineNothing {
            self.at.first = false;
        }
        let reply = self.apply(request);
        let (Told::Renewed { .. }, Some(record)) = (reply, &mut self.election.record) else {
            if self.bug == Bug::Resurrects {
                self.election.record = before;
            }
            return reply;
        };
        match self.bug {
            Bug::OlderRenewalCounts => record.number = late,
            Bug::AskStays => record.asked = before.and_then(|record| record.asked),
            Bug::AskIsToldToOlder if !is_newer => record.asked = None,
            Bug::OlderRenewalWatches if !is_newer => {
                if let (Some(watch), Some(past)) = (watch, self.past.as_mut())
                    && past.stamp == watch.stamp
                {
                    past.watched = past.watched.max(watch.time);
                }
            }
            _ => {}
        }
        reply
    }

    fn release(&mut self, mut request: Asked) -> Told {
        let Asked::Release { holder, token, .. } = &mut request else {
            unreachable!("a release");
        };
        match (self.bug, self.held()) {
            (Bug::ReleasesNothing, Some(_)) => return Told::Released,
            (Bug::ReleasesForAnybody, Some(lease)) => {
                (*holder, *token) = (lease.holder, lease.token);
            }
            _ => {}
        }
        let reply = self.apply(request);
        if reply == Told::Released {
            if self.bug != Bug::HintsNobody {
                let _ = self.election.hints.send(());
            }
            if let (Bug::ReleaseChangesMark, Some(record)) = (self.bug, &mut self.election.record) {
                record.number = RequestId::new(record.number.get() + 1).unwrap();
            }
        }
        reply
    }

    fn look(&mut self, request: Asked) -> Told {
        if self.bug == Bug::LooksExamineNothing {
            self.at.first = false;
        }
        let reply = self.apply(request);
        if let (Bug::LooksRenew, Some(record)) = (self.bug, &mut self.election.record) {
            record.number = RequestId::new(record.number.get() + 1).unwrap();
        }
        reply
    }

    fn ask(&mut self, mut request: Asked) -> Told {
        let Asked::Ask { token, asked, .. } = &mut request else { unreachable!("an ask") };
        if let Some(record) = &mut self.election.record {
            match self.bug {
                Bug::AsksOfAnyToken => *token = record.token,
                Bug::LastAskCounts if record.token == *token => record.asked = Some(*asked),
                _ => {}
            }
        }
        let asked = *asked;
        let reply = self.apply(request);
        match (self.bug, &mut self.election.record, reply) {
            (Bug::LastAskCounts, Some(record), Told::At(sight)) if record.asked.is_some() => {
                record.asked = Some(asked);
                Told::At(Sight { record: Some(*record), ..sight })
            }
            _ => reply,
        }
    }

    fn want(&mut self, mut request: Asked) -> Told {
        if let (Bug::WishesOfAnyToken, Some(lease), Asked::Want { token, .. }) =
            (self.bug, self.held(), &mut request)
        {
            *token = lease.token;
        }
        let reply = self.apply(request);
        if reply == Told::Noted && !matches!(self.bug, Bug::HintsNobody | Bug::HintsNoWish) {
            let _ = self.election.hints.send(());
        }
        reply
    }

    fn describe(&mut self, tenure: (HolderId, Token), version: u64, profile: Profile) -> Reply {
        let Some(record) = self.election.record else { return Reply::NotHeld };
        if (record.holder, record.token) != tenure && self.bug != Bug::DescribesAnyTenure {
            return Reply::NotHeld;
        }
        let known = self.election.described;
        let is_newer = match self.bug {
            Bug::DescribesNothing => false,
            Bug::DescribesAnyVersion => true,
            Bug::VersionsOfAllTenures => known.map(|(_, version)| version) < Some(version),
            _ => known < Some((tenure.1, version)),
        };
        if is_newer {
            self.election.described = Some((tenure.1, version));
            self.election.profile = Some(profile);
        }
        Reply::Described
    }

    fn notify(&self, message: &Message) -> Reply {
        let lease = match self.bug {
            Bug::TellsNobody => self.election.record,
            _ => self.held(),
        };
        let Some(Record { token, .. }) = lease else { return Reply::Vacant };
        let copies = match self.bug {
            Bug::LosesMessages => 0,
            Bug::DoublesMessages => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let _ = self.election.messages.send((token, message.clone()));
        }
        Reply::Notified { token }
    }
}
