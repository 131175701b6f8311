//! Requests and their answers, elections, and observers of them.

mod election;
mod log;
mod place;
mod port;
mod watch;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tenure::store::contract::{Acquire, Asked, Loss, NameId, RequestId, Sight, WatchedStamp, Wish};
use tenure::store::{
    CertificateExpired, Incumbent, Key, Profile, Reply, Request, Shown, Store, StoreError,
    StoreErrorKind,
};
use tenure::{HolderId, Token};

pub(crate) use election::{
    Events, Falls, event, falls, learns_of_leader, one_leads, renewed, run, start, steps_down,
    store_error, watching,
};
pub(crate) use log::Log;
pub(crate) use place::Place;
pub(crate) use port::{port_that_answers, unused_port};
pub(crate) use watch::Watch;

/// Far longer than any step should take: tests assert progress, not speed.
pub(crate) const SOON: Duration = Duration::from_secs(60);
pub(crate) const TTL: Duration = Duration::from_secs(30);

/// Beside other tests, a failover takes tens of seconds, and a thousand elections at an API server
/// a minute.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON * 5, future).await.expect("within the bound")
}

pub(crate) fn holder(number: u128) -> HolderId {
    HolderId::from_bits(number)
}

/// The number of a request: none is used twice.
pub(crate) fn next_number() -> RequestId {
    static LAST: AtomicU64 = AtomicU64::new(0);
    RequestId::new(LAST.fetch_add(1, Ordering::Relaxed) + 1).expect("it counts from 1")
}

/// An acquire for that holder with a TTL and a quarantine of [`TTL`]. It has watched nothing.
pub(crate) fn acquire(number: u128, seen: Option<Token>) -> Request {
    acquire_for(number, seen, TTL)
}

pub(crate) fn acquire_for(number: u128, seen: Option<Token>, ttl: Duration) -> Request {
    acquire_with(number, seen, ttl, TTL)
}

pub(crate) fn acquire_with(
    number: u128,
    seen: Option<Token>,
    ttl: Duration,
    quarantine: Duration,
) -> Request {
    let profile = Profile::new(format!("worker-{number}"), format!("host-{number}")).unwrap();
    let first = Acquire::new(holder(number), next_number(), ttl, profile.name_id());
    let asks = Acquire { seen, quarantine, ..first };
    Request::Acquire { asks, profile }
}

/// The same acquire, of a candidate that was shown this and has watched it, unchanged, for as long
/// as it must.
pub(crate) fn after_watching(request: &Request, shown: &Shown) -> Request {
    let Request::Acquire { asks, profile } = request else { panic!("{request:?} is no acquire") };
    let Sight { last, record, past, .. } = shown.sight;
    let stamp = past
        .map(|past| WatchedStamp { stamp: past.stamp, time: asks.quarantine.max(past.longest) });
    let asks = Acquire {
        number: next_number(),
        lost: (asks.seen > last).then_some(Loss { last }),
        mark: record.map(|record| record.mark()),
        stamp: stamp.or(asks.stamp),
        ..*asks
    };
    Request::Acquire { asks, profile: profile.clone() }
}

pub(crate) fn renew(number: u128, token: Token) -> Request {
    Request::Renew { holder: holder(number), token, number: next_number(), stamp: None }
}

/// The answer to a renewal, if nobody asks for the lead and the past is watched.
pub(crate) const RENEWED: Reply = Reply::Renewed { asked: None, wanted: None, past: None };

pub(crate) fn release(number: u128, token: Token) -> Request {
    Request::Release { holder: holder(number), token, reservation: None }
}

pub(crate) fn look(seen: Option<Token>) -> Request {
    Request::Look { seen, quarantine: TTL }
}

pub(crate) fn all_requests() -> [Request; 7] {
    let token = Token::new(7).unwrap();
    let asked = Asked { name: NameId::from_bits(1), defer: Duration::ZERO };
    [
        acquire(1, None),
        renew(1, token),
        release(1, token),
        Request::Observe,
        look(None),
        Request::Ask { token, asked, seen: None, quarantine: TTL },
        Request::Want { token, wish: Some(Wish::Anybody) },
    ]
}

