//! Sends requests to a store, and keeps a transcript.
//!
//! The store only compares. So a row claims to have watched a mark or a past, and does not wait.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tenure::store::contract::Record;
use tenure::store::contract::{Acquire, Mark, RequestId, UnwatchedPast, WatchedStamp};
use tenure::store::{
    AnyStore, Key, LimitError, Profile, Reply, Request, Shown, Store, StoreErrorKind, StoreTraits,
};
use tenure::{HolderId, Token};

use super::rows::Stop;
use super::{Broken, Data, Mishap, Reach, Row};

/// A TTL and a quarantine. A row that does not wait for the end of a lease takes less time.
pub(super) const LONG: Duration = Duration::from_secs(60);
/// The claimed watch of the past, in all rows but those about the past.
const EVER: Duration = Duration::from_secs(36_000);
/// The longest time for which a store may answer with errors after its server was replaced or a
/// request was dropped.
const RECOVERS_WITHIN: Duration = Duration::from_secs(20);
const TRIES_EVERY: Duration = Duration::from_millis(50);

/// One test's access to its store.
pub(super) struct Probe<'a> {
    row: Row,
    pub(super) harness: &'a dyn Reach,
    pub(super) store: AnyStore,
    pub(super) traits: StoreTraits,
    transcript: Vec<String>,
    /// The elections whose past was watched; with a shared past, nothing is noted.
    settled: BTreeSet<Key>,
    /// The number of the last request that has one.
    number: AtomicU64,
}

/// The result of a step of a row.
pub(super) type Found<T> = Result<T, Stop>;

impl<'a> Probe<'a> {
    pub(super) async fn new(row: Row, harness: &'a dyn Reach) -> Self {
        let store = harness.connect().await;
        let traits = store.traits();
        let (transcript, settled) = (Vec::new(), BTreeSet::new());
        Self { row, harness, store, traits, transcript, settled, number: AtomicU64::new(0) }
    }

    pub(super) fn broken(self, what: String) -> Broken {
        Broken { row: self.row, store: self.traits.name, what, transcript: self.transcript }
    }

    /// The shortest lease that the store can keep.
    pub(super) fn short(&self) -> Duration {
        self.traits.least_ttl
    }

    /// Waits until a server that ends leases has ended one of that length.
    pub(super) async fn let_pass(&mut self, time: Duration) {
        self.transcript.push(format!("{time:?} elapse"));
        self.harness.wait(time + self.traits.granularity).await;
    }

    pub(super) async fn restart(&mut self, data: Data) -> Found<()> {
        self.transcript.push(format!("the server is replaced, its data {data:?}"));
        self.harness
            .restart(data)
            .await
            .map_err(|_| Stop::Skipped("the harness can't replace the server"))?;
        self.store = self.harness.connect().await;
        Ok(())
    }

    /// Another connection to the same server: its next request is the first one over it.
    pub(super) async fn reconnect(&mut self) {
        self.note("another connection");
        self.store = self.harness.connect().await;
    }

    /// The server is slow from now on, or no longer slow.
    pub(super) async fn slow(&mut self, is_slow: bool) -> Found<()> {
        self.note(if is_slow { "the server is slow" } else { "the server is no longer slow" });
        let skipped = |_| Stop::Skipped("the harness can't slow the server down");
        self.harness.slow(is_slow).await.map_err(skipped)
    }

    pub(super) fn note(&mut self, what: impl Into<String>) {
        self.transcript.push(what.into());
    }

    /// True if the harness has carried out the mishap.
    pub(super) async fn suffers(&mut self, mishap: Mishap) -> bool {
        let has = self.harness.suffer(mishap).await.is_ok();
        if has {
            self.transcript.push(format!("mishap: {mishap:?}"));
        }
        has
    }

    /// Sends a request about one election. An error is a violation, because no server fails in
    /// these tests.
    pub(super) async fn ask_about(&mut self, key: &Key, request: Request) -> Found<Reply> {
        let answer = self.store.call(key, request.clone()).await;
        self.transcript.push(format!("{key:.20}: {request:?} -> {answer:?}"));
        answer.map_err(|error| Stop::Broken(format!("it answered with an error: {error}")))
    }

    pub(super) async fn ask(&mut self, request: Request) -> Found<Reply> {
        self.ask_about(&key("job")?, request).await
    }

    /// Repeats a request until it is answered: the connection may be broken at first.
    pub(super) async fn ask_until_answered(&mut self, request: &Request) -> Found<Reply> {
        self.ask_about_until_answered(&key("job")?, request).await
    }

