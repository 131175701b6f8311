//! Messages to the leader by SQL: from triggers and other clients that are no candidates.

use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::postgres::{LeaseTable, Postgres};
use tenure::store::{Message, Request, StoreErrorKind};
use tenure::{Candidate, Config, Tenure};
use tenure_servers::PostgresServer;

use super::support::{TTL, acquire, at, call, client, granted, local, release, server, soon};

/// A function and a trigger, as the page shows them.
fn shown() -> String {
    let page = include_str!("../../../docs/stores/postgres.md");
    let mut blocks = page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.find(|block| block.contains("CREATE TRIGGER")).unwrap().to_owned()
}

async fn leads(store: Postgres, key: &str) -> (Candidate, Tenure) {
    let config = Config::builder(TTL * 2).build().unwrap();
    let candidate = Candidate::builder(store, key).config(config).start().unwrap();
    let tenure = soon(candidate.elected()).await.unwrap();
    (candidate, tenure)
}

/// Sends until one arrives: an inbox is known to the store a moment after it was opened.
async fn arrives(tenure: &Tenure, mut send: impl FnMut()) -> Message {
    let mut inbox = tenure.inbox();
    soon(async {
        loop {
            send();
            let message = tokio::time::timeout(Duration::from_millis(50), inbox.next());
            if let Ok(message) = message.await {
                return message.expect("the tenure is current");
            }
        }
    })
    .await
}

