//! In PostgreSQL, at every isolation level.

use tenure::fence::FenceError;
use tenure::fence::postgres::{Fence, TakenOver};
use tenure::store::Key;
use tenure_servers::PostgresServer;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, IsolationLevel, Transaction};

use super::{NEW, OLD, token};
use crate::stores::postgres::support::{client, client_of, server};
use crate::stores::support::{job, soon};

const LEVELS: [IsolationLevel; 3] =
    [IsolationLevel::ReadCommitted, IsolationLevel::RepeatableRead, IsolationLevel::Serializable];

fn fence() -> Fence {
    Fence::new(&job())
}

/// A server with fences, and with a queue whose next job is 0.
fn queue() -> PostgresServer {
    let server = server();
    server.sql(&fence().schema_sql()).unwrap();
    server.sql("CREATE TABLE jobs (next int NOT NULL); INSERT INTO jobs VALUES (0)").unwrap();
    server
}

/// Puts the queue back to its beginning.
fn reset(server: &PostgresServer) {
    server.sql("DELETE FROM tenure.fences; UPDATE jobs SET next = 0").unwrap();
}

async fn takes_over(client: &mut Client, number: u64) -> TakenOver {
    soon(fence().take_over(client, token(number))).await.unwrap()
}

async fn begins(client: &mut Client, level: IsolationLevel) -> Transaction<'_> {
    client.build_transaction().isolation_level(level).start().await.unwrap()
}

async fn next(transaction: &Transaction<'_>) -> i32 {
    transaction.query_one("SELECT next FROM jobs", &[]).await.unwrap().get(0)
}

async fn fires(transaction: &Transaction<'_>, job: i32) -> Result<u64, Error> {
    transaction.execute("UPDATE jobs SET next = $1", &[&(job + 1)]).await
}