    pub(super) async fn ask_about_until_answered(
        &mut self,
        key: &Key,
        request: &Request,
    ) -> Found<Reply> {
        let began = Instant::now();
        loop {
            let asked = tokio::time::timeout(LONG / 12, self.store.call(key, request.clone()));
            let answer = asked.await;
            self.transcript.push(format!("{key:.20}: {request:?} -> {answer:?}"));
            match answer {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(_)) | Err(_) if began.elapsed() < RECOVERS_WITHIN => {
                    tokio::time::sleep(TRIES_EVERY).await;
                }
                Ok(Err(_)) | Err(_) => {
                    return broken(format!("it did not answer within {RECOVERS_WITHIN:?}"));
                }
            }
        }
    }

    /// Deletes the records that may be deleted, and returns their number. A store without that is
    /// skipped.
    pub(super) async fn purged(&mut self) -> Found<u64> {
        let answer = self.store.purge(Duration::ZERO).await;
        self.transcript.push(format!("purge of any age -> {answer:?}"));
        answer.map_err(|error| match error.kind() {
            StoreErrorKind::Unsupported => Stop::Skipped("the store declares no purge"),
            _ => Stop::Broken(format!("a purge failed: {error}")),
        })
    }

    /// The elections that have a record. A store that can't tell is skipped.
    pub(super) async fn keys(&mut self) -> Found<BTreeSet<Key>> {
        let answer = self.store.keys().await;
        self.transcript.push(format!("listing -> {answer:?}"));
        answer.map_err(|error| match error.kind() {
            StoreErrorKind::Unsupported => Stop::Skipped("the store declares no listing"),
            _ => Stop::Broken(format!("a listing failed: {error}")),
        })
    }

    pub(super) async fn expect(&mut self, request: Request, wanted: Reply) -> Found<()> {
        let reply = self.ask(request).await?;
        must(reply == wanted, || format!("the answer should be {wanted:?}, but was {reply:?}"))
    }

    /// The number of the next request: no candidate uses one twice.
    pub(super) fn next_number(&self) -> RequestId {
        RequestId::new(self.number.fetch_add(1, Ordering::Relaxed) + 1).expect("counts from 1")
    }

    /// An acquire of a candidate that has watched nothing.
    pub(super) fn acquire(&self, candidate: u128, seen: Option<Token>) -> Acquire {
        let (number, name) = (self.next_number(), profile(candidate).name_id());
        Acquire { seen, ..Acquire::new(holder(candidate), number, LONG, name) }
    }

    pub(super) fn renew(&self, candidate: u128, token: Token) -> Request {
        let (holder, number) = (holder(candidate), self.next_number());
        Request::Renew { holder, token, number, stamp: None }
    }

    /// Tells the store that its past was watched, in case that it asks for that.
    pub(super) async fn settle(&mut self) -> Found<()> {
        let other = if self.traits.past_per_election { "job" } else { "settled" };
        self.settle_about(&key("job")?, &key(other)?).await
    }

    /// The election of that name, in which the past was watched.
    pub(super) async fn settled(&mut self, name: &str) -> Found<Key> {
        let key = key(name)?;
        if self.traits.past_per_election && self.settled.insert(key.clone()) {
            self.settle_about(&key, &key).await?;
        }
        Ok(key)
    }

    /// Reports one election's past to another one.
    async fn settle_about(&mut self, key: &Key, other: &Key) -> Found<()> {
        let Some(past) = self.look_about(key).await?.sight.past else { return Ok(()) };
        // A longer quarantine than was watched: nothing is granted.
        let asks = self.acquire(0, None);
        let asks = Acquire { stamp: Some(watched(past, EVER)), quarantine: EVER * 2, ..asks };
        self.refused_about(other, asks).await.map(|_| ())
    }

    pub(super) async fn granted(&mut self, asks: Acquire) -> Found<Token> {
        self.granted_about(&key("job")?, asks).await
    }

    pub(super) async fn granted_about(&mut self, key: &Key, asks: Acquire) -> Found<Token> {
        let reply = self.ask_about(key, request(asks)).await?;
        as_grant(&reply)
    }

    pub(super) async fn refused(&mut self, asks: Acquire) -> Found<Shown> {
        self.refused_about(&key("job")?, asks).await
    }

    pub(super) async fn refused_about(&mut self, key: &Key, asks: Acquire) -> Found<Shown> {
        match self.ask_about(key, request(asks)).await? {
            Reply::Not(shown) => Ok(shown),
            other => broken(format!("nothing must be granted, but the answer was {other:?}")),
        }
    }

    pub(super) async fn look(&mut self) -> Found<Shown> {
        self.look_about(&key("job")?).await
    }

    pub(super) async fn look_about(&mut self, key: &Key) -> Found<Shown> {
        match self.ask_about(key, LOOK).await? {
            Reply::At(shown) => Ok(shown),
            other => broken(format!("the answer to a look was {other:?}")),
        }
    }

    pub(super) async fn record(&mut self) -> Found<Record> {
        let record = self.look().await?.sight.record.map(without_time);
        record.map_or_else(|| broken("there is no record"), Ok)
    }

    /// Asserts that this tenure holds the lease.
    pub(super) async fn is_held_by(&mut self, candidate: u128, token: Token) -> Found<Record> {
        self.is_held_about(&key("job")?, (candidate, token)).await
    }

    pub(super) async fn is_held_about(
        &mut self,
        key: &Key,
        (candidate, token): (u128, Token),
    ) -> Found<Record> {
        let record = self.look_about(key).await?.sight.record.map(without_time);
        let is = record.filter(|record| {
            (record.released, record.holder, record.token) == (false, holder(candidate), token)
        });
        is.map_or_else(|| broken(format!("{token} holds the lease, but it is {record:?}")), Ok)
    }

    /// Asserts that this tenure is renewed; returns the new mark.
    pub(super) async fn is_renewed(&mut self, candidate: u128, token: Token) -> Found<Mark> {
        let renewal = self.renew(candidate, token);
        let Request::Renew { holder, number, .. } = renewal else { unreachable!("a renewal") };
        self.expect(renewal, RENEWED).await?;
        Ok(Mark { holder, number })
    }

    /// The token of a tenure that was granted and given back.
    pub(super) async fn past_tenure(&mut self, candidate: u128) -> Found<Token> {
        let token = self.granted(self.acquire(candidate, None)).await?;
        self.expect(release(candidate, token), Reply::Released).await?;
        Ok(token)
    }

    /// All answers to requests that are handed in so many at a time.
    pub(super) async fn ask_together(
        &mut self,
        requests: Vec<(Key, Request)>,
        in_call: usize,
    ) -> Found<Vec<Reply>> {
        let mut replies = Vec::new();
        for call in requests.chunks(in_call.max(1)) {
            let answers = self.store.call_all(call.to_vec()).await;
            self.note(format!("in one call {call:?} -> {answers:?}"));
            must(answers.len() == call.len(), || format!("{} answers", answers.len()))?;
            for answer in answers {
                let answer = answer.map_err(|error| Stop::Broken(format!("an error: {error}")))?;
                replies.push(answer);
            }
        }
        Ok(replies)
    }
}

