//! A store over the contract as code, and the same with one thing wrong.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::Stream;
use tenure::store::{
    Hint, Incumbent, Key, Message, Profile, Reply, Request, Store, StoreError, StoreErrorKind,
    StoreTraits,
};
use tenure::{HolderId, Instant, Token};
use tenure_core::contract::{self, History, Moment, Record};
use tenure_sim::conformance::{Data, Mishap};
use tokio::sync::{broadcast, watch};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    NeverGrants,
    GrantsWhenHeld,
    IgnoresSeen,
    TokenStandsStill,
    TokenWithoutFloor,
    TokenBelowSeen,
    RetryIsNewTenure,
    RetryShortens,
    Resurrects,
    MovesEndBack,
    RenewsNothing,
    RenewsAnyToken,
    RemainingAboveTtl,
    ReleasesNothing,
    ReleasesForAnybody,
    LeasesNeverEnd,
    HintsNobody,
    RenewsUnknown,
    ShortensNames,
    OneRecord,
    KeysAlike,
    StuckWhenDropped,
    FirstLeadsAtOnce,
    RepeatsWithoutWait,
    QuarantineOfTheGrant,
    QuarantineForEver,
    ProofIgnored,
    IdentityKept,
    TrustsEmpty,
    SettingsIgnored,
    ForgetsLongTtls,
    RenewalsCompareNothing,
    TellsNoTtl,
    LosesMessages,
    DoublesMessages,
    TellsEverybody,
    TellsNobody,
    ComparesNames,
    ShortHolders,
    WholeSeconds,
    Tenths,
    EndsAtWholeSeconds,
    RemainingIsTtl,
    TimeoutIsRefusal,
}

/// A server in memory. Clones are connections to it.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    bug: Bug,
    traits: StoreTraits,
    kept: Arc<Mutex<Kept>>,
    /// A request was given up half way.
    stuck: Arc<AtomicBool>,
    /// No answer comes.
    slow: Arc<watch::Sender<bool>>,
}

#[derive(Debug, Default)]
struct Kept {
    identity: u128,
    history: Option<History>,
    elections: BTreeMap<String, Election>,
}

#[derive(Debug)]
struct Election {
    record: Option<Record>,
    profile: Option<Profile>,
    hints: broadcast::Sender<()>,
    messages: broadcast::Sender<(Token, Message)>,
}

impl Default for Election {
    fn default() -> Self {
        let (hints, messages) = (broadcast::Sender::new(16), broadcast::Sender::new(256));
        Self { record: None, profile: None, hints, messages }
    }
}

impl Server {
    pub(crate) fn new(bug: Bug) -> Self {
        let mut traits = StoreTraits::new("in memory");
        traits.least_ttl = Duration::from_millis(60);
        traits.messages = true;
        Self { bug, traits, kept: Arc::default(), stuck: Arc::default(), slow: Arc::default() }
    }

    pub(crate) fn declaring(mut self, change: fn(&mut StoreTraits)) -> Self {
        change(&mut self.traits);
        self
    }

    pub(crate) fn replace(&self, data: Data) {
        let mut kept = self.kept.lock().unwrap();
        if self.bug != Bug::IdentityKept {
            kept.identity += 1;
        }
        if data == Data::Lost {
            *kept = Kept { identity: kept.identity, ..Kept::default() };
        }
    }

    pub(crate) fn suffer(&self, mishap: Mishap) {
        let mut kept = self.kept.lock().unwrap();
        let Kept { identity, history, elections } = &mut *kept;
        match mishap {
            Mishap::LeasesEnd => {
                for record in elections.values_mut().filter_map(|election| election.record.as_mut())
                {
                    record.lease_end = Instant::ORIGIN;
                }
            }
            Mishap::LongTime => {
                if let Some(history) = history {
                    history.known_since = Instant::ORIGIN;
                }
            }
            Mishap::OtherServer if self.bug == Bug::IdentityKept => {}
            Mishap::OtherServer => *identity += 1,
            Mishap::HistoryLost => *history = None,
            Mishap::AllLost => *kept = Kept { identity: *identity, ..Kept::default() },
        }
    }

    pub(crate) fn slow(&self, is_slow: bool) {
        self.slow.send_replace(is_slow);
    }

    fn named(&self, key: &Key) -> String {
        match self.bug {
            Bug::OneRecord => String::new(),
            Bug::KeysAlike => key.as_str().trim().to_lowercase(),
            _ => key.as_str().to_owned(),
        }
    }

    fn step(&self, key: &Key, request: Request) -> Reply {
        let mut kept = self.kept.lock().unwrap();
        let Kept { identity, history, elections } = &mut *kept;
        let trust_empty_store = matches!(self.bug, Bug::FirstLeadsAtOnce | Bug::TrustsEmpty);
        let compares_identity = self.bug != Bug::RenewalsCompareNothing;
        let at = Moment { now: now(), identity: *identity, trust_empty_store, compares_identity };
        let election = elections.entry(self.named(key)).or_default();
        Step { bug: self.bug, at, history, election }.carry_out(request)
    }
}

/// How long an answer is waited for.
const TIMEOUT: Duration = Duration::from_millis(50);

