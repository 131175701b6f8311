//! Every kind of request that candidates make, on an election of the doctor's own.
//!
//! A record outlives its lease, so the election is one of a few that are used again and again: no
//! run leaves more than one record, and all runs together leave at most [`ELECTIONS`]. The lease is
//! short, and is given back.
//!
//! **Not guaranteed**: that another key of the same store works. A record of an election can be
//! damaged for itself.

use std::pin::Pin;
use std::time::{Duration, SystemTime};

use futures_util::{Stream, StreamExt};
use tenure::store::contract::{Acquire, Asked, NameId, RequestId, WatchedStamp, Wish};
use tenure::store::{
    AnyStore, Key, Message, Profile, Reply, Request, Shown, Store, StoreTraits, Watched,
};
use tenure::{HolderId, Token};
use tokio::time::{Instant, sleep, timeout};

use super::kind::Kind;
use super::report::Report;
use super::round_trips::Samples;

/// So many elections are the doctor's.
const ELECTIONS: u64 = 16;
/// No store has a longer shortest one. As the quarantine, it is the wait at a store that is new.
const TTL: Duration = Duration::from_secs(1);
/// Longer than a store takes to connect.
const ANSWERS_WITHIN: Duration = Duration::from_secs(8);
/// The longest quarantine of others that is waited for.
const WATCHES_MOST: Duration = Duration::from_secs(20);
const WAKES_WITHIN: Duration = Duration::from_secs(3);
const RENEWALS: u64 = 12;
const LOOKS: u64 = 8;

/// The results of the requests, besides findings.
pub(super) struct Seen {
    /// True if the store has answered any request.
    pub(super) answers: bool,
    pub(super) samples: Samples,
    /// The store's clock minus this host's, in seconds, and the time that the answer took.
    pub(super) ahead: Option<(f64, Duration)>,
}

pub(super) async fn check(store: &AnyStore, report: &mut Report) -> Seen {
    let name = format!("tenure-doctor-{:x}", random() % u128::from(ELECTIONS));
    let (Ok(key), Ok(profile)) = (Key::new(&name), Profile::new("tenure doctor", "")) else {
        unreachable!("these are short")
    };
    let holder = HolderId::from_bits(random());
    let seen = Seen { answers: false, samples: Samples::default(), ahead: None };
    let mut patient = Patient { store, traits: store.traits(), key, profile, holder, report, seen };
    patient.examine().await;
    patient.seen
}

/// A number that no other run has drawn.
fn random() -> u128 {
    use std::hash::{BuildHasher, RandomState};

    let half = || u128::from(RandomState::new().hash_one(std::process::id()));
    half() << 64 | half()
}

struct Patient<'a> {
    store: &'a AnyStore,
    traits: StoreTraits,
    key: Key,
    profile: Profile,
    holder: HolderId,
    report: &'a mut Report,
    seen: Seen,
}

/// The request has failed, and the report says why.
struct Failed;

type Hints = Pin<Box<dyn Stream<Item = Key> + Send>>;

