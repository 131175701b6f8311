//! Notifications beyond hints of releases: a queue that is full or locked, and messages to the
//! leader.

use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tenure::store::contract::Wish;
use tenure::store::postgres::Postgres;
use tenure::store::{Key, Message, Reply, Request, Store, Watched};
use tenure_servers::PostgresServer;

use super::support::{acquire, at, call, client, granted, job, release, server, soon};

type Hints = Pin<Box<dyn Stream<Item = Key> + Send>>;

const QUIET: Duration = Duration::from_millis(300);

fn listen(store: &Postgres) -> Hints {
    Box::pin(store.hints(Watched::only([job()])))
}

async fn is_quiet(hints: &mut Hints) -> bool {
    tokio::time::timeout(QUIET, hints.next()).await.is_err()
}

/// By a function in the place of the server's: half of the queue is 4 GB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_notification_queue_delays_no_release() {
    let server = PostgresServer::start_with(&["allow_system_table_mods=on"]).unwrap();
    let usage = "ALTER FUNCTION pg_catalog.pg_notification_queue_usage() RENAME TO pg_real_queue_usage; \
         CREATE TABLE queue AS SELECT 0.5::float8 AS usage; \
         CREATE FUNCTION pg_catalog.pg_notification_queue_usage() RETURNS float8 \
             LANGUAGE sql AS 'SELECT usage FROM public.queue'";
    server.sql(usage).unwrap();
    let store = at(server.port());
    let mut hints = listen(&store);
    soon(hints.next()).await.unwrap();
    let token = granted(&store, acquire(1, None)).await;
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    assert!(is_quiet(&mut hints).await, "nothing more was put into the queue");
    server.sql("UPDATE queue SET usage = 0.4").unwrap();
    let token = granted(&store, acquire(1, Some(token))).await;
    call(&store, release(1, token)).await.unwrap();
    soon(hints.next()).await.expect("a hint, now that there is room");
}

/// A commit with a notification keeps the queue's lock, here until a standby has applied it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_notification_queue_delays_no_release() {
    let server = PostgresServer::start_with(&["synchronous_standby_names=*"]).unwrap();
    let standby = server.replica(&[]).unwrap();
    server.sql("CREATE TABLE notes (note integer)").unwrap();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    standby.sql("SELECT pg_wal_replay_pause()").unwrap();
    let notifies = client(server.port()).await;
    notifies.batch_execute("SET synchronous_commit = remote_apply").await.unwrap();
    let slow = tokio::spawn(async move {
        notifies.batch_execute("BEGIN; INSERT INTO notes VALUES (1); NOTIFY notes; COMMIT").await
    });
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    soon(async {
        while server.sql(waits).unwrap() == "0" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let wish = Request::Want { token, wish: Some(Wish::Anybody) };
    assert_eq!(call(&store, wish).await.unwrap(), Reply::Noted);
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    assert_ne!(server.sql(waits).unwrap(), "0", "the lock was free meanwhile");
    standby.sql("SELECT pg_wal_replay_resume()").unwrap();
    soon(slow).await.unwrap().unwrap();
}

/// LISTEN and NOTIFY know no rights: every role that may connect may use both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_granted_roles_send_and_read_messages() {
    let server = server();
    server.sql("CREATE ROLE nobody LOGIN").unwrap();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    let mut inbox = pin!(store.messages(&job(), token));
    let sends = |text: &'static str| {
        let message = Message::new("channel", text).unwrap();
        let store = &store;
        async move { call(store, Request::Notify { message }).await.unwrap() }
    };
    // Until the inbox is known to the server.
    soon(Box::pin(async {
        loop {
            sends("first").await;
            if tokio::time::timeout(QUIET, inbox.next()).await.is_ok() {
                return;
            }
        }
    }))
    .await;

    while tokio::time::timeout(QUIET, inbox.next()).await.is_ok() {}

    let nobody = |sql: &str| server.sql_as("nobody", "postgres", sql);
    nobody("SELECT message FROM tenure.leases_messages").unwrap_err();
    nobody("INSERT INTO tenure.leases_messages VALUES ('', '', 1, 1, '')").unwrap_err();

    // A forged message, and the number of an old one again.
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
