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
use tenure_core::contract::{Moment, Past, Record};
use tenure_core::{Mark, Stamp};
use tenure_sim::conformance::{Data, Mishap};
use tokio::sync::{broadcast, watch};

use step::Step;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    NeverGrants,
    GrantsWhenHeld,
    AnyMark,
    MarkOfTheHolder,
    MarkOfTheNumber,
    NeverTaken,
    IgnoresSeen,
    TokenStandsStill,
    TokenWithoutFloor,
    TokenBelowSeen,
    RetryIsNewTenure,
    RetryChangesSettings,
    RetryKeepsMark,
    OlderRetryCounts,
    Resurrects,
    SettingsIgnored,
    ReservationIgnored,
    ReleaseChangesMark,
    OneAnswerForAll,
    AnswersByKey,
    LastOfCallFirst,
    RenewsNothing,
    RenewsAnyToken,
    OlderRenewalCounts,
    ReleasesNothing,
    ReleasesForAnybody,
    EndsLeases,
    NeverEndsLeases,
    HintsNobody,
    HintsNoWish,
    AskStays,
    AskIsToldToOlder,
    AsksOfAnyToken,
    LastAskCounts,
    WishesOfAnyToken,
    WishOutlivesTenure,
    RenewsUnknown,
    TellsNoSettings,
    TellsNoReservation,
    TellsNoAge,
    LooksRenew,
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
    WatchIsForgotten,
    AnyStampCounts,
    LastWatchCounts,
    LeaderNeedNotWatch,
    RenewalsTellNoPast,
    LeaderWatchesInVain,
    OlderRenewalWatches,
    ForgetsLongTtls,
    ProofIgnored,
    AnyLossCounts,
    StampsForEver,
    LooksExamineNothing,
    RenewalsExamineNothing,
    StampsByRequest,
    IdentityKept,
    TrustsEmpty,
    LosesMessages,
    DoublesMessages,
    TellsEverybody,
    TellsNobody,
    ComparesNames,
    ShortHolders,
    TimeoutIsRefusal,
    PurgesLive,
    PurgesWithoutMark,
    PurgesNothing,
    PurgeForgetsTokens,
    ListsHeldAlone,
    ListsOneStep,
}

/// A connection to a server in memory.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    bug: Bug,
    traits: StoreTraits,
    /// True if it can delete and list records.
    tends: bool,
    kept: Arc<Mutex<Kept>>,
    /// A request was given up half way.
    stuck: Arc<AtomicBool>,
    /// No answer comes.
    slow: Arc<watch::Sender<bool>>,
    /// True if it has sent a request.
    is_used: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Kept {
    identity: u128,
    /// The number of requests carried out.
    steps: u64,
    past: Option<Past>,
    elections: BTreeMap<String, Election>,
}

#[derive(Debug)]
struct Election {
    record: Option<Record>,
    profile: Option<Profile>,
    described: Option<(Token, u64)>,
    /// The mark that purges have seen, and since when.
    purging: Option<(Mark, Instant)>,
    hints: broadcast::Sender<()>,
    messages: broadcast::Sender<(Token, Message)>,
}

impl Default for Election {
    fn default() -> Self {
        let (hints, messages) = (broadcast::Sender::new(16), broadcast::Sender::new(256));
        Self { record: None, profile: None, described: None, purging: None, hints, messages }
    }
}

impl Server {
    pub(crate) fn new(bug: Bug) -> Self {
        let mut traits = StoreTraits::new("in memory");
        traits.least_ttl = Duration::from_millis(60);
        traits.messages = true;
        traits.renewals_in_call = 3;
        traits.acquires_in_call = 3;
        traits.looks_in_call = 3;
        traits.ends_leases = bug == Bug::NeverEndsLeases;
        let (kept, stuck, slow) = (Arc::default(), Arc::default(), Arc::default());
        Self { bug, traits, tends: true, kept, stuck, slow, is_used: Arc::default() }
    }

    /// Another connection to the same server.
    pub(crate) fn connection(&self) -> Self {
        Self { is_used: Arc::default(), ..self.clone() }
    }

