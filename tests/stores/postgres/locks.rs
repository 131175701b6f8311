//! Requests that wait for a row's lock: they compare with what they find when they get it.

use std::time::Duration;

use tenure::store::postgres::Postgres;
use tenure::store::{Key, Reply, Request, Store};
use tenure_servers::PostgresServer;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use super::support::{
    RENEWED, SOON, acquire, after_watching, call, client, granted, held, local, look, release,
    renew, server, sessions, shown, soon,
};

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

/// The request finds its row locked, by a transaction that changes it and is committed meanwhile.
/// The answer.
async fn after_a_wait(
    server: &PostgresServer,
    store: &Postgres,
    request: Request,
    change: &str,
) -> Reply {
    let holds = lock(server).await;
    let asked = asked(store, request);
    sessions(server, WAITS, 1).await;
    holds.batch_execute(&format!("{change}; COMMIT")).await.unwrap();
    asked.await.unwrap()
}

/// A change of the row that a request waits for counts, and not the row as it was when the request
/// was sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_waited_see_what_was_committed() {
    let server = server();
    let store = at(server.port());
    let another = "token = token + 1, holder = decode(repeat('07', 16), 'hex')";
    let renewed = "number = number + 1";
    let mut token = granted(&store, acquire(1, None)).await;
    for request in ["renew", "release", "take"] {
        let before = shown(&store, acquire(2, Some(token))).await;
        let (request, change) = match request {
            "renew" => (renew(1, token), another),
            "release" => (release(1, token), another),
            _ => (after_watching(&acquire(2, Some(token)), &before), renewed),
        };
        let change = format!("UPDATE tenure.leases SET {change}");
        match after_a_wait(&server, &store, request, &change).await {
            Reply::Superseded { last } => assert_eq!(last, Some(token.next())),
            Reply::NotHeld => {}
            Reply::Not(shown) => assert_ne!(shown.sight.record, before.sight.record),
            other => panic!("refused, and not {other:?}"),
        }
        // The lease is taken from whoever has it now.
        let now = shown(&store, look(None)).await;
        token = granted(&store, after_watching(&acquire(1, now.sight.last), &now)).await;
    }
    // Without a change, they are carried out.
    assert_eq!(after_a_wait(&server, &store, renew(1, token), "SELECT 1").await, RENEWED);
    let released = after_a_wait(&server, &store, release(1, token), "SELECT 1").await;
    assert_eq!(released, Reply::Released);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_request_neither_waits_nor_writes() {
    let server = server();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
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
        call(&store, Request::Observe).await.unwrap();
        let first = client(server.port()).await;
        let acquires = "BEGIN; SELECT tenure.leases_acquire('job', \
             decode(repeat('07', 16), 'hex'), 1, 0, NULL, NULL, NULL, NULL, NULL, 30000000, 30000000, \
             decode(repeat('07', 16), 'hex'), 'first', '', \
             tenure.leases_identity(), tenure.leases_backend(), true, true)";
        first.batch_execute(acquires).await.unwrap();
        let asked = asked(&store, acquire(2, None));
        sessions(&server, WAITS, 1).await;
        first.batch_execute(ends).await.unwrap();
        match asked.await.unwrap() {
            Reply::Granted { .. } if is_granted => {}
            Reply::Not(shown) if !is_granted => {
                assert_eq!(shown.incumbent().expect("a leader").name, "first");
            }
            other => panic!("{ends}: {other:?}"),
        }
    }
}

const LOCKS_PAST: &str = "SELECT FROM tenure.leases_past FOR UPDATE NOWAIT";