fn now() -> Instant {
    Instant::ORIGIN + SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

impl Store for Server {
    fn traits(&self) -> StoreTraits {
        self.traits.clone()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        if self.bug == Bug::StuckWhenDropped {
            if self.stuck.swap(true, Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            self.stuck.store(false, Ordering::SeqCst);
        }
        let mut slow = self.slow.subscribe();
        let answers = slow.wait_for(|is_slow| !is_slow);
        if tokio::time::timeout(TIMEOUT, answers).await.is_err() {
            return match (self.bug, request) {
                (Bug::TimeoutIsRefusal, Request::Renew { .. }) => {
                    Ok(Reply::Superseded { last: None })
                }
                (Bug::TimeoutIsRefusal, Request::Release { .. }) => Ok(Reply::NotHeld),
                _ => Err(StoreError::new(StoreErrorKind::Timeout, "no answer came")),
            };
        }
        Ok(self.step(key, request))
    }

    fn hints(&self, key: &Key) -> impl Stream<Item = Hint> + Send + 'static {
        let mut kept = self.kept.lock().unwrap();
        let hints = kept.elections.entry(self.named(key)).or_default().hints.subscribe();
        futures_util::stream::unfold((true, hints), |(is_fresh, mut hints)| async move {
            if !is_fresh {
                hints.recv().await.ok()?;
            }
            Some((Hint, (false, hints)))
        })
    }

    fn messages(&self, key: &Key, token: Token) -> impl Stream<Item = Message> + Send + 'static {
        let mut kept = self.kept.lock().unwrap();
        let messages = kept.elections.entry(self.named(key)).or_default().messages.subscribe();
        let everybody = self.bug == Bug::TellsEverybody;
        futures_util::stream::unfold(messages, move |mut messages| async move {
            loop {
                let (to, message) = messages.recv().await.ok()?;
                if everybody || to == token {
                    return Some((message, messages));
                }
            }
        })
    }
}

/// One atomic step.
struct Step<'a> {
    bug: Bug,
    at: Moment,
    history: &'a mut Option<History>,
    election: &'a mut Election,
}

impl Step<'_> {
    fn carry_out(mut self, request: Request) -> Reply {
        match request {
            Request::Acquire { holder, seen, ttl, quarantine, profile } => {
                let (holder, ttl) = (self.taken_for(holder, &profile), self.cut(ttl));
                let asked = tenure_core::Request::Acquire { holder, seen, ttl, quarantine };
                let reply = self.acquire(asked, seen);
                if let tenure_core::Reply::Granted { .. } = reply {
                    self.election.profile = Some(profile);
                }
                self.told(reply)
            }
            Request::Renew { holder, token, ttl } => {
                let ttl = self.cut(ttl);
                let reply = self.renew(tenure_core::Request::Renew { holder, token, ttl }, ttl);
                self.told(reply)
            }
            Request::Release { holder, token } => {
                let reply = self.release(tenure_core::Request::Release { holder, token });
                self.told(reply)
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

    fn apply(&mut self, request: tenure_core::Request) -> tenure_core::Reply {
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

    fn acquire(
        &mut self,
        mut request: tenure_core::Request,
        knows: Option<Token>,
    ) -> tenure_core::Reply {
        let tenure_core::Request::Acquire { holder, seen, ttl, quarantine } = &mut request else {
            unreachable!("an acquire");
        };
        let (before, live) = (self.election.record, self.live());
        let (own_ttl, now) = (*ttl, self.at.now);
        match self.bug {
            Bug::NeverGrants => return tenure_core::Reply::Stale { last: Token::FIRST },
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
        let tenure_core::Reply::Granted { token, wait } = &mut reply else { return reply };
        let record = self.election.record.as_mut().unwrap();
        let is_new = live.is_none_or(|lease| lease.token != *token);
        match self.bug {
            Bug::TokenStandsStill if is_new => *token = before.map_or(*token, |last| last.token),
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

    fn renew(&mut self, mut request: tenure_core::Request, ttl: Duration) -> tenure_core::Reply {
        let tenure_core::Request::Renew { holder, token, .. } = &mut request else {
            unreachable!("a renewal");
        };
        let (holder, now) = (*holder, self.at.now);
        match (self.bug, &mut self.election.record) {
            (Bug::RenewsUnknown, None) => return tenure_core::Reply::Renewed,
            (Bug::RenewsNothing, _) => return tenure_core::Reply::Renewed,
            (Bug::RenewsAnyToken, Some(record)) => *token = record.token,
            (Bug::Resurrects, Some(record)) if record.holder == holder && !record.released => {
                record.lease_end = record.lease_end.max(now + ttl);
            }
            _ => {}
        }
        let reply = self.apply(request);
        if let (Bug::MovesEndBack, tenure_core::Reply::Renewed, Some(record)) =
            (self.bug, reply, &mut self.election.record)
        {
            record.lease_end = now + ttl;
        }
        reply
    }

    fn release(&mut self, mut request: tenure_core::Request) -> tenure_core::Reply {
        let tenure_core::Request::Release { holder, token } = &mut request else {
            unreachable!("a release");
        };
        match (self.bug, self.live()) {
            (Bug::ReleasesNothing, Some(_)) => return tenure_core::Reply::Released,
            (Bug::ReleasesForAnybody, Some(lease)) => {
                (*holder, *token) = (lease.holder, lease.token);
            }
            _ => {}
        }
        let reply = self.apply(request);
        if reply == tenure_core::Reply::Released && self.bug != Bug::HintsNobody {
            let _ = self.election.hints.send(());
        }
        reply
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

    fn told(&self, reply: tenure_core::Reply) -> Reply {
        match reply {
            tenure_core::Reply::Granted { token, wait } => Reply::Granted { token, wait },
            tenure_core::Reply::Held { .. } => self.incumbent().map_or(Reply::Vacant, Reply::Held),
            tenure_core::Reply::Refused { ttl, quarantine } => Reply::Refused { ttl, quarantine },
            tenure_core::Reply::Stale { last } => Reply::Stale { last },
            tenure_core::Reply::Renewed => Reply::Renewed,
            tenure_core::Reply::Superseded { last } => Reply::Superseded { last },
            tenure_core::Reply::Released => Reply::Released,
            tenure_core::Reply::NotHeld => Reply::NotHeld,
        }
    }
}
