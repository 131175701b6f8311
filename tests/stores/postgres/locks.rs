//! Requests that wait for a row's lock: they take effect by the time at which they get it.

use std::ops::Range;
use std::time::Duration;

use tenure::store::Reply;
use tenure::store::postgres::Postgres;
use tenure_servers::PostgresServer;
use tokio_postgres::Client;

use super::support::{
    SOON, TTL, acquire, acquire_for, call, client, granted, held, local, release, renew, server,
    sessions, unix_micros,
};

const SHORT: Duration = Duration::from_secs(2);
const WAITS: &str = "wait_event_type = 'Lock'";

/// A store that waits for locks for long.
fn at(port: u16) -> Postgres {
    Postgres::new(local(port).trust_empty_store(true).lock_timeout(SOON))
}

/// Holds on to the row of the election of all tests.
async fn lock(server: &PostgresServer) -> Client {
    let client = client(server.port()).await;
    client.batch_execute("BEGIN; SELECT FROM tenure.leases FOR UPDATE").await.unwrap();
    client
}

/// The request finds its row locked, and gets it some time later. The answer, and from when to when it
/// waited at least, in microseconds since 1970.
async fn after_a_wait(
    server: &PostgresServer,
    store: &Postgres,
    request: tenure::store::Request,
) -> (Reply, Range<u64>) {
    let holds = lock(server).await;
    let asked = tokio::spawn({
        let store = store.clone();
        async move { call(&store, request).await.unwrap() }
    });
    sessions(server, WAITS, 1).await;
    let since = unix_micros();
    tokio::time::sleep(SHORT).await;
    let waited = since..unix_micros();
    holds.batch_execute("ROLLBACK").await.unwrap();
    (asked.await.unwrap(), waited)
}