impl Patient<'_> {
    async fn examine(&mut self) {
        let look = Request::Look { seen: None, quarantine: TTL };
        let Ok(Reply::At(_)) = self.call(look).await else { return };
        self.looks().await;
        let mut hints: Hints = Box::pin(self.store.hints(Watched::only([self.key.clone()])));
        if self.traits.push {
            self.wakes(&mut hints, "after the subscription").await;
        }
        let Ok(Some(token)) = self.acquire().await else { return };
        // Each may fail for a reason of its own.
        let _ = self.lead(token).await;
        if self.traits.messages {
            self.message(token).await;
        }
        let release = Request::Release { holder: self.holder, token, reservation: None };
        if let Ok(Reply::Released) = self.call(release).await
            && self.traits.push
            && !self.report.has(Kind::WakeUpsMissing)
        {
            self.wakes(&mut hints, "after the release").await;
        }
    }

    /// Looks that write nothing.
    async fn looks(&mut self) {
        for _ in 0..LOOKS {
            let (sent, wall) = (Instant::now(), SystemTime::now());
            let Ok(Reply::At(shown)) = self.call(Request::Observe).await else { return };
            let took = sent.elapsed();
            self.seen.samples.looks.push(took);
            let ahead = ahead(&shown, wall, took);
            if self.seen.ahead.is_none_or(|(_, before)| took < before) {
                self.seen.ahead = ahead.map(|ahead| (ahead, took));
            }
        }
    }

    /// The token of a lease, if it was granted.
    async fn acquire(&mut self) -> Result<Option<Token>, Failed> {
        let (began, mut watched, mut mark, mut last) = (Instant::now(), None, None, None);
        let (mut stamps, mut number) = (0, RequestId::FIRST);
        loop {
            let stamp = watched
                .map(|(stamp, since): (_, Instant)| WatchedStamp { stamp, time: since.elapsed() });
            let name = NameId::from_bits(self.holder.to_bits());
            let first = Acquire::new(self.holder, number, TTL, name);
            let asks = Acquire { seen: last, mark, stamp, ..first };
            number = RequestId::new(number.get() + 1).unwrap_or(number);
            let shown =
                match self.call(Request::Acquire { asks, profile: self.profile.clone() }).await? {
                    Reply::Granted { token } => {
                        if watched.is_some() {
                            let waited = began.elapsed();
                            let text =
                                format!("a lease was granted after {waited:.1?} of watching");
                            self.report.add(Kind::Quarantine, text);
                        }
                        return Ok(Some(token));
                    }
                    Reply::Not(shown) => shown,
                    _ => return Ok(None),
                };
            last = shown.sight.last;
            let record = shown.sight.record.filter(|record| !record.released);
            // Of a run that was killed.
            mark = record.map(|record| record.mark());
            let mut wait = record.map_or(Duration::ZERO, |record| record.ttl);
            if let Some(past) = shown.sight.past {
                if watched.is_none_or(|(stamp, _)| stamp != past.stamp) {
                    (watched, stamps) = (Some((past.stamp, Instant::now())), stamps + 1);
                }
                wait = wait.max(past.longest.max(TTL));
            }
            if stamps > 3 {
                let text = format!(
                    "its identity has changed {} times within {:.1?}",
                    stamps - 1,
                    began.elapsed()
                );
                self.report.add(Kind::PastChanges, text);
                return Ok(None);
            }
            if wait > WATCHES_MOST {
                let text = format!(
                    "no lease is granted before the store was watched for {wait:?}: renewals and releases were not checked"
                );
                self.report.add(Kind::Quarantine, text);
                return Ok(None);
            }
            if began.elapsed() > WATCHES_MOST + ANSWERS_WITHIN {
                let text = format!("no lease of {} within {:.1?}", self.key, began.elapsed());
                self.report.add(Kind::NotGranted, text);
                return Ok(None);
            }
            // Somewhat longer: the watch counts from the answer on.
            sleep(wait + Duration::from_millis(20)).await;
        }
    }

    /// Makes the requests of a leader, other candidates and operators.
    async fn lead(&mut self, token: Token) -> Result<(), Failed> {
        let Self { holder, .. } = *self;
        let name = NameId::from_bits(random());
        let renew = |number| {
            let number = RequestId::new(1_000 + number).unwrap_or(RequestId::FIRST);
            Request::Renew { holder, token, number, stamp: None }
        };
        self.call(renew(0)).await?;
        for number in 1..=RENEWALS {
            let sent = Instant::now();
            self.call(renew(number)).await?;
            self.seen.samples.renewals.push(sent.elapsed());
        }
        let profile = self.profile.clone();
        let _ = self.call(Request::Describe { holder, token, version: 1, profile }).await;
        let _ = self.call(Request::Want { token, wish: Some(Wish::Name(name)) }).await;
        let asked = Asked { name, defer: Duration::ZERO };
        let ask = Request::Ask { token, asked, seen: Some(token), quarantine: TTL };
        let _ = self.call(ask).await;
        self.call(renew(RENEWALS + 1)).await.map(drop)
    }

    /// A message that is sent must arrive. One that is sent before the subscription may be missed.
    async fn message(&mut self, token: Token) {
        let mut messages = Box::pin(self.store.messages(&self.key, token));
        let Ok(message) = Message::new("doctor", "") else { unreachable!("it is short") };
        let began = Instant::now();
        while began.elapsed() < WAKES_WITHIN {
            let arrives = timeout(Duration::from_millis(100), messages.next());
            if let Ok(Some(_)) = arrives.await {
                return;
            }
            let notify = Request::Notify { message: message.clone() };
            if self.call(notify).await.is_err() {
                return;
            }
        }
        let text = format!("no message to the leader has arrived within {WAKES_WITHIN:?}");
        self.report.add(Kind::MessagesLost, text);
    }

    async fn wakes(&mut self, hints: &mut Hints, when: &str) {
        if !matches!(timeout(WAKES_WITHIN, hints.next()).await, Ok(Some(_))) {
            let why = self.store.connect_error().map(|error| crate::exit::with_causes(&error));
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            let text = format!("no wake-up has come within {WAKES_WITHIN:?} {when}{why}");
            self.report.add(Kind::WakeUpsMissing, text);
        }
    }

    async fn call(&mut self, request: Request) -> Result<Reply, Failed> {
        let what = request.name();
        let called = timeout(ANSWERS_WITHIN, self.store.call(&self.key, request.clone()));
        match called.await {
            Ok(Ok(reply)) if reply.answers(&request) => {
                self.seen.answers = true;
                self.did(what, &reply)?;
                Ok(reply)
            }
            Ok(Ok(reply)) => {
                self.report.add(Kind::ReplyUnexpected, format!("{what}: {reply:?}"));
                Err(Failed)
            }
            Ok(Err(error)) => {
                self.report.failed(what, &error);
                Err(Failed)
            }
            Err(_) => {
                match self.store.connect_error() {
                    Some(error) => self.report.failed(what, &error),
                    None => self
                        .report
                        .add(Kind::NoAnswer, format!("{what}: none within {ANSWERS_WITHIN:?}")),
                }
                Err(Failed)
            }
        }
    }

    /// Requests of the leader that say that it leads no more.
    fn did(&mut self, what: &str, reply: &Reply) -> Result<(), Failed> {
        let lost = matches!(
            reply,
            Reply::Superseded { .. } | Reply::NotHeld | Reply::NotNoted | Reply::Vacant
        );
        if lost {
            let text = format!("{what}: the lease that was just granted is not there");
            self.report.add(Kind::NotGranted, text);
            return Err(Failed);
        }
        Ok(())
    }
}

/// The store's clock minus this host's, in seconds.
fn ahead(shown: &Shown, sent: SystemTime, took: Duration) -> Option<f64> {
    let middle = sent.duration_since(SystemTime::UNIX_EPOCH).ok()? + took / 2;
    let server = shown.sight.now.since(tenure::Instant::ORIGIN);
    Some(server.as_secs_f64() - middle.as_secs_f64())
}