    pub(crate) fn without_purge_and_listing(mut self) -> Self {
        self.tends = false;
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
            kept.lose_all();
        }
    }

    pub(crate) fn suffer(&self, mishap: Mishap) {
        let mut kept = self.kept.lock().unwrap();
        match mishap {
            Mishap::RecordsLost => kept.elections.clear(),
            Mishap::OtherServer if self.bug == Bug::IdentityKept => {}
            Mishap::OtherServer => kept.identity += 1,
            Mishap::PastLost => kept.past = None,
            Mishap::AllLost => kept.lose_all(),
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
        // An observer examines nothing.
        let first = request != Request::Observe && !self.is_used.swap(true, Ordering::SeqCst);
        let mut kept = self.kept.lock().unwrap();
        let Kept { identity, steps, past, elections } = &mut *kept;
        *steps += 1;
        let by_request = match (self.bug, request.to_contract()) {
            (Bug::StampsByRequest, Some(tenure_core::Request::Acquire(asks))) => {
                Some(asks.number.get())
            }
            _ => None,
        };
        let fresh = Stamp::from_bits(by_request.unwrap_or(*steps).into());
        let trust_empty_store = matches!(self.bug, Bug::FirstLeadsAtOnce | Bug::TrustsEmpty);
        let (now, identity) = (now(), *identity);
        let at = Moment { now, identity, fresh, first, trust_empty_store };
        let election = elections.entry(self.named(key)).or_default();
        let ends = self.traits.ends_leases || self.bug == Bug::EndsLeases;
        if let Some(record) = &mut election.record
            && ends
            && self.bug != Bug::NeverEndsLeases
            && now.since(record.written) >= record.ttl
        {
            record.released = true;
        }
        Step { bug: self.bug, at, past, election }.carry_out(request)
    }
}

impl Kept {
    /// Also how many requests there were would be lost: a server has a clock, or draws its stamps.
    fn lose_all(&mut self) {
        *self = Self { identity: self.identity, steps: self.steps, ..Self::default() };
    }
}

/// The time to wait for an answer.
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

    async fn purge(&self, _: Duration) -> Result<u64, StoreError> {
        if !self.tends {
            return Err(StoreError::new(StoreErrorKind::Unsupported, "there is no purge"));
        }
        let mut kept = self.kept.lock().unwrap();
        let Kept { past, elections, .. } = &mut *kept;
        let purged = elections.values_mut().map(|election| step::purge(self.bug, past, election));
        Ok(purged.map(u64::from).sum())
    }

    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        if !self.tends {
            return Err(StoreError::new(StoreErrorKind::Unsupported, "there is no listing"));
        }
        let kept = self.kept.lock().unwrap();
        let is_listed = |election: &&Election| {
            let record = election.record.as_ref();
            record.is_some_and(|record| self.bug != Bug::ListsHeldAlone || !record.released)
        };
        let listed = kept.elections.iter().filter(|(_, election)| is_listed(election));
        let most = if self.bug == Bug::ListsOneStep { 256 } else { usize::MAX };
        Ok(listed.map(|(key, _)| Key::new(key).unwrap()).take(most).collect())
    }

    async fn call_all(&self, requests: Vec<(Key, Request)>) -> Vec<Result<Reply, StoreError>> {
        let calls = requests.iter().map(|(key, request)| self.call(key, request.clone()));
        let mut results = if self.bug == Bug::LastOfCallFirst {
            let mut results = futures_util::future::join_all(calls.rev()).await;
            results.reverse();
            results
        } else {
            futures_util::future::join_all(calls).await
        };
        if self.bug == Bug::OneAnswerForAll
            && let Some(last) = results.last().cloned()
        {
            results.fill(last);
        }
        if self.bug == Bug::AnswersByKey {
            let both = requests.iter().zip(&results);
            let renewed: BTreeMap<_, _> = both
                .filter(|(_, result)| matches!(result, Ok(Reply::Renewed { .. })))
                .map(|((key, _), result)| (key, result.clone()))
                .collect();
            for ((key, _), result) in requests.iter().zip(&mut results) {
                if let Some(renewed) = renewed.get(key) {
                    result.clone_from(renewed);
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