/// Waits until a session of the test's waits for a lock.
async fn a_session_waits(server: &PostgresServer) {
    let sql = "SELECT count(*) FROM pg_stat_activity \
               WHERE application_name = 'test' AND wait_event_type = 'Lock'";
    soon(async {
        while server.sql(sql).unwrap() == "0" {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Reads as the new leader does after it has taken over.
async fn reads_under(new: &mut Client, level: IsolationLevel) -> i32 {
    let taken = takes_over(new, NEW).await;
    let transaction = begins(new, level).await;
    taken.check(&transaction).await.unwrap();
    next(&transaction).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_over_waits_for_a_checked_write() {
    let server = queue();
    for level in LEVELS {
        for ends in ["commit", "rollback"] {
            reset(&server);
            let (mut old, mut new) = (client(server.port()).await, client(server.port()).await);
            let taken = takes_over(&mut old, OLD).await;
            let transaction = begins(&mut old, level).await;
            taken.check(&transaction).await.unwrap();
            let job = next(&transaction).await;
            // Paused here: another candidate leads by now.
            let reads = tokio::spawn(async move { reads_under(&mut new, level).await });
            a_session_waits(&server).await;
            assert_eq!(fires(&transaction, job).await.unwrap(), 1);
            let wanted = if ends == "commit" {
                transaction.commit().await.unwrap();
                1
            } else {
                drop(transaction);
                0
            };
            assert_eq!(soon(reads).await.unwrap(), wanted, "{level:?}, {ends}");
            let transaction = begins(&mut old, level).await;
            let refused = taken.check(&transaction).await.unwrap_err();
            assert!(matches!(refused, FenceError::Superseded { .. }), "{refused:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_before_the_take_over_writes_nothing() {
    let server = queue();
    for level in LEVELS {
        reset(&server);
        let (mut old, mut new) = (client(server.port()).await, client(server.port()).await);
        let taken = takes_over(&mut old, OLD).await;
        let transaction = begins(&mut old, level).await;
        let job = next(&transaction).await;
        // Paused here, with a snapshot but before its check.
        let newer = takes_over(&mut new, NEW).await;
        let written = begins(&mut new, level).await;
        newer.check(&written).await.unwrap();
        let ours = next(&written).await;
        fires(&written, ours).await.unwrap();
        written.commit().await.unwrap();
        let refused = taken.check(&transaction).await.unwrap_err();
        match (level, &refused) {
            (IsolationLevel::ReadCommitted, FenceError::Superseded { stored, .. }) => {
                assert_eq!(*stored, token(NEW));
                drop(transaction);
            }
            (_, FenceError::Unknown { source, .. }) => {
                assert_eq!(source.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE));
                // The transaction can't commit any more.
                fires(&transaction, job).await.unwrap_err();
                drop(transaction);
            }
            _ => panic!("{level:?}: {refused:?}"),
        }
        assert_eq!(server.sql("SELECT next FROM jobs").unwrap(), "1", "{level:?}");
    }
}

/// The reason for a take-over's own transaction: this one has none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_takeover_inside_the_transaction_reads_the_past() {
    let server = queue();
    for (level, reads) in LEVELS.into_iter().zip([1, 0, 0]) {
        reset(&server);
        let (mut old, mut new) = (client(server.port()).await, client(server.port()).await);
        let taken = takes_over(&mut old, OLD).await;
        let transaction = begins(&mut old, IsolationLevel::ReadCommitted).await;
        taken.check(&transaction).await.unwrap();
        fires(&transaction, 0).await.unwrap();
        let wrong = tokio::spawn(async move {
            let transaction = begins(&mut new, level).await;
            let number = i64::try_from(NEW).unwrap();
            let rows = transaction.query(&fence().take_over_sql(), &[&"job", &number]).await;
            assert_eq!(rows.unwrap().len(), 1, "it has taken over");
            next(&transaction).await
        });
        a_session_waits(&server).await;
        transaction.commit().await.unwrap();
        assert_eq!(soon(wrong).await.unwrap(), reads, "{level:?}");
    }
}

/// A rollback to it would free the lock that the check takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_inside_a_savepoint_is_refused() {
    let server = queue();
    let mut old = client(server.port()).await;
    let taken = takes_over(&mut old, OLD).await;
    for level in LEVELS {
        let mut transaction = begins(&mut old, level).await;
        let mut savepoint = transaction.savepoint("first").await.unwrap();
        let inner = savepoint.savepoint("second").await.unwrap();
        let refused = taken.check(&inner).await.unwrap_err();
        assert!(refused.to_string().contains("savepoint"), "{level:?}: {refused}");
        inner.rollback().await.unwrap();
        let refused = taken.check(&savepoint).await.unwrap_err();
        assert!(refused.to_string().contains("savepoint"), "{level:?}: {refused}");
        savepoint.rollback().await.unwrap();
        // It is still there, as a place for another rollback.
        transaction.batch_execute("RELEASE first").await.unwrap();
        taken.check(&transaction).await.unwrap();
        // A block with handlers for exceptions is one too.
        let sql = fence().check_sql().replace("$1", "'job'").replace("$2", "7");
        let block = format!(
            "DO $$ BEGIN PERFORM * FROM ({sql}) AS checked; \
                             EXCEPTION WHEN division_by_zero THEN NULL; END $$"
        );
        transaction.batch_execute(&block).await.unwrap_err();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_outlasts_a_rollback_to_a_savepoint() {
    let server = queue();
    for level in LEVELS {
        reset(&server);
        let (mut old, mut new) = (client(server.port()).await, client(server.port()).await);
        let taken = takes_over(&mut old, OLD).await;
        let mut transaction = begins(&mut old, level).await;
        taken.check(&transaction).await.unwrap();
        let savepoint = transaction.savepoint("attempt").await.unwrap();
        fires(&savepoint, 6).await.unwrap();
        savepoint.rollback().await.unwrap();
        // Paused here: another candidate leads by now.
        let reads = tokio::spawn(async move { reads_under(&mut new, level).await });
        a_session_waits(&server).await;
        assert_eq!(fires(&transaction, 0).await.unwrap(), 1);
        transaction.commit().await.unwrap();
        assert_eq!(soon(reads).await.unwrap(), 1, "{level:?}");
    }
}

/// A read on a standby may be older than the take-over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_is_neither_taken_over_nor_checked() {
    let server = queue();
    let standby = server.replica(&[]).unwrap();
    let (mut there, mut reads) = (client(server.port()).await, client(standby.port()).await);
    let taken = takes_over(&mut there, OLD).await;
    let refused = fence().take_over(&mut reads, token(OLD)).await.unwrap_err();
    assert!(refused.to_string().contains("primary"), "{refused}");
    // The check does not depend on how far the standby has come.
    let transaction = begins(&mut reads, IsolationLevel::RepeatableRead).await;
    let refused = taken.check(&transaction).await.unwrap_err();
    assert!(refused.to_string().contains("primary"), "{refused}");
    drop(transaction);
    // Once the take-over has arrived there, so has all that older tenures wrote.
    let arrived = "SELECT token FROM tenure.fences WHERE election = 'job' AND token = 7";
    soon(async {
        while reads.query_opt(arrived, &[]).await.ok().flatten().is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
    let transaction = there.build_transaction().read_only(true).start().await.unwrap();
    let refused = taken.check(&transaction).await.unwrap_err();
    assert!(refused.to_string().contains("read-only"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_of_one_tenure_run_concurrently() {
    let server = queue();
    let (mut one, mut other) = (client(server.port()).await, client(server.port()).await);
    let taken = takes_over(&mut one, OLD).await;
    let first = begins(&mut one, IsolationLevel::ReadCommitted).await;
    taken.check(&first).await.unwrap();
    let second = begins(&mut other, IsolationLevel::ReadCommitted).await;
    soon(taken.check(&second)).await.unwrap();
    second.commit().await.unwrap();
    first.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_over_without_an_outcome_is_repeated() {
    let server = queue();
    let (mut old, mut new) = (client(server.port()).await, client(server.port()).await);
    let taken = takes_over(&mut old, OLD).await;
    let transaction = begins(&mut old, IsolationLevel::ReadCommitted).await;
    taken.check(&transaction).await.unwrap();
    new.batch_execute("SET lock_timeout = '50ms'").await.unwrap();
    let unknown = soon(fence().take_over(&mut new, token(NEW))).await.unwrap_err();
    assert!(matches!(unknown, FenceError::Unknown { .. }), "{unknown:?}");
    new.batch_execute("SET lock_timeout = 0").await.unwrap();
    let waits = tokio::spawn(async move { fence().take_over(&mut new, token(NEW)).await });
    a_session_waits(&server).await;
    let ends =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    server.sql(ends).unwrap();
    let unknown = soon(waits).await.unwrap().unwrap_err();
    assert!(matches!(unknown, FenceError::Unknown { .. }), "{unknown:?}");
    transaction.commit().await.unwrap();
    let mut new = client(server.port()).await;
    for _ in 0..2 {
        assert_eq!(takes_over(&mut new, NEW).await.token(), token(NEW));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_name_the_fence_and_both_tokens() {
    let server = queue();
    let mut client = client(server.port()).await;
    let newer = takes_over(&mut client, NEW).await;
    let error = fence().take_over(&mut client, token(OLD)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the fence \"job\" holds token 8, which is above this tenure's token 7: a newer tenure has taken \
         the resource over"
    );
    // The tokens of another election do not matter to this one.
    let other = Fence::new(&Key::new("other").unwrap());
    let _ = soon(other.take_over(&mut client, token(OLD))).await.unwrap();
    let error = fence().take_over(&mut client, token(u64::MAX)).await.unwrap_err();
    assert!(matches!(error, FenceError::Misused { .. }), "{error:?}");
    assert!(
        error.to_string().contains("can't store the token: token 18446744073709551615 is"),
        "{error}"
    );
    for (sql, holds) in [
        ("UPDATE tenure.fences SET token = 5", "token 5"),
        ("DELETE FROM tenure.fences", "no token"),
    ] {
        server.sql(sql).unwrap();
        let transaction = client.transaction().await.unwrap();
        let error = newer.check(&transaction).await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("the fence \"job\" holds {holds}, not")), "{error}");
    }
}

/// Otherwise its outcome would be unknown for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_no_text_is_refused() {
    let server = server();
    let latin =
        "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0";
    server.sql(latin).unwrap();
    let mut client = client_of(server.port(), "latin").await;
    client.batch_execute(&fence().schema_sql()).await.unwrap();
    for (name, code) in [("job\0", "22021"), ("задача", "22P05")] {
        let fence = Fence::new(&Key::new(name).unwrap());
        let error = soon(fence.take_over(&mut client, token(OLD))).await.unwrap_err();
        assert!(matches!(error, FenceError::Misused { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(code) && text.contains("name the election"), "{text}");
    }
    let fence = Fence::new(&Key::new("jöb").unwrap());
    let _ = soon(fence.take_over(&mut client, token(OLD))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_creations_make_one_table() {
    let server = server();
    let (mut first, second) = (client(server.port()).await, client(server.port()).await);
    // What its session remembers is older than the other one's commit.
    second.batch_execute("SELECT FROM tenure.fences").await.unwrap_err();
    let transaction = first.transaction().await.unwrap();
    transaction.batch_execute(&fence().schema_sql()).await.unwrap();
    let creates = tokio::spawn(async move { second.batch_execute(&fence().schema_sql()).await });
    a_session_waits(&server).await;
    transaction.commit().await.unwrap();
    soon(creates).await.unwrap().unwrap();
}

/// A right to create schemas is not needed where there is one, nor any where the table is there.
#[test]
fn what_exists_needs_no_right_to_create_it() {
    let server = server();
    server.sql("CREATE ROLE migrator LOGIN; CREATE ROLE worker LOGIN").unwrap();
    server.sql("CREATE SCHEMA tenure AUTHORIZATION migrator").unwrap();
    for role in ["migrator", "worker"] {
        server.sql_as(role, "postgres", &fence().schema_sql()).unwrap();
        server.sql(&fence().grants_sql("worker")).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_needs_exactly_its_grants() {
    let server = server();
    let fence = Fence::new(&job()).in_table("our \"app\"", "fences of all").unwrap();
    server.sql(&fence.schema_sql()).unwrap();
    server.sql(&fence.schema_sql()).unwrap();
    server.sql("CREATE ROLE \"the worker\" LOGIN").unwrap();
    server.sql(&fence.grants_sql("the worker")).unwrap();
    let mut client = client(server.port()).await;
    client.batch_execute("SET SESSION AUTHORIZATION \"the worker\"").await.unwrap();
    let taken = soon(fence.take_over(&mut client, token(OLD))).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    taken.check(&transaction).await.unwrap();
    transaction.commit().await.unwrap();
    for refused in ["DELETE FROM", "TRUNCATE", "DROP TABLE"] {
        let sql = format!("{refused} \"our \"\"app\"\"\".\"fences of all\"");
        let error = client.batch_execute(&sql).await.unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{sql}");
    }
    for right in ["SELECT", "INSERT", "UPDATE"] {
        let table = "\"our \"\"app\"\"\".\"fences of all\"";
        server.sql(&format!("REVOKE {right} ON {table} FROM \"the worker\"")).unwrap();
        let without = fence.take_over(&mut client, token(OLD)).await.unwrap_err();
        assert!(matches!(without, FenceError::Unknown { .. }), "{right} is not needed");
        server.sql(&format!("GRANT {right} ON {table} TO \"the worker\"")).unwrap();
    }
}

#[test]
fn names_of_tables_have_limits() {
    let error = fence().in_table("", "fences").unwrap_err();
    let said = "the schema of the fences is \"\": it has 0 bytes, and must have 1 to 63; \
                set the schema of the fences to tenure, for example";
    assert_eq!(error.to_string(), said);
    for name in ["x".repeat(64), "a\0b".to_owned()] {
        fence().in_table("tenure", &name).unwrap_err();
    }
}
