//! A session has a lock exactly as long as it has the lease.

use std::time::{Duration, Instant};

use tenure::Config;
use tenure::store::postgres::{AdvisoryConfig, PostgresAdvisory};
use tenure::store::{Key, Reply, Request, Store, StoreErrorKind};

use super::{LOCK, OldProgram, at, candidate, config, holders, terminate_holders};
use crate::postgres::support::{
    self, SOON, TTL, acquire, acquire_for, answered, call, client, granted, held, release, renew,
    server, sessions, soon,
};

const SHORT: Duration = Duration::from_millis(600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_or_dropping_frees_the_lock() {
    let server = server();
    let old = OldProgram::start(&server).await;
    let patient = Config::builder(TTL).build().unwrap();
    let one = candidate(server.port(), "one", patient);
    soon(one.elected()).await.unwrap();
    soon(one.stop()).await.unwrap();
    // By the time that it has stopped, although its session lives on.
    assert!(old.call(&format!("pg_try_advisory_lock({LOCK})")).await);
    assert!(old.call(&format!("pg_advisory_unlock({LOCK})")).await);
    drop(one);
    let two = candidate(server.port(), "two", patient);
    soon(two.elected()).await.unwrap();
    drop(two);
    old.waits_for(format!("({LOCK})")).await;
    assert!(old.call(&format!("pg_advisory_unlock({LOCK})")).await);
    // A store that is dropped with its leases; the leases run out.
    let store = at(server.port());
    // The lock is free a moment before the row is, which the last release has locked.
    let Reply::Stale { last } = answered(&store, acquire(1, None)).await else {
        panic!("there were leaders before")
    };
    let (token, _) = granted(&store, acquire(1, Some(last))).await;
    drop(store);
    old.waits_for(format!("({LOCK})")).await;
    assert_eq!(held(&at(server.port()), acquire(2, None)).await.token, token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_grant_leaves_the_lock_taken() {
    let server = server();
    let (store, other) = (at(server.port()), at(server.port()));
    let (token, _) = granted(&store, acquire(1, None)).await;
    held(&store, acquire(2, None)).await;
    held(&other, acquire(3, None)).await;
    for _ in 0..3 {
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
        granted(&store, acquire(1, None)).await;
    }
    assert_eq!(holders(&server).len(), 1);
    // It was taken several times; one release frees it.
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    assert_eq!(holders(&server).len(), 0);
    for store in [&store, &other] {
        let stale = Reply::Stale { last: token };
        assert_eq!(call(store, acquire(2, None)).await.unwrap(), stale);
        let superseded = Reply::Superseded { last: Some(token) };
        assert_eq!(call(store, renew(1, token)).await.unwrap(), superseded);
        assert_eq!(call(store, release(1, token)).await.unwrap(), Reply::NotHeld);
        assert_eq!(call(store, Request::Observe).await.unwrap(), Reply::Vacant);
        assert_eq!(holders(&server).len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_lease_frees_its_lock_on_request() {
    let server = server();
    let (store, other) = (at(server.port()), at(server.port()));
    // The other election of the session keeps it from ending with the lease.
    let longer = Key::new("longer").unwrap();
    store.call(&longer, acquire(1, None)).await.unwrap();
    let (first, _) = granted(&store, acquire_for(1, None, SHORT)).await;
    tokio::time::sleep(SHORT).await;
    let incumbent = held(&other, acquire(2, Some(first))).await;
    assert!(incumbent.name.starts_with("session "), "{incumbent:?}");
    assert_eq!(call(&store, Request::Observe).await.unwrap(), Reply::Vacant, "its own session");
    assert_eq!(call(&store, release(1, first)).await.unwrap(), Reply::NotHeld);
    let (second, _) = granted(&other, acquire(2, Some(first))).await;
    // Late requests change nothing.
    assert_eq!(call(&store, release(1, first)).await.unwrap(), Reply::NotHeld);
    assert_eq!(call(&other, renew(2, second)).await.unwrap(), Reply::Renewed);
    assert_eq!(holders(&server).len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_grant_neither_leaves_nor_loses_locks() {
    let server = server();
    let store = at(server.port());
    let longer = Key::new("longer").unwrap();
    let reply = store.call(&longer, acquire(1, None)).await.unwrap();
    let Reply::Granted { token: longer_token, .. } = reply else { panic!("granted") };
    let before = holders(&server);
    server.sql("ALTER TABLE tenure.leases ADD CHECK (metadata <> 'host-2')").unwrap();
    let error = call(&store, acquire(2, None)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Refused, "{error}");
    assert_eq!(holders(&server), before);
    // A release that fails frees the lock: the lease has to run out.
    let (token, _) = granted(&store, acquire(1, None)).await;
    let fails = "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'no'; END $$; \
         CREATE TRIGGER t BEFORE UPDATE ON tenure.leases FOR EACH ROW EXECUTE FUNCTION fails()";
    server.sql(fails).unwrap();
    call(&store, release(1, token)).await.unwrap_err();
    assert_eq!(holders(&server), before);
    // A renewal that fails, or an acquire of the leader, keeps the lock.
    for request in [renew(1, longer_token), acquire(1, None)] {
        store.call(&longer, request).await.unwrap_err();
        assert_eq!(holders(&server), before);
    }
    server.sql("DROP TRIGGER t ON tenure.leases").unwrap();
    assert_eq!(held(&at(server.port()), acquire(3, None)).await.token, token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_requests_free_no_later_lock() {
    let server = server();
    let store = at(server.port());
    let (first, _) = granted(&store, acquire(1, None)).await;
    assert_eq!(call(&store, release(1, first)).await.unwrap(), Reply::Released);
    // The same holder: its tenures differ in the token alone.
    let (second, _) = granted(&store, acquire(1, Some(first))).await;
    let superseded = Reply::Superseded { last: Some(second) };
    assert_eq!(call(&store, renew(1, first)).await.unwrap(), superseded);
    assert_eq!(call(&store, release(1, first)).await.unwrap(), Reply::NotHeld);
    assert_eq!(holders(&server).len(), 1);
}

/// Also if the connection stays open: TCP still answers for a paused process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_silent_sessions_with_locks_end() {
    let server = server();
    let (store, standby) = (at(server.port()), at(server.port()));
    call(&standby, Request::Observe).await.unwrap();
    let (token, _) = granted(&store, acquire_for(1, None, SHORT)).await;
    // Either frees the lock; on a slow machine, the lease may have ended.
    let reply = call(&store, release(1, token)).await.unwrap();
    assert!(matches!(reply, Reply::Released | Reply::NotHeld), "{reply:?}");
    let pids = "SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity \
         WHERE application_name = 'tenure'";
    let before = server.sql(pids).unwrap();
    tokio::time::sleep(SHORT + Duration::from_secs(2)).await;
    assert_eq!(server.sql(pids).unwrap(), before);
    let (token, _) = granted(&store, acquire_for(1, Some(token), SHORT)).await;
    let old = OldProgram::start(&server).await;
    old.waits_for(format!("({LOCK})")).await;
    // By then the lease has run out: a leader that is cut off no longer leads.
    let superseded = Reply::Superseded { last: Some(token) };
    assert_eq!(call(&standby, renew(1, token)).await.unwrap(), superseded);
    sessions(&server, "true", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_session_ends_the_abandoned_one() {
    let server = server();
    // It waits for the row until the server notices that its client is gone.
    let waits = support::local(server.port()).trust_empty_store(true).lock_timeout(SOON);
    let store = PostgresAdvisory::new(AdvisoryConfig::new(waits).lock("job", LOCK).unwrap());
    let (token, _) = granted(&store, acquire(1, None)).await;
    let before = holders(&server);
    let blocks = client(server.port()).await;
    blocks.batch_execute("BEGIN; SELECT FROM tenure.leases FOR UPDATE").await.unwrap();
    let late = tokio::time::timeout(Duration::from_millis(300), call(&store, renew(1, token)));
    late.await.unwrap_err();
    // Silent for too long.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let observed = answered(&store, Request::Observe).await;
    let Reply::Held(incumbent) = observed else { panic!("{observed:?}") };
    assert_eq!(incumbent.token, token);
    let after = holders(&server);
    assert_eq!(after.len(), 1, "the lock is taken back at once");
    assert_ne!(before, after);
    let ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tenure'";
    assert_eq!(server.sql(ours).unwrap(), "1");
    blocks.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
    assert_eq!(holders(&server), after);
}

/// The driver of an election may be gone while others of its process lead, or wait, or look.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_election_gets_a_leader_again() {
    let server = server();
    let (store, other) = (at(server.port()), at(server.port()));
    let longer = Key::new("longer").unwrap();
    let reply = store.call(&longer, acquire(9, None)).await.unwrap();
    let Reply::Granted { token: longer_token, .. } = reply else { panic!("granted") };
    let mut last = None;
    for goes_on in [renew(9, longer_token), acquire(8, None), Request::Observe] {
        let (token, _) = granted(&store, acquire_for(1, last, SHORT)).await;
        let second = soon(async {
            loop {
                tokio::time::sleep(Duration::from_millis(100)).await;
                store.call(&longer, goes_on.clone()).await.unwrap();
                if let Reply::Granted { token, .. } =
                    call(&other, acquire(2, Some(token))).await.unwrap()
                {
                    return token;
                }
            }
        })
        .await;
        assert!(second > token);
        assert_eq!(call(&other, release(2, second)).await.unwrap(), Reply::Released);
        assert_eq!(holders(&server).len(), 1, "and the other election has kept its lock");
        last = Some(second);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_row_ends_no_shared_session() {
    for _ in 0..5 {
        if !stalls_beside_a_locked_row().await {
            return;
        }
    }
    panic!("the machine is too slow for this test");
}

/// Renewals wait for a locked row in vain, and some are given up. Returns whether a round took too long, which proves
/// nothing: a session that is silent for a second may be ended.
async fn stalls_beside_a_locked_row() -> bool {
    let server = server();
    let store = at(server.port());
    let longer = Key::new("longer").unwrap();
    store.call(&longer, acquire(9, None)).await.unwrap();
    let (token, _) = granted(&store, acquire(1, None)).await;
    let before = holders(&server);
    let stranger = OldProgram::start(&server).await;
    let has_it = async {
        stranger.waits_for(config(server.port()).number("longer").unwrap()).await;
    };
    let blocks = client(server.port()).await;
    let row = "BEGIN; SELECT FROM tenure.leases WHERE key = 'job' FOR UPDATE";
    blocks.batch_execute(row).await.unwrap();
    let (mut began, mut longest) = (Instant::now(), Duration::ZERO);
    let renewals = async {
        for round in 0..30 {
            // Given up by its timeout, or answered.
            let within = Duration::from_millis(if round % 2 == 0 { 20 } else { 1_000 });
            drop(tokio::time::timeout(within, call(&store, renew(1, token))).await);
            tokio::time::sleep(Duration::from_millis(50)).await;
            longest = longest.max(began.elapsed());
            began = Instant::now();
        }
    };
    let is_taken = tokio::select! {
        () = has_it => true,
        () = renewals => false,
    };
    if longest.max(began.elapsed()) > Duration::from_millis(500) {
        return true;
    }
    assert!(!is_taken, "the stranger has the lock");
    assert_eq!(holders(&server), before);
    blocks.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_session_first_takes_all_locks() {
    let server = server();
    let store = at(server.port());
    let longer = Key::new("longer").unwrap();
    store.call(&longer, acquire(9, None)).await.unwrap();
    let (token, _) = granted(&store, acquire(1, None)).await;
    let ended = Key::new("ended").unwrap();
    store.call(&ended, acquire_for(1, None, Duration::from_millis(10))).await.unwrap();
    terminate_holders(&server);
    // The first request takes them, whichever it is.
    held(&store, Request::Observe).await;
    assert_eq!(holders(&server).len(), 2, "of those that are live");
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    terminate_holders(&server);
    call(&store, Request::Observe).await.unwrap();
    assert_eq!(holders(&server).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unnamed_session_has_user_and_address() {
    let server = server();
    let stranger = client(server.port()).await;
    stranger.batch_execute("SET application_name TO ''").await.unwrap();
    stranger.batch_execute(&format!("SELECT pg_advisory_lock({LOCK})")).await.unwrap();
    let incumbent = held(&at(server.port()), Request::Observe).await;
    assert!(incumbent.name.ends_with(" of postgres at 127.0.0.1"), "{}", incumbent.name);
}
