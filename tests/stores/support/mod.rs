//! Requests and their answers, elections, and observers of them.

mod election;
mod log;
mod place;
mod port;
mod watch;

use std::time::{Duration, SystemTime};

use tenure::store::{
    CertificateExpired, Incumbent, Key, Profile, Reply, Request, Store, StoreError, StoreErrorKind,
};
use tenure::{HolderId, Token};

pub(crate) use election::{
    Events, Falls, event, falls, learns_of_leader, one_leads, quarantined, renewed, run, start,
    steps_down, store_error,
};
pub(crate) use log::Log;
pub(crate) use place::Place;
pub(crate) use port::{port_that_answers, unused_port};
pub(crate) use watch::Watch;

/// Far longer than any step should take: tests assert progress, not speed.
pub(crate) const SOON: Duration = Duration::from_secs(60);
pub(crate) const TTL: Duration = Duration::from_secs(30);

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("within the bound")
}

pub(crate) fn holder(number: u128) -> HolderId {
    HolderId::from_bits(number)
}

/// An acquire for that holder with a TTL and a quarantine of [`TTL`].
pub(crate) fn acquire(number: u128, seen: Option<Token>) -> Request {
    acquire_for(number, seen, TTL)
}

pub(crate) fn acquire_for(number: u128, seen: Option<Token>, ttl: Duration) -> Request {
    let profile = Profile::new(format!("worker-{number}"), format!("host-{number}")).unwrap();
    Request::Acquire { holder: holder(number), seen, ttl, quarantine: TTL, profile }
}

pub(crate) fn renew(number: u128, token: Token) -> Request {
    renew_for(number, token, TTL)
}

pub(crate) fn renew_for(number: u128, token: Token, ttl: Duration) -> Request {
    Request::Renew { holder: holder(number), token, ttl }
}

pub(crate) fn release(number: u128, token: Token) -> Request {
    Request::Release { holder: holder(number), token }
}

pub(crate) fn all_requests() -> [Request; 4] {
    let token = Token::new(7).unwrap();
    [acquire(1, None), renew(1, token), release(1, token), Request::Observe]
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
            let patience = Duration::from_secs(2);
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
        let Reply::Granted { token, .. } = reply else { panic!("{reply:?}") };
        renewals.push((key, renew(1, token)));
    }
    renewals
}

/// Acquires, and expects the grant.
pub(crate) async fn granted(store: &impl Store, request: Request) -> (Token, Duration) {
    match call(store, request).await.unwrap() {
        Reply::Granted { token, wait } => (token, wait),
        other => panic!("granted, and not {other:?}"),
    }
}

pub(crate) async fn held(store: &impl Store, request: Request) -> Incumbent {
    match call(store, request).await.unwrap() {
        Reply::Held(incumbent) => incumbent,
        other => panic!("held, and not {other:?}"),
    }
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
