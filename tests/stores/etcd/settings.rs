//! Candidates whose settings contradict those of the last tenure.

use std::time::{Duration, Instant};

use tenure::Token;
use tenure::store::{Key, Reply, Request, Store, StoreErrorKind};

use super::support::{TTL, acquire, at, call, granted, held, release, server, soon};

/// A lease that ends soon, but not before its release by a slow machine.
const SHORT: Duration = Duration::from_secs(5);

/// With a quarantine of that TTL, as by default.
fn acquire_for(number: u128, seen: Option<Token>, ttl: Duration) -> Request {
    match acquire(number, seen) {
        Request::Acquire { holder, seen, profile, .. } => {
            Request::Acquire { holder, seen, ttl, quarantine: ttl, profile }
        }
        other => panic!("{other:?}"),
    }
}

fn refused(ttl: Duration) -> Reply {
    Reply::Refused { ttl, quarantine: Some(ttl) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_bind_beyond_the_lease_for_a_while() {
    let server = server();
    let store = at(&[server.port()]);
    let (first, _) = granted(&store, acquire_for(1, None, SHORT)).await;
    let contradicting = |seen| acquire_for(2, seen, SHORT * 2);
    assert_eq!(call(&store, contradicting(None)).await.unwrap(), refused(SHORT));
    assert_eq!(call(&store, release(1, first)).await.unwrap(), Reply::Released);
    // Each of them tries to begin the time until they are given up; one succeeds.
    let asked = (0..16).map(|_| call(&store, contradicting(Some(first))));
    for reply in futures_util::future::join_all(asked).await {
        assert_eq!(reply.unwrap(), refused(SHORT));
    }
    let leases =
        || server.api("lease/leases", "{}").unwrap()["leases"].as_array().map_or(0, Vec::len);
    soon(async {
        while leases() > 1 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    // Candidates with the same settings are granted leases, and the settings bind again.
    let (second, _) = granted(&store, acquire_for(3, Some(first), SHORT)).await;
    assert_eq!(call(&store, release(3, second)).await.unwrap(), Reply::Released);
    let began = Instant::now();
    let third = soon(async {
        loop {
            match call(&store, contradicting(Some(second))).await.unwrap() {
                Reply::Granted { token, .. } => return token,
                reply => assert_eq!(reply, refused(SHORT)),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert!(began.elapsed() >= SHORT, "given up after {:?}", began.elapsed());
    assert!(third > second);
    assert_eq!(call(&store, acquire_for(1, None, SHORT)).await.unwrap(), refused(SHORT * 2));
}

/// It ends, and is not the first contradiction's doing alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_bind_after_a_lease_that_ended() {
    let server = server();
    let store = at(&[server.port()]);
    let (first, _) = granted(&store, acquire_for(1, None, SHORT)).await;
    soon(async {
        while call(&store, Request::Observe).await.unwrap() != Reply::Vacant {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    let contradicting = acquire_for(2, Some(first), SHORT * 2);
    assert_eq!(call(&store, contradicting).await.unwrap(), refused(SHORT));
}

/// A grant of an earlier version wrote no settings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_without_settings_is_read() {
    let server = server();
    let store = at(&[server.port()]);
    let (token, _) = granted(&store, acquire(1, None)).await;
    // tenure/settings/job
    let settings = r#"{"key":"dGVudXJlL3NldHRpbmdzL2pvYg=="}"#;
    server.api("kv/deleterange", settings).unwrap();
    let shorter = call(&store, acquire_for(2, None, TTL.saturating_sub(Duration::from_secs(1))))
        .await
        .unwrap();
    assert_eq!(shorter, Reply::Refused { ttl: TTL, quarantine: None });
    held(&store, acquire_for(2, None, TTL * 2)).await;
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    granted(&store, acquire_for(2, Some(token), SHORT)).await;
}

/// As a grant of an earlier version leaves them: older than the last tenure.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_of_an_earlier_tenure_bind_nobody() {
    let server = server();
    let store = at(&[server.port()]);
    let (token, _) = granted(&store, acquire_for(1, None, SHORT)).await;
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    // tenure/last/job
    let last = r#"{"key":"dGVudXJlL2xhc3Qvam9i"}"#;
    let found = server.api("kv/range", last).unwrap();
    let value = &found["kvs"][0]["value"];
    let written = format!(r#"{{"key":"dGVudXJlL2xhc3Qvam9i","value":{value}}}"#);
    server.api("kv/put", &written).unwrap();
    let reply = call(&store, acquire_for(2, Some(token), SHORT * 2)).await.unwrap();
    let Reply::Stale { last } = reply else { panic!("{reply:?}") };
    granted(&store, acquire_for(2, Some(last), SHORT * 2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_longest_ttl_outlives_its_election() {
    let server = server();
    let store = at(&[server.port()]);
    granted(&store, acquire_for(1, None, TTL)).await;
    let key = Key::new("another job").unwrap();
    let short = acquire_for(2, None, SHORT);
    let reply = store_call(&store, &key, short).await;
    let Reply::Granted { token, wait } = reply else { panic!("{reply:?}") };
    assert_eq!(wait, Duration::ZERO, "nothing is lost");
    // The candidate knows a later tenure, so history is lost.
    assert_eq!(store_call(&store, &key, release(2, token)).await, Reply::Released);
    let beyond = Token::new(token.get() + 1_000_000);
    let reply = store_call(&store, &key, acquire_for(3, beyond, SHORT)).await;
    let Reply::Granted { wait, .. } = reply else { panic!("{reply:?}") };
    assert!(wait > SHORT && wait <= TTL, "{wait:?}, and a lease of {TTL:?} may be left");
}

async fn store_call(store: &impl Store, key: &Key, request: Request) -> Reply {
    soon(store.call(key, request)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_settings_are_errors() {
    let server = server();
    let store = at(&[server.port()]);
    // tenure/settings/job and tenure/longest: "hush".
    for key in ["dGVudXJlL3NldHRpbmdzL2pvYg==", "dGVudXJlL2xvbmdlc3Q="] {
        server.api("kv/put", &format!(r#"{{"key":"{key}","value":"aHVzaA=="}}"#)).unwrap();
        let error = call(&store, acquire(1, None)).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::BadRecord);
        assert!(!error.to_string().contains("hush"), "{error}");
        server.api("kv/deleterange", &format!(r#"{{"key":"{key}"}}"#)).unwrap();
    }
    granted(&store, acquire(1, None)).await;
}
