//! One request as the contract has it, with the bug.

use std::time::Duration;

use tenure::store::{Incumbent, Message, Profile, Reply, Request};
use tenure::{HolderId, Token};
use tenure_core::contract::{self, History, Moment, Record};
use tenure_core::{Reply as Told, Request as Asked};

use super::{Bug, Election};

/// The deletion of a record, with the bug.
pub(super) fn purge(
    bug: Bug,
    history: &mut Option<History>,
    election: &mut Election,
    age: Duration,
) -> bool {
    let now = super::now();
    let Some(record) = election.record else { return false };
    let deleted = match bug {
        Bug::PurgesNothing => false,
        Bug::PurgesLive => election.record.take().is_some(),
        Bug::PurgesRecent => election.record.take_if(|record| !record.is_live(now)).is_some(),
        _ => contract::purge(&mut election.record, history, now, age),
    };
    if deleted {
        election.purged = Some(record.token);
    }
    if let (Bug::PurgeForgetsHistory, Some(history)) = (bug, history) {
        history.purged = None;
    }
    deleted
}

/// One atomic step.
pub(super) struct Step<'a> {
    pub(super) bug: Bug,
    pub(super) at: Moment,
    pub(super) history: &'a mut Option<History>,
    pub(super) election: &'a mut Election,
}