/// A candidate looks that knows nothing.
pub(super) const LOOK: Request = Request::Look { seen: None, quarantine: LONG };

/// A renewal of a tenure that nobody else wants, of a past that was watched.
pub(super) const RENEWED: Reply = Reply::Renewed { asked: None, wanted: None, past: None };

pub(super) fn as_grant(reply: &Reply) -> Found<Token> {
    match reply {
        Reply::Granted { token } => Ok(*token),
        other => broken(format!("the answer should be a grant, but was {other:?}")),
    }
}

pub(super) fn must(holds: bool, what: impl FnOnce() -> String) -> Found<()> {
    if holds { Ok(()) } else { broken(what()) }
}

pub(super) fn broken<T>(what: impl Into<String>) -> Found<T> {
    Err(Stop::Broken(what.into()))
}

pub(super) fn key(name: &str) -> Found<Key> {
    Key::new(name).map_err(limit)
}

pub(super) fn limit(error: LimitError) -> Stop {
    Stop::Broken(error.to_string())
}

/// The holder with that number. It differs from the others at both ends: in the part that a
/// transcript prints, and in the part that a store may truncate.
pub(super) fn holder(candidate: u128) -> HolderId {
    HolderId::from_bits((candidate << 96) | candidate)
}

/// The name and the metadata of the candidate with that number.
pub(super) fn profile(candidate: u128) -> Profile {
    Profile::new(format!("worker-{candidate}"), format!("host-{candidate}"))
        .expect("a short name is within the limits")
}

/// The name and the metadata of the candidate with that holder.
pub(super) fn profile_of(holder: HolderId) -> Profile {
    profile(holder.to_bits() & u128::from(u32::MAX))
}

/// The acquire as the driver sends it.
pub(super) fn request(asks: Acquire) -> Request {
    Request::Acquire { asks, profile: profile_of(asks.holder) }
}

/// The acquire of a candidate with another name and metadata.
pub(super) fn request_as(asks: Acquire, profile: Profile) -> Request {
    Request::Acquire { asks: Acquire { name: profile.name_id(), ..asks }, profile }
}

pub(super) fn release(candidate: u128, token: Token) -> Request {
    Request::Release { holder: holder(candidate), token, reservation: None }
}

/// A watch of that past, for that time.
pub(super) const fn watched(past: UnwatchedPast, time: Duration) -> WatchedStamp {
    WatchedStamp { stamp: past.stamp, time }
}

/// The number of elections in a row about calls: two calls of the driver, the second of which is
/// not whole.
pub(super) fn requests_in_two_calls(in_call: usize) -> usize {
    in_call.max(4) + 4
}

/// Without the time at which it was written, which is a hint.
pub(super) fn without_time(record: Record) -> Record {
    Record { written: tenure::Instant::ORIGIN, ..record }
}
