//! Asks a store, and writes down what was asked and answered.

use std::time::{Duration, Instant};

use tenure::store::{Incumbent, Key, LimitError, Profile, Reply, Request, Store, StoreTraits};
use tenure::{HolderId, Token};

use super::rows::Stop;
use super::{Broken, Data, Harness, Mishap, Row};

/// A lease that is live for as long as a test takes.
pub(super) const LONG: Duration = Duration::from_secs(60);
/// How long a store may answer with errors after its server was replaced or a request was dropped.
const RECOVERS_WITHIN: Duration = Duration::from_secs(20);
const TRIES_EVERY: Duration = Duration::from_millis(50);

/// One test's way to its store.
pub(super) struct Probe<'a, H: Harness> {
    row: Row,
    pub(super) harness: &'a H,
    pub(super) store: H::Store,
    pub(super) traits: StoreTraits,
    told: Vec<String>,
}

/// Something was not as it should be: what.
pub(super) type Found<T> = Result<T, Stop>;

impl<'a, H: Harness> Probe<'a, H> {
    pub(super) async fn new(row: Row, harness: &'a H) -> Self {
        let store = harness.connect().await;
        let traits = store.traits();
        Self { row, harness, store, traits, told: Vec::new() }
    }

    pub(super) fn broken(self, what: String) -> Broken {
        Broken { row: self.row, store: self.traits.name, what, told: self.told }
    }

    /// The shortest lease that the store can keep.
    pub(super) fn short(&self) -> Duration {
        self.traits.least_ttl
    }

    /// Lets a lease or a quarantine of that length go by.
    pub(super) async fn goes_by(&mut self, time: Duration) {
        self.told.push(format!("{time:?} go by"));
        self.harness.wait(time + self.traits.granularity).await;
    }

    pub(super) async fn restart(&mut self, data: Data) -> Found<()> {
        self.told.push(format!("the server is replaced, its data {data:?}"));
        self.harness
            .restart(data)
            .await
            .map_err(|_| Stop::Skipped("the harness can't replace the server"))?;
        self.store = self.harness.connect().await;
        Ok(())
    }

    /// The server is slow from now on, or no longer.
    pub(super) async fn slow(&mut self, is_slow: bool) -> Found<()> {
        self.note(if is_slow { "the server is slow" } else { "the server is slow no longer" });
        let skipped = |_| Stop::Skipped("the harness can't slow the server down");
        self.harness.slow(is_slow).await.map_err(skipped)
    }

    pub(super) fn note(&mut self, what: impl Into<String>) {
        self.told.push(what.into());
    }

    /// Whether the harness has brought that about.
    pub(super) async fn suffers(&mut self, mishap: Mishap) -> bool {
        let has = self.harness.suffer(mishap).await.is_ok();
        if has {
            self.told.push(format!("by no request: {mishap:?}"));
        }
        has
    }

    /// Asks about one election. An error is no answer, and no server fails in these tests.
    pub(super) async fn ask_about(&mut self, key: &Key, request: Request) -> Found<Reply> {
        let answer = self.store.call(key, request.clone()).await;
        self.told.push(format!("{key:.20}: {request:?} -> {answer:?}"));
        answer.map_err(|error| Stop::Broken(format!("it answered with an error: {error}")))
    }

    pub(super) async fn ask(&mut self, request: Request) -> Found<Reply> {
        self.ask_about(&key("job")?, request).await
    }

    /// Asks until it is answered: the connection may be a broken one.
    pub(super) async fn ask_again_and_again(&mut self, request: &Request) -> Found<Reply> {
        self.ask_again_about(&key("job")?, request).await
    }

    pub(super) async fn ask_again_about(&mut self, key: &Key, request: &Request) -> Found<Reply> {
        let began = Instant::now();
        loop {
            let asked = tokio::time::timeout(LONG / 12, self.store.call(key, request.clone()));
            let answer = asked.await;
            self.told.push(format!("{key:.20}: {request:?} -> {answer:?}"));
            match answer {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(_)) | Err(_) if began.elapsed() < RECOVERS_WITHIN => {
                    tokio::time::sleep(TRIES_EVERY).await;
                }
                Ok(Err(_)) | Err(_) => {
                    return broken(format!("it gave no answer for {RECOVERS_WITHIN:?}"));
                }
            }
        }
    }

    pub(super) async fn expect(&mut self, request: Request, wanted: Reply) -> Found<()> {
        let reply = self.ask(request).await?;
        must(reply == wanted, || format!("{wanted:?} was due, and not {reply:?}"))
    }

    pub(super) async fn granted(&mut self, request: Request) -> Found<(Token, Duration)> {
        let reply = self.ask(request).await?;
        as_grant(&reply)
    }

    pub(super) async fn held(&mut self, request: Request) -> Found<Incumbent> {
        match self.ask(request).await? {
            Reply::Held(incumbent) => Ok(incumbent),
            other => broken(format!("it is held, and the answer was {other:?}")),
        }
    }

    /// The lease is still that tenure's.
    pub(super) async fn is_held_by(&mut self, number: u128, token: Token) -> Found<Incumbent> {
        self.is_held(holder(number), token).await
    }

    pub(super) async fn is_held(&mut self, by: HolderId, token: Token) -> Found<Incumbent> {
        let incumbent = self.held(Request::Observe).await?;
        let is = (incumbent.holder, incumbent.token);
        must(is == (by, token), || format!("another tenure holds it: {is:?}"))?;
        Ok(incumbent)
    }

    /// A tenure that was granted and handed back: its token.
    pub(super) async fn past_tenure(&mut self, number: u128) -> Found<Token> {
        let (token, _) = self.granted(acquire(number, None)).await?;
        self.expect(release(number, token), Reply::Released).await?;
        Ok(token)
    }
}

pub(super) fn as_grant(reply: &Reply) -> Found<(Token, Duration)> {
    match reply {
        Reply::Granted { token, wait } => Ok((*token, *wait)),
        other => broken(format!("a grant was due, and not {other:?}")),
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

/// A holder of that number. It differs from the others at both ends: of what a transcript prints, and of what a
/// store may keep.
pub(super) fn holder(number: u128) -> HolderId {
    HolderId::from_bits((number << 96) | number)
}

pub(super) fn limit(error: LimitError) -> Stop {
    Stop::Broken(error.to_string())
}

/// An acquire for that holder that waits out no quarantine for longer than it must.
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

/// An acquire for any holder, by any name.
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