impl Step<'_> {
    pub(super) fn carry_out(mut self, request: Request) -> Reply {
        match request {
            Request::Acquire { holder, seen, ttl, quarantine, profile } => {
                let (holder, ttl) = (self.taken_for(holder, &profile), self.cut(ttl));
                let asked = Asked::Acquire { holder, seen, ttl, quarantine };
                let before = self.election.record.map(|record| record.token);
                let reply = self.acquire(asked, seen);
                if let Told::Granted { token, .. } = reply
                    && (before != Some(token) || self.bug == Bug::RetryDescribes)
                {
                    self.election.profile = Some(profile);
                }
                self.told(reply)
            }
            Request::Renew { holder, token, ttl } => {
                let ttl = self.cut(ttl);
                let reply = self.renew(Asked::Renew { holder, token, ttl }, ttl);
                self.told(reply)
            }
            Request::Release { holder, token } => {
                let reply = self.release(Asked::Release { holder, token });
                self.told(reply)
            }
            Request::Describe { holder, token, version, profile } => {
                self.describe((holder, token), version, profile)
            }
            Request::Observe => self.incumbent().map_or(Reply::Vacant, Reply::Held),
            Request::Notify { message } => self.notify(&message),
        }
    }

    /// The holder that the store takes the candidate for.
    fn taken_for(&self, holder: HolderId, profile: &Profile) -> HolderId {
        let named = |known: &&Profile| known.name() == profile.name();
        match (self.bug, self.live()) {
            (Bug::ComparesNames, Some(lease)) => {
                self.election.profile.as_ref().filter(named).map_or(holder, |_| lease.holder)
            }
            (Bug::ShortHolders, Some(lease))
                if lease.holder.to_bits() >> 64 == holder.to_bits() >> 64 =>
            {
                lease.holder
            }
            _ => holder,
        }
    }

    /// The TTL as the store keeps it.
    fn cut(&self, ttl: Duration) -> Duration {
        let millis = u64::try_from(ttl.as_millis()).unwrap();
        match self.bug {
            Bug::WholeSeconds => Duration::from_secs(ttl.as_secs()),
            Bug::Tenths => Duration::from_millis(millis / 100 * 100),
            _ => ttl,
        }
    }

    fn apply(&mut self, request: Asked) -> Told {
        contract::apply(&mut self.election.record, self.history, self.at, request)
    }

    fn live(&self) -> Option<Record> {
        let cut = match self.bug {
            // What is told of it is right.
            Bug::EndsAtWholeSeconds => {
                self.election.record.map_or(0, |lease| lease.ttl.subsec_nanos())
            }
            _ => 0,
        };
        let now = self.at.now + Duration::from_nanos(cut.into());
        self.election.record.filter(|record| record.is_live(now))
    }

    fn acquire(&mut self, mut request: Asked, knows: Option<Token>) -> Told {
        let Asked::Acquire { holder, seen, ttl, quarantine } = &mut request else {
            unreachable!("an acquire");
        };
        let (before, live) = (self.election.record, self.live());
        let (own_ttl, now) = (*ttl, self.at.now);
        match self.bug {
            Bug::NeverGrants => return Told::Stale { last: Token::FIRST },
            Bug::GrantsWhenHeld if live.is_some_and(|lease| lease.holder != *holder) => {
                self.election.record = None;
            }
            Bug::IgnoresSeen | Bug::ProofIgnored => {
                let last = before.map(|lease| lease.token);
                *seen = if self.bug == Bug::IgnoresSeen {
                    (*seen).max(last)
                } else {
                    (*seen).min(last)
                };
            }
            Bug::RetryIsNewTenure if live.is_some_and(|lease| lease.holder == *holder) => {
                self.election.record = None;
                *seen = before.map(|lease| lease.token);
            }
            Bug::SettingsIgnored => {
                if let Some(record) = &mut self.election.record {
                    (record.ttl, record.quarantine) = (Duration::ZERO, None);
                }
            }
            Bug::ForgetsLongTtls => {
                if let Some(history) = self.history {
                    history.longest_ttl = Duration::ZERO;
                }
            }
            Bug::LeasesNeverEnd => *ttl = Duration::from_secs(3_600),
            Bug::QuarantineOfTheGrant if live.is_none() => *self.history = None,
            Bug::QuarantineForEver => {
                *quarantine += now.since(self.history.map_or(now, |known| known.known_since));
            }
            _ => {}
        }
        let mut reply = self.apply(request);
        let Told::Granted { token, wait } = &mut reply else { return reply };
        let record = self.election.record.as_mut().unwrap();
        let is_new = live.is_none_or(|lease| lease.token != *token);
        match self.bug {
            Bug::TokenStandsStill if is_new => *token = before.map_or(*token, |last| last.token),
            Bug::PurgeForgetsTokens if before.is_none() => {
                *token = self.election.purged.unwrap_or(*token);
            }
            Bug::TokenWithoutFloor if is_new => {
                *token = before.map_or(Token::FIRST, |last| last.token.next());
            }
            Bug::TokenBelowSeen if knows > before.map(|last| last.token) && before.is_some() => {
                *token = before.unwrap().token.next();
            }
            Bug::RetryShortens if !is_new => record.lease_end = now + own_ttl,
            Bug::RepeatsWithoutWait if !is_new => *wait = Duration::ZERO,
            _ => {}
        }
        record.token = *token;
        reply
    }

    fn renew(&mut self, mut request: Asked, ttl: Duration) -> Told {
        let Asked::Renew { holder, token, .. } = &mut request else {
            unreachable!("a renewal");
        };
        let (holder, now) = (*holder, self.at.now);
        match (self.bug, &mut self.election.record) {
            (Bug::RenewsUnknown, None) => return Told::Renewed,
            (Bug::RenewsNothing, _) => return Told::Renewed,
            (Bug::RenewsAnyToken, Some(record)) => *token = record.token,
            (Bug::Resurrects, Some(record)) if record.holder == holder && !record.released => {
                record.lease_end = record.lease_end.max(now + ttl);
            }
            _ => {}
        }
        let reply = self.apply(request);
        if let (Bug::MovesEndBack, Told::Renewed, Some(record)) =
            (self.bug, reply, &mut self.election.record)
        {
            record.lease_end = now + ttl;
        }
        reply
    }

    fn release(&mut self, mut request: Asked) -> Told {
        let Asked::Release { holder, token } = &mut request else {
            unreachable!("a release");
        };
        match (self.bug, self.live()) {
            (Bug::ReleasesNothing, Some(_)) => return Told::Released,
            (Bug::ReleasesForAnybody, Some(lease)) => {
                (*holder, *token) = (lease.holder, lease.token);
            }
            _ => {}
        }
        let reply = self.apply(request);
        if reply == Told::Released && self.bug != Bug::HintsNobody {
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
            _ => self.live(),
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

    fn incumbent(&self) -> Option<Incumbent> {
        let (record, profile) = (self.live()?, self.election.profile.as_ref()?);
        let remaining = match self.bug {
            Bug::RemainingAboveTtl => record.lease_end.since(self.at.now),
            Bug::RemainingIsTtl => record.ttl,
            _ => record.remaining(self.at.now),
        };
        let name = match self.bug {
            Bug::ShortensNames => profile.name().chars().take(64).collect(),
            _ => profile.name().to_owned(),
        };
        let metadata = profile.metadata().clone();
        let incumbent = Incumbent::new(record.token, record.holder, name, metadata, remaining);
        Some(if self.bug == Bug::TellsNoTtl { incumbent } else { incumbent.with_ttl(record.ttl) })
    }

    fn told(&self, reply: Told) -> Reply {
        match reply {
            Told::Granted { token, wait } => Reply::Granted { token, wait },
            Told::Held { .. } => self.incumbent().map_or(Reply::Vacant, Reply::Held),
            Told::Refused { ttl, quarantine } => Reply::Refused { ttl, quarantine },
            Told::Stale { last } => Reply::Stale { last },
            Told::Renewed => Reply::Renewed,
            Told::Superseded { last } => Reply::Superseded { last },
            Told::Released => Reply::Released,
            Told::NotHeld => Reply::NotHeld,
        }
    }
}
