//! A store over the contract as code, and the same with one thing wrong.

mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::{Stream, StreamExt};
use tenure::store::{
    Key, Message, Profile, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits, Watched,
};
use tenure::{Instant, Token};
use tenure_core::contract::{History, Moment, Record};
use tenure_sim::conformance::{Data, Mishap};
use tokio::sync::{broadcast, watch};

use step::Step;

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
    OneAnswerForAll,
    AnswersByKey,
    RenewsNothing,
    RenewsAnyToken,
    RemainingAboveTtl,
    ReleasesNothing,
    ReleasesForAnybody,
    LeasesNeverEnd,
    HintsNobody,
    RenewsUnknown,
    ShortensNames,
    DescribesAnyVersion,
    DescribesAnyTenure,
    VersionsOfAllTenures,
    DescribesNothing,
    RetryDescribes,
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
    PurgesLive,
    PurgesRecent,
    PurgesNothing,
    PurgeForgetsTokens,
    PurgeForgetsHistory,
}

/// A server in memory. Clones are connections to it.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    bug: Bug,
    traits: StoreTraits,
    /// Whether it can delete records.
    purges: bool,
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
    described: Option<(Token, u64)>,
    /// The token of the record that was purged.
    purged: Option<Token>,
    hints: broadcast::Sender<()>,
    messages: broadcast::Sender<(Token, Message)>,
}

impl Default for Election {
    fn default() -> Self {
        let (hints, messages) = (broadcast::Sender::new(16), broadcast::Sender::new(256));
        Self { record: None, profile: None, described: None, purged: None, hints, messages }
    }
}

impl Server {
    pub(crate) fn new(bug: Bug) -> Self {
        let mut traits = StoreTraits::new("in memory");
        traits.least_ttl = Duration::from_millis(60);
        traits.messages = true;
        traits.renewals_in_call = 3;
        traits.acquires_in_call = 3;
        let (kept, stuck, slow) = (Arc::default(), Arc::default(), Arc::default());
        Self { bug, traits, purges: true, kept, stuck, slow }
    }

    pub(crate) fn without_purge(mut self) -> Self {
        self.purges = false;
        self
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

    async fn purge(&self, age: Duration) -> Result<u64, StoreError> {
        if !self.purges {
            return Err(StoreError::new(StoreErrorKind::Unsupported, "there is no purge"));
        }
        let mut kept = self.kept.lock().unwrap();
        let Kept { history, elections, .. } = &mut *kept;
        let purged =
            elections.values_mut().map(|election| step::purge(self.bug, history, election, age));
        Ok(purged.map(u64::from).sum())
    }

    async fn call_all(&self, requests: Vec<(Key, Request)>) -> Vec<Result<Reply, StoreError>> {
        let calls = requests.iter().map(|(key, request)| self.call(key, request.clone()));
        let mut results = futures_util::future::join_all(calls).await;
        if self.bug == Bug::OneAnswerForAll
            && let Some(last) = results.last().cloned()
        {
            results.fill(last);
        }
        if self.bug == Bug::AnswersByKey {
            let both = requests.iter().zip(&results);
            let renewed: BTreeSet<_> = both
                .filter(|(_, result)| matches!(result, Ok(Reply::Renewed)))
                .map(|((key, _), _)| key)
                .collect();
            for ((key, _), result) in requests.iter().zip(&mut results) {
                if renewed.contains(key) {
                    *result = Ok(Reply::Renewed);
                }
            }
        }
        results
    }

    fn hints(&self, watched: Watched) -> impl Stream<Item = Key> + Send + 'static {
        let mut kept = self.kept.lock().unwrap();
        // The suite watches elections one at a time, and never changes which.
        let hints = watched.keys().into_iter().map(|key| {
            let hints = kept.elections.entry(self.named(&key)).or_default().hints.subscribe();
            futures_util::stream::unfold(
                (true, key, hints),
                |(is_fresh, key, mut hints)| async move {
                    if !is_fresh {
                        hints.recv().await.ok()?;
                    }
                    Some((key.clone(), (false, key, hints)))
                },
            )
            .boxed()
        });
        futures_util::stream::select_all(hints)
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