/// The result of the function for the election of all tests.
fn sends(server: &PostgresServer) -> String {
    server.sql("SELECT tenure.leases_notify_json('job', 'wake up', '{}')").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trigger_reaches_the_leader() {
    let server = server();
    let (_candidate, tenure) = leads(at(server.port()), "order-worker").await;
    server.sql("CREATE TABLE orders (number integer)").unwrap();
    server.sql(&shown()).unwrap();
    // With the rights of a role that knows nothing else of elections.
    server.sql("CREATE ROLE app LOGIN; GRANT INSERT ON orders TO app").unwrap();
    let orders = "INSERT INTO orders VALUES (1), (2)";
    let refused = server.sql_as("app", "postgres", orders).unwrap_err();
    assert!(format!("{refused:?}").contains("denied for schema tenure"), "{refused:?}");
    server.sql("GRANT USAGE ON SCHEMA tenure TO app").unwrap();
    let refused = server.sql_as("app", "postgres", orders).unwrap_err();
    assert!(
        format!("{refused:?}").contains("denied for function leases_notify_json"),
        "{refused:?}"
    );
    server.sql(&LeaseTable::default().message_grants_sql("app")).unwrap();
    let message = arrives(&tenure, || {
        server.sql_as("app", "postgres", orders).unwrap();
    });
    let message = message.await;
    assert_eq!(message.channel(), "orders");
    let payload: serde_json::Value = serde_json::from_slice(message.payload()).unwrap();
    assert_eq!(payload, serde_json::json!({ "table": "orders" }));
    for other in ["leases", "leases_messages"] {
        let read = server.sql_as("app", "postgres", &format!("TABLE tenure.{other}"));
        read.unwrap_err();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_are_rolled_back_do_not_arrive() {
    let server = server();
    let (_candidate, tenure) = leads(at(server.port()), "job").await;
    let mut inbox = tenure.inbox();
    arrives(&tenure, || drop(sends(&server))).await;
    let undone = "BEGIN; SELECT tenure.leases_notify_json('job', 'undone', '{}'); ROLLBACK";
    server.sql(undone).unwrap();
    // Several of one transaction have numbers of their own.
    let both = "SELECT tenure.leases_notify_json('job', 'both', g::text::json) FROM generate_series(1, 2) AS g";
    server.sql(both).unwrap();
    let others =
        inbox.by_ref().filter(|message| std::future::ready(message.channel() != "wake up"));
    let next: Vec<Message> = soon(Box::pin(others).take(2).collect()).await;
    let next: Vec<_> = next.iter().map(|one| (one.channel(), &one.payload()[..])).collect();
    assert_eq!(next, [("both", &b"1"[..]), ("both", &b"2"[..])]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_errors_that_name_them() {
    let server = server();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    let client = client(server.port()).await;
    let notify = async |key: &str, channel: &str, payload: &str| {
        let sql = format!("SELECT tenure.leases_notify_json({key}, {channel}, {payload})");
        client.query_one(&sql, &[]).await.map(|row| row.get::<_, Option<i64>>(0))
    };
    let json = |bytes: usize| format!("to_json(repeat('x', {}))", bytes - 2);
    for (key, channel, payload, code, says) in [
        ("'job'", "'x'", &*json(4097), "22023", "payload has 4097 bytes; it must have 1 to 4096"),
        ("'job'", "repeat('ä', 33)", "'1'", "22023", "channel has 66 bytes; it must have 1 to 64"),
        ("'job'", "''", "'1'", "22023", "channel has 0 bytes; it must have 1 to 64"),
        ("repeat('k', 513)", "'x'", "'1'", "22023", "key has 513 bytes; it must have 1 to 512"),
        ("''", "'x'", "'1'", "22023", "key has 0 bytes; it must have 1 to 512"),
        ("NULL", "'x'", "'1'", "22004", "key is null; it must have 1 to 512 bytes"),
        ("'job'", "NULL", "'1'", "22004", "channel is null; it must have 1 to 64 bytes"),
        ("'job'", "'x'", "NULL", "22004", "payload is null; it must have 1 to 4096 bytes"),
    ] {
        let error = notify(key, channel, payload).await.unwrap_err();
        let error = error.as_db_error().unwrap();
        assert_eq!((error.code().code(), error.message()), (code, says));
    }
    assert_eq!(server.sql("SELECT count(*) FROM tenure.leases_messages").unwrap(), "0");
    // At the limits.
    let sent = notify("'job'", "repeat('x', 64)", &json(4096)).await.unwrap();
    assert_eq!(sent, Some(i64::try_from(token).unwrap()));
    let sent = notify("repeat('k', 512)", "'x'", "'1'").await.unwrap();
    assert_eq!(sent, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_leads_is_no_error() {
    let server = server();
    let store = at(server.port());
    call(&store, Request::Observe).await.unwrap();
    assert_eq!(sends(&server), "", "no such election");
    let token = granted(&store, acquire(1, None)).await;
    assert_eq!(sends(&server), token.to_string());
    call(&store, release(1, token)).await.unwrap();
    assert_eq!(sends(&server), "", "released");
    assert_eq!(server.sql("SELECT count(*) FROM tenure.leases_messages").unwrap(), "1");
}

/// Half of the queue is four gigabytes: the function is called with another bound, which any queue
/// exceeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_costs_the_message_and_not_the_transaction() {
    let server = server();
    let token = granted(&at(server.port()), acquire(1, None)).await;
    let schema = LeaseTable::default().schema_sql();
    let usage = "pg_notification_queue_usage() >= ";
    let is_full = schema.replace(&format!("{usage}0.5"), &format!("{usage}0"));
    assert_ne!(is_full, schema);
    server.sql(&is_full).unwrap();
    let sends = "SELECT tenure.leases_notify_json('job', 'x', '1')";
    server.sql("CREATE TABLE orders (number integer)").unwrap();
    let order = format!("BEGIN; INSERT INTO orders VALUES (1); {sends}; COMMIT");
    assert_eq!(server.sql(&order).unwrap(), "");
    let kept =
        "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM tenure.leases_messages)";
    assert_eq!(server.sql(kept).unwrap(), "1|0");
    server.sql(&schema).unwrap();
    assert_eq!(server.sql(sends).unwrap(), token.to_string());
}

/// The transaction of the call leaves candidates alone, with the lease given back or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_transaction_does_not_delay_candidates() {
    let server = server();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    let mut session = server.session().unwrap();
    session.sql("BEGIN").unwrap();
    let send = "SELECT tenure.leases_notify_json('job', 'x', '1') IS NOT NULL";
    assert_eq!(session.sql(send).unwrap(), "t");
    call(&store, release(1, token)).await.unwrap();
    assert_eq!(session.sql(send).unwrap(), "f");
    granted(&store, acquire(2, Some(token))).await;
    assert_eq!(session.sql(send).unwrap(), "t");
    session.sql("COMMIT").unwrap();
    // A message to a leader that is gone by the commit is to nobody.
    let tokens = "SELECT count(DISTINCT token) FROM tenure.leases_messages";
    assert_eq!(server.sql(tokens).unwrap(), "2");
}

/// Others may delete old messages that the snapshot of a transaction still sees.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_messages_do_not_make_transactions_fail() {
    let server = server();
    let store = at(server.port());
    granted(&store, acquire(1, None)).await;
    let count = || server.sql("SELECT count(*) FROM tenure.leases_messages").unwrap();
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        sends(&server);
        server.sql("UPDATE tenure.leases_messages SET sent = 1").unwrap();
        let mut session = server.session().unwrap();
        session.sql(&format!("BEGIN ISOLATION LEVEL {level}; SELECT 1")).unwrap();
        sends(&server);
        assert_eq!(count(), "1", "old ones are deleted");
        session.sql("SELECT tenure.leases_notify_json('job', 'x', '1'); COMMIT").unwrap();
        assert_eq!(count(), "2");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_of_the_caller_are_not_called() {
    let server = server();
    let (_candidate, tenure) = leads(at(server.port()), "job").await;
    server.sql("CREATE ROLE app LOGIN; CREATE SCHEMA app AUTHORIZATION app").unwrap();
    server.sql(&LeaseTable::default().message_grants_sql("app")).unwrap();
    // It would run with the rights of the table's owner.
    let trap = "CREATE FUNCTION app.octet_length(bytea) RETURNS integer LANGUAGE plpgsql AS \
         'BEGIN ALTER ROLE app SUPERUSER; RETURN 1; END'";
    server.sql_as("app", "postgres", trap).unwrap();
    let call =
        "SET search_path = app, pg_catalog; SELECT tenure.leases_notify_json('job', 'x', '1')";
    let message = arrives(&tenure, || {
        server.sql_as("app", "postgres", call).unwrap();
    });
    assert_eq!(message.await.channel(), "x");
    let rights = "SELECT rolsuper FROM pg_roles WHERE rolname = 'app'";
    assert_eq!(server.sql(rights).unwrap(), "f");
}

/// The name of the table, and the encoding of the database, may be any.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_utf_8_in_every_database() {
    let server = server();
    let latin =
        "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0";
    server.sql(latin).unwrap();
    server.sql("ALTER DATABASE latin SET client_encoding = 'UTF8'").unwrap();
    let table = LeaseTable::new("We\"ird; DROP", "table \"x\"").unwrap();
    let config = local(server.port()).database("latin").table(table).trust_empty_store(true);
    let (_candidate, tenure) = leads(Postgres::new(config), "jöb").await;
    let call =
        "SET client_encoding = 'UTF8'; SELECT \"We\"\"ird; DROP\".\"table \"\"x\"\"_notify_json\"(
        key => 'jöb', channel => 'grüße', payload => to_json('süß'::text))";
    let message = arrives(&tenure, || {
        assert_ne!(server.sql_as("postgres", "latin", call).unwrap(), "");
    });
    let message = message.await;
    assert_eq!((message.channel(), &message.payload()[..]), ("grüße", "\"süß\"".as_bytes()));
}

const GONE: &str = "DROP FUNCTION tenure.leases_notify_json";
const IS_THERE: &str = "SELECT to_regproc('tenure.leases_notify_json') IS NOT NULL";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_of_another_version_is_left_alone() {
    let server = server();
    call(&at(server.port()), Request::Observe).await.unwrap();
    server.sql(GONE).unwrap();
    let newer = "CREATE OR REPLACE FUNCTION tenure.leases_version() RETURNS integer \
         LANGUAGE sql IMMUTABLE AS 'SELECT 3'";
    server.sql(newer).unwrap();
    let error = call(&at(server.port()), Request::Observe).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::UnsupportedVersion, "{error}");
    assert_eq!(server.sql(IS_THERE).unwrap(), "f");
}