/// The election of all tests.
pub(crate) fn job() -> Key {
    Key::new("job").unwrap()
}

/// Calls the store about the election of all tests.
pub(crate) async fn call(store: &impl Store, request: Request) -> Result<Reply, StoreError> {
    soon(store.call(&job(), request)).await
}

/// Calls until there is an answer: servers come and go.
pub(crate) async fn answered(store: &impl Store, request: Request) -> Reply {
    soon(async {
        loop {
            let patience = Duration::from_secs(5);
            let job = job();
            let asked = store.call(&job, request.clone());
            if let Ok(Ok(reply)) = tokio::time::timeout(patience, asked).await {
                return reply;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

/// Acquires the leases of that many elections; their renewals.
pub(crate) async fn leads_all(store: &impl Store, elections: usize) -> Vec<(Key, Request)> {
    let mut renewals = Vec::new();
    for number in 0..elections {
        let key = Key::new(format!("job-{number}")).unwrap();
        let reply = store.call(&key, acquire(1, None)).await.unwrap();
        let Reply::Granted { token } = reply else { panic!("{reply:?}") };
        renewals.push((key, renew(1, token)));
    }
    renewals
}

/// Acquires, and expects the grant.
pub(crate) async fn granted(store: &impl Store, request: Request) -> Token {
    match call(store, request).await.unwrap() {
        Reply::Granted { token } => token,
        other => panic!("granted, and not {other:?}"),
    }
}

/// Expects that nothing is granted, or looks: what is shown.
pub(crate) async fn shown(store: &impl Store, request: Request) -> Shown {
    match call(store, request).await.unwrap() {
        Reply::Not(shown) | Reply::At(shown) => shown,
        other => panic!("shown, and not {other:?}"),
    }
}

/// The same, where a lease is shown that was not given back.
pub(crate) async fn held(store: &impl Store, request: Request) -> Incumbent {
    let shown = shown(store, request).await;
    shown.incumbent().unwrap_or_else(|| panic!("held, and not {shown:?}"))
}

/// Looks, and expects that there is none.
pub(crate) async fn vacant(store: &impl Store) {
    let shown = shown(store, Request::Observe).await;
    assert_eq!(shown.incumbent(), None);
}

/// The grant to a candidate that watches whatever it must.
pub(crate) async fn granted_in_the_end(store: &impl Store, request: Request) -> Token {
    match call(store, request.clone()).await.unwrap() {
        Reply::Granted { token } => token,
        Reply::Not(shown) => granted(store, after_watching(&request, &shown)).await,
        other => panic!("an answer to an acquire, and not {other:?}"),
    }
}

/// True if nothing is granted before the past was watched.
pub(crate) async fn is_unwatched(store: &impl Store, request: Request) -> bool {
    match call(store, request).await.unwrap() {
        Reply::Granted { .. } => false,
        Reply::Not(shown) => shown.sight.past.is_some(),
        other => panic!("an answer to an acquire, and not {other:?}"),
    }
}

/// Expects that nothing is granted because of an unwatched past, and then the grant to a candidate
/// that has watched it.
pub(crate) async fn granted_after_a_watch(store: &impl Store, request: Request) -> Token {
    let shown = shown(store, request.clone()).await;
    assert!(shown.sight.past.is_some(), "the past is watched: {shown:?}");
    granted(store, after_watching(&request, &shown)).await
}

/// The wall clock, as the tokens count.
pub(crate) fn unix_micros() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_micros()).unwrap()
}

/// The error says that the server's certificate has expired, and what to do.
pub(crate) fn is_expired(error: &StoreError) {
    assert_eq!(error.kind(), StoreErrorKind::Tls, "{error}");
    let shown = error.to_string();
    assert!(
        shown.contains("the server's certificate has expired") && shown.contains("renew it"),
        "{shown}"
    );
    let why = std::error::Error::source(error).and_then(|why| why.downcast_ref());
    assert!(matches!(why, Some(CertificateExpired { .. })), "{error:?}");
}
