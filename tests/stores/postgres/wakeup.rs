//! Hints: what wakes those who wait. The leases here last a minute, so that only a hint can explain a
//! takeover within seconds.

use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tenure::Config;
use tenure::store::postgres::{LeaseTable, Postgres};
use tenure::store::{Hint, Key, Message, Reply, Request, Store};
use tenure_servers::Flow;

use super::support::{
    LISTENS, acquire, at, call, candidate, client, granted, job, proxy, release, server, sessions,
    soon,
};

type Hints = Pin<Box<dyn Stream<Item = Hint> + Send>>;

const QUIET: Duration = Duration::from_millis(300);

fn listen(store: &Postgres) -> Hints {
    Box::pin(store.hints(&job()))
}

async fn is_quiet(hints: &mut Hints) -> bool {
    tokio::time::timeout(QUIET, hints.next()).await.is_err()
}

fn patient() -> Config {
    Config::builder(Duration::from_secs(60)).build().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fresh_subscription_and_each_release_are_hints() {
    let server = server();
    let store = at(server.port());
    let mut hints = listen(&store);
    soon(hints.next()).await.expect("the subscription itself");
    let (token, _) = granted(&store, acquire(1, None)).await;
    assert!(is_quiet(&mut hints).await, "a grant is no hint");
    call(&store, release(1, token)).await.unwrap();
    soon(hints.next()).await.expect("the release");
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::NotHeld);
    assert!(is_quiet(&mut hints).await, "nothing was released");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_election_hears_its_own_hints() {
    let server = server();
    let (store, odd) = (at(server.port()), Key::new("a\0b/ä'\"$1").unwrap());
    let mut others: Hints = Box::pin(store.hints(&odd));
    let (mut one, mut two) = (listen(&store), listen(&at(server.port())));
    for hints in [&mut others, &mut one, &mut two] {
        soon(hints.next()).await.unwrap();
    }
    let (token, _) = granted(&store, acquire(1, None)).await;
    call(&store, release(1, token)).await.unwrap();
    soon(one.next()).await.unwrap();
    soon(two.next()).await.unwrap();
    assert!(is_quiet(&mut others).await);
    let Reply::Granted { token, .. } = store.call(&odd, acquire(1, None)).await.unwrap() else {
        panic!("granted")
    };
    store.call(&odd, release(1, token)).await.unwrap();
    soon(others.next()).await.unwrap();
    assert!(is_quiet(&mut one).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_go_on_when_the_connection_was_cut() {
    let server = server();
    let proxy = proxy(&server).await;
    let mut hints = listen(&at(proxy.port()));
    soon(hints.next()).await.unwrap();
    proxy.cut();
    soon(hints.next()).await.expect("the new subscription");
    let store = at(server.port());
    let (token, _) = granted(&store, acquire(1, None)).await;
    call(&store, release(1, token)).await.unwrap();
    soon(hints.next()).await.expect("the release, over the new connection");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_begin_when_the_server_appears() {
    let mut server = server();
    server.stop().unwrap();
    let mut hints = listen(&at(server.port()));
    assert!(is_quiet(&mut hints).await);
    server.restart().unwrap();
    soon(hints.next()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_whose_connections_were_cut_is_still_woken() {
    let server = server();
    let proxy = proxy(&server).await;
    let leader = candidate(server.port(), "leader", patient());
    let first = soon(leader.elected()).await.unwrap();
    let standby = candidate(proxy.port(), "standby", patient());
    sessions(&server, LISTENS, 2).await;
    proxy.cut();
    sessions(&server, LISTENS, 1).await;
    sessions(&server, LISTENS, 2).await;
    soon(leader.resign()).await.unwrap();
    let second = soon(standby.elected()).await.unwrap();
    assert!(second.token() > first.token());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_while_the_standby_is_cut_off_is_found_on_reconnecting() {
    let server = server();
    let proxy = proxy(&server).await;
    let leader = candidate(server.port(), "leader", patient());
    soon(leader.elected()).await.unwrap();
    let standby = candidate(proxy.port(), "standby", patient());
    sessions(&server, LISTENS, 2).await;
    proxy.refuse(true);
    proxy.cut();
    sessions(&server, LISTENS, 1).await;
    soon(leader.stop()).await.unwrap();
    tokio::time::sleep(QUIET).await;
    assert!(!standby.is_leader());
    proxy.refuse(false);
    soon(standby.elected()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wake_ups_that_silently_stop_are_noticed_by_requests_that_go_unanswered() {
    let server = server();
    let proxy = proxy(&server).await;
    let store = at(proxy.port());
    let mut hints = listen(&store);
    soon(hints.next()).await.unwrap();
    proxy.set_replies(Flow::BlackHole);
    let late = tokio::time::timeout(QUIET, call(&store, tenure::store::Request::Observe));
    late.await.unwrap_err();
    proxy.set_replies(Flow::Forward);
    soon(hints.next()).await.expect("a subscription over a new connection");
}

/// The shipped statements, with another bound on how full the queue may be: half of it is 4 GB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_notification_queue_that_fills_up_does_not_hold_up_a_release() {
    const NOTIFICATIONS: &str = "SELECT count(pg_notify('other', repeat('x', 7900) || g)) FROM generate_series(1, 11000) AS g";
    let server = server();
    let shipped = LeaseTable::default().schema_sql();
    let sql = shipped
        .replace("pg_notification_queue_usage() < 0.5", "pg_notification_queue_usage() < 0.01");
    assert_ne!(sql, shipped);
    server.sql(&sql).unwrap();
    let store = at(server.port());
    let mut hints = listen(&store);
    soon(hints.next()).await.unwrap();
    // Who listens and does not read keeps everything in the queue.
    let deaf = client(server.port()).await;
    deaf.batch_execute("LISTEN other").await.unwrap();
    deaf.batch_execute("BEGIN; SELECT 1").await.unwrap();
    server.sql(NOTIFICATIONS).unwrap();
    let (token, _) = granted(&store, acquire(1, None)).await;
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    assert!(is_quiet(&mut hints).await, "nothing more was put into the queue");
    deaf.batch_execute("ROLLBACK").await.unwrap();
    drop(deaf);
    soon(async {
        while server.sql("SELECT pg_notification_queue_usage() < 0.01").unwrap() != "t" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let (token, _) = granted(&store, acquire(1, Some(token))).await;
    call(&store, release(1, token)).await.unwrap();
    soon(hints.next()).await.expect("a hint, now that there is room");
}

/// LISTEN and NOTIFY know no rights: who may connect may use both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_read_and_sent_by_granted_roles_only() {
    let server = server();
    server.sql("CREATE ROLE nobody LOGIN").unwrap();
    let store = at(server.port());
    let (token, _) = granted(&store, acquire(1, None)).await;
    let mut inbox = pin!(store.messages(&job(), token));
    let sends = |text: &'static str| {
        let message = Message::new("channel", text).unwrap();
        let store = &store;
        async move { call(store, Request::Notify { message }).await.unwrap() }
    };
    // Until the inbox is known to the server.
    soon(async {
        loop {
            sends("first").await;
            if tokio::time::timeout(QUIET, inbox.next()).await.is_ok() {
                return;
            }
        }
    })
    .await;

    while tokio::time::timeout(QUIET, inbox.next()).await.is_ok() {}

    let nobody = |sql: &str| server.sql_as("nobody", "postgres", sql);
    nobody("SELECT message FROM tenure.leases_messages").unwrap_err();
    nobody("INSERT INTO tenure.leases_messages VALUES ('', '', 1, 1, '')").unwrap_err();

    // A forged message, and an old one's number said again.
    let key = "6a6f62";
    let forged =
        format!("SELECT pg_notify('tenure_leases_inbox', '{key} {token} CWNoYW5uZWxmb3JnZWQ=')");
    nobody(&forged).unwrap();
    let number =
        "SELECT encode(number, 'hex') FROM tenure.leases_messages ORDER BY sent DESC LIMIT 1";
    let number = server.sql(number).unwrap();
    for number in [&number, &"0".repeat(32), &"f".repeat(32)] {
        nobody(&format!("SELECT pg_notify('tenure_leases_inbox', '{key} {number}')")).unwrap();
    }
    sends("second").await;
    let next = soon(inbox.next()).await.unwrap();
    assert_eq!(&next.payload()[..], b"second");
    assert!(tokio::time::timeout(QUIET, inbox.next()).await.is_err(), "and nothing else");
}