/// The answer to a request of a tenure that is sent while its lease is live, and finds it ended; and its token.
async fn across_the_end(
    request: fn(u128, tenure::Token) -> tenure::store::Request,
) -> (Reply, tenure::Token) {
    let server = server();
    let store = at(server.port());
    call(&store, request(1, tenure::Token::FIRST)).await.unwrap();
    let mut seen = None;
    for _ in 0..5 {
        let (token, _) = granted(&store, acquire_for(1, seen, SHORT)).await;
        let (reply, waited) = after_a_wait(&server, &store, request(1, token)).await;
        let end: u64 = server.sql("SELECT lease_end FROM tenure.leases").unwrap().parse().unwrap();
        assert!(end < waited.end, "the lease was extended");
        // On a slow machine, the lease may end before the request waits.
        if end >= waited.start {
            return (reply, token);
        }
        seen = Some(token);
    }
    panic!("the machine is too slow for this test");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_that_waited_resurrects_no_lease() {
    let (reply, token) = across_the_end(renew).await;
    assert_eq!(reply, Reply::Superseded { last: Some(token) });
}

/// Too short a wait for the renewal to be undone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_that_waited_briefly_resurrects_no_lease() {
    let server = server();
    let store = at(server.port());
    call(&store, renew(1, tenure::Token::FIRST)).await.unwrap();
    let mut seen = None;
    for _ in 0..5 {
        let (token, _) = granted(&store, acquire_for(1, seen, SHORT / 2)).await;
        let holds = lock(&server).await;
        // By the server: the store's own look would wait for the row once the lease has ended.
        let almost =
            "SELECT pg_sleep_until(to_timestamp(lease_end / 1e6 - 0.04)) FROM tenure.leases";
        holds.batch_execute(almost).await.unwrap();
        let asked = tokio::spawn({
            let store = store.clone();
            async move { call(&store, renew(1, token)).await.unwrap() }
        });
        let ended = "SELECT pg_sleep_until(to_timestamp(lease_end / 1e6)) FROM tenure.leases";
        holds.batch_execute(&format!("{ended}; ROLLBACK")).await.unwrap();
        assert_eq!(asked.await.unwrap(), Reply::Superseded { last: Some(token) });
        seen = Some(token);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_after_its_lease_releases_nothing() {
    let (reply, _) = across_the_end(release).await;
    assert_eq!(reply, Reply::NotHeld);
}

/// The lease counts from the release of the row, or later.
async fn lasts_a_ttl_from(store: &Postgres, let_go: u64) {
    let remaining = held(store, tenure::store::Request::Observe).await.remaining;
    let at_least = TTL.saturating_sub(Duration::from_micros(unix_micros() - let_go));
    assert!(remaining >= at_least, "{remaining:?} of {at_least:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_that_waited_counts_from_its_grant() {
    let server = server();
    let store = at(server.port());
    let (first, _) = granted(&store, acquire_for(1, None, SHORT)).await;
    tokio::time::sleep(SHORT).await;
    let (reply, waited) = after_a_wait(&server, &store, acquire(2, Some(first))).await;
    let Reply::Granted { token, .. } = reply else { panic!("{reply:?}") };
    assert!(token.get() >= waited.end, "granted {} us too early", waited.end - token.get());
    lasts_a_ttl_from(&store, waited.end).await;
    call(&store, release(2, token)).await.unwrap();
    let (reply, _) = after_a_wait(&server, &store, acquire(3, None)).await;
    assert_eq!(reply, Reply::Stale { last: token });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_that_waited_counts_from_its_end() {
    let server = server();
    let store = at(server.port());
    let (token, _) = granted(&store, acquire(1, None)).await;
    let (reply, waited) = after_a_wait(&server, &store, renew(1, token)).await;
    assert_eq!(reply, Reply::Renewed);
    lasts_a_ttl_from(&store, waited.end).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_request_neither_waits_nor_writes() {
    let server = server();
    let store = at(server.port());
    let (token, _) = granted(&store, acquire(1, None)).await;
    let _holds = lock(&server).await;
    for seen in [None, Some(token)] {
        assert_eq!(held(&store, acquire(2, seen)).await.token, token);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_first_acquire_waits() {
    for (ends, is_granted) in [("COMMIT", false), ("ROLLBACK", true)] {
        let server = server();
        let store = at(server.port());
        call(&store, tenure::store::Request::Observe).await.unwrap();
        let first = client(server.port()).await;
        let acquires = "BEGIN; SELECT tenure.leases_acquire('job', \
             decode(repeat('00', 15) || '07', 'hex'), 0, 30000000, \
             tenure.leases_identity(), tenure.leases_backend(), 60000000, 'first', '', true)";
        first.batch_execute(acquires).await.unwrap();
        let asked = tokio::spawn({
            let store = store.clone();
            async move { call(&store, acquire(2, None)).await.unwrap() }
        });
        sessions(&server, WAITS, 1).await;
        first.batch_execute(ends).await.unwrap();
        match asked.await.unwrap() {
            Reply::Granted { .. } if is_granted => {}
            Reply::Held(incumbent) if !is_granted => assert_eq!(incumbent.name, "first"),
            other => panic!("{ends}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_leader_is_visible_during_writes() {
    let server = server();
    let store = at(server.port());
    let (token, _) = granted(&store, acquire(1, None)).await;
    let _holds = lock(&server).await;
    assert_eq!(held(&store, tenure::store::Request::Observe).await.token, token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_requests_do_not_wait_for_ever() {
    let server = server();
    let store = at(server.port());
    let (token, _) = granted(&store, acquire(1, None)).await;
    let _holds = lock(&server).await;
    let late = tokio::time::timeout(Duration::from_millis(300), call(&store, renew(1, token)));
    late.await.unwrap_err();
    sessions(&server, WAITS, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_in_commit_hides_no_leader() {
    let server = server();
    let store = at(server.port());
    let renews = client(server.port()).await;
    let (token, _) = granted(&store, acquire_for(1, None, SHORT * 2)).await;
    // A renewal in time, whose commit takes longer than the rest of the lease.
    let sql = format!(
        "BEGIN; SELECT tenure.leases_renew('job', decode(repeat('00', 15) || '01', 'hex'), {token}, 30000000, \
         NULL, NULL)"
    );
    renews.batch_execute(&sql).await.unwrap();
    tokio::time::sleep(SHORT * 2).await;
    let asked = tokio::spawn({
        let store = store.clone();
        async move { call(&store, tenure::store::Request::Observe).await.unwrap() }
    });
    sessions(&server, WAITS, 1).await;
    renews.batch_execute("COMMIT").await.unwrap();
    assert!(matches!(asked.await.unwrap(), Reply::Held(incumbent) if incumbent.token == token));
}
