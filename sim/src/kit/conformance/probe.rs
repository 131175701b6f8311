//! Sends requests to a store, and keeps a transcript.

use std::time::{Duration, Instant};

use tenure::store::{
    Incumbent, Key, LimitError, Profile, Reply, Request, Store, StoreErrorKind, StoreTraits,
};
use tenure::{HolderId, Token};

use super::rows::Stop;
use super::{Broken, Data, Harness, Mishap, Row};

/// A lease that is live for as long as a test takes.
pub(super) const LONG: Duration = Duration::from_secs(60);
/// The longest time for which a store may answer with errors after its server was replaced or a request was dropped.
const RECOVERS_WITHIN: Duration = Duration::from_secs(20);
const TRIES_EVERY: Duration = Duration::from_millis(50);

/// One test's access to its store.
pub(super) struct Probe<'a, H: Harness> {
    row: Row,
    pub(super) harness: &'a H,
    pub(super) store: H::Store,
    pub(super) traits: StoreTraits,
    transcript: Vec<String>,
}

/// The result of a step of a row.
pub(super) type Found<T> = Result<T, Stop>;

impl<'a, H: Harness> Probe<'a, H> {
    pub(super) async fn new(row: Row, harness: &'a H) -> Self {
        let store = harness.connect().await;
        let traits = store.traits();
        Self { row, harness, store, traits, transcript: Vec::new() }
    }

    pub(super) fn broken(self, what: String) -> Broken {
        Broken { row: self.row, store: self.traits.name, what, transcript: self.transcript }
    }

    /// The shortest lease that the store can keep.
    pub(super) fn short(&self) -> Duration {
        self.traits.least_ttl
    }

    /// Waits until a lease or a quarantine of that length has ended.
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

    /// The server is slow from now on, or no longer slow.
    pub(super) async fn slow(&mut self, is_slow: bool) -> Found<()> {
        self.note(if is_slow { "the server is slow" } else { "the server is no longer slow" });
        let skipped = |_| Stop::Skipped("the harness can't slow the server down");
        self.harness.slow(is_slow).await.map_err(skipped)
    }

    pub(super) fn note(&mut self, what: impl Into<String>) {
        self.transcript.push(what.into());
    }

    /// Whether the harness has carried out the mishap.
    pub(super) async fn suffers(&mut self, mishap: Mishap) -> bool {
        let has = self.harness.suffer(mishap).await.is_ok();
        if has {
            self.transcript.push(format!("mishap: {mishap:?}"));
        }
        has
    }

    /// Sends a request about one election. An error is a violation, because no server fails in these tests.
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

    /// Deletes the records that may be deleted, and returns their number. A store without that is skipped.
    pub(super) async fn purged(&mut self) -> Found<u64> {
        let answer = self.store.purge(Duration::ZERO).await;
        self.transcript.push(format!("purge of any age -> {answer:?}"));
        answer.map_err(|error| match error.kind() {
            StoreErrorKind::Unsupported => Stop::Skipped("the store declares no purge"),
            _ => Stop::Broken(format!("a purge failed: {error}")),
        })
    }

    pub(super) async fn expect(&mut self, request: Request, wanted: Reply) -> Found<()> {
        let reply = self.ask(request).await?;
        must(reply == wanted, || format!("the answer should be {wanted:?}, but was {reply:?}"))
    }

    pub(super) async fn granted(&mut self, request: Request) -> Found<(Token, Duration)> {
        let reply = self.ask(request).await?;
        as_grant(&reply)
    }

    pub(super) async fn held(&mut self, request: Request) -> Found<Incumbent> {
        match self.ask(request).await? {
            Reply::Held(incumbent) => Ok(incumbent),
            other => broken(format!("the lease is held, and the answer was {other:?}")),
        }
    }

    /// Asserts that this tenure still holds the lease.
    pub(super) async fn is_held_by(&mut self, number: u128, token: Token) -> Found<Incumbent> {
        self.is_held(holder(number), token).await
    }

    pub(super) async fn is_held(&mut self, by: HolderId, token: Token) -> Found<Incumbent> {
        let incumbent = self.held(Request::Observe).await?;
        let is = (incumbent.holder, incumbent.token);
        must(is == (by, token), || format!("another tenure holds the lease: {is:?}"))?;
        Ok(incumbent)
    }

    /// The token of a tenure that was granted and handed back.
    pub(super) async fn past_tenure(&mut self, number: u128) -> Found<Token> {
        let (token, _) = self.granted(acquire(number, None)).await?;
        self.expect(release(number, token), Reply::Released).await?;
        Ok(token)
    }
}

pub(super) fn as_grant(reply: &Reply) -> Found<(Token, Duration)> {
    match reply {
        Reply::Granted { token, wait } => Ok((*token, *wait)),
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

/// The holder with that number. It differs from the others at both ends: in the part that a transcript prints, and
/// in the part that a store may truncate.
pub(super) fn holder(number: u128) -> HolderId {
    HolderId::from_bits((number << 96) | number)
}

pub(super) fn limit(error: LimitError) -> Stop {
    Stop::Broken(error.to_string())
}

/// An acquire for that holder, with the shortest quarantine for its TTL.
pub(super) fn acquire(number: u128, seen: Option<Token>) -> Request {
    acquire_for(number, seen, LONG)
}

pub(super) fn acquire_for(number: u128, seen: Option<Token>, ttl: Duration) -> Request {
    acquire_after(number, seen, ttl, LONG)
}

pub(super) fn acquire_after(
    number: u128,
    seen: Option<Token>,
    ttl: Duration,
    quarantine: Duration,
) -> Request {
    acquire_as(holder(number), &format!("worker-{number}"), (seen, ttl, quarantine))
}

/// An acquire for any holder and any name.
pub(super) fn acquire_as(
    holder: HolderId,
    name: &str,
    (seen, ttl, quarantine): (Option<Token>, Duration, Duration),
) -> Request {
    let metadata = name.replace("worker", "host");
    let profile = Profile::new(name, metadata).expect("a short name is within the limits");
    Request::Acquire { holder, seen, ttl, quarantine, profile }
}

pub(super) fn renew(number: u128, token: Token) -> Request {
    renew_for(number, token, LONG)
}

pub(super) fn renew_for(number: u128, token: Token, ttl: Duration) -> Request {
    Request::Renew { holder: holder(number), token, ttl }
}

pub(super) fn release(number: u128, token: Token) -> Request {
    Request::Release { holder: holder(number), token }
}

/// How many elections take part in a row about calls: two calls of the driver, the second of which is not whole.
pub(super) fn requests_in_two_calls(in_call: usize) -> usize {
    in_call.max(4) + 4
}