/// Waits until another session waits for a lock of this one.
async fn waits_for(server: &PostgresServer, session: &Client) {
    let pid: i32 = session.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    let sql = format!("SELECT count(*) FROM pg_locks WHERE {pid} = ANY(pg_blocking_pids(pid))");
    soon(async {
        while server.sql(&sql).unwrap() == "0" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

fn asked(store: &Postgres, request: Request) -> JoinHandle<Reply> {
    let store = store.clone();
    tokio::spawn(async move { call(&store, request).await.unwrap() })
}

/// An acquire that begins again has released its lock on the past: the session that holds the row's
/// lock may need the past too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_waits_for_no_row_while_it_has_locked_the_past() {
    let server = server();
    let store = at(server.port());
    store.call(&Key::new("other").unwrap(), acquire(1, None)).await.unwrap();
    let (holds, rival) = (client(server.port()).await, client(server.port()).await);
    holds.batch_execute(&format!("BEGIN; {LOCKS_PAST}")).await.unwrap();
    let asked = asked(&store, acquire(2, None));
    sessions(&server, WAITS, 1).await;
    let inserts = "INSERT INTO tenure.leases (key, token, holder, number, ttl, quarantine, written, name, metadata) \
         VALUES ('job', 7, decode(repeat('07', 16), 'hex'), 1, 1, 1, 1, 'first', '')";
    rival.batch_execute(inserts).await.unwrap();
    rival
        .batch_execute("BEGIN; SELECT FROM tenure.leases WHERE key = 'job' FOR UPDATE")
        .await
        .unwrap();
    holds.batch_execute("COMMIT").await.unwrap();
    waits_for(&server, &rival).await;
    rival.batch_execute(&format!("{LOCKS_PAST}; COMMIT")).await.unwrap();
    let reply = asked.await.unwrap();
    assert!(matches!(reply, Reply::Not(_)), "{reply:?}");
}

/// Neither of two that share a lock on the past could change it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_that_must_change_the_past_does_not_share_its_lock() {
    let server = server();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    let holds = lock(&server).await;
    let asked = asked(&store, acquire(1, Some(token)));
    sessions(&server, WAITS, 1).await;
    let shares = client(server.port()).await;
    shares
        .batch_execute("UPDATE tenure.leases_past SET identity = 'of another server'")
        .await
        .unwrap();
    shares.batch_execute("BEGIN; SELECT FROM tenure.leases_past FOR SHARE").await.unwrap();
    holds.batch_execute("COMMIT").await.unwrap();
    waits_for(&server, &shares).await;
    shares.batch_execute(&format!("{LOCKS_PAST}; COMMIT")).await.unwrap();
    let reply = asked.await.unwrap();
    assert!(matches!(reply, Reply::Not(_)), "{reply:?}");
}

/// A longer TTL changes the past. What was watched of the one before the stamp counts no more, and
/// the stamp stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_that_changes_the_past_sees_a_stamp_that_it_waited_for() {
    let server = server();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    call(&store, release(1, token)).await.unwrap();
    server.sql("UPDATE tenure.leases_past SET longest = 1").unwrap();
    let stamps = client(server.port()).await;
    let stamp = "BEGIN; UPDATE tenure.leases_past \
         SET stamp = decode(repeat('07', 16), 'hex'), watched = 0";
    stamps.batch_execute(stamp).await.unwrap();
    let asked = asked(&store, acquire(2, Some(token)));
    sessions(&server, WAITS, 1).await;
    stamps.batch_execute("COMMIT").await.unwrap();
    match asked.await.unwrap() {
        Reply::Not(shown) => assert!(shown.sight.past.is_some(), "{shown:?}"),
        other => panic!("refused, and not {other:?}"),
    }
    let kept = server.sql("SELECT encode(stamp, 'hex') FROM tenure.leases_past").unwrap();
    assert_eq!(kept, "07".repeat(16));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_leader_is_visible_during_writes() {
    let server = server();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    let _holds = lock(&server).await;
    assert_eq!(held(&store, Request::Observe).await.token, token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_requests_do_not_wait_for_ever() {
    let server = server();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    let _holds = lock(&server).await;
    let late = tokio::time::timeout(Duration::from_millis(300), call(&store, renew(1, token)));
    late.await.unwrap_err();
    sessions(&server, WAITS, 0).await;
}
