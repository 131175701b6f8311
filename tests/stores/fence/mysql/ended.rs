//! Checks that end before the write, or outlast the session: statements that commit, savepoints,
//! errors, and transactions that are prepared.

use mysql_async::IsolationLevel::RepeatableRead;
use mysql_async::prelude::Queryable;
use mysql_async::{Error, TxOpts};
use tenure::fence::FenceError;

use super::support::{
    LEVELS, NEW, OLD, a_session_waits, begins, client, fence, filled, fires, next, queue,
    reads_under, reset, soon, takes_over, token,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_outside_of_a_transaction_is_refused() {
    let server = queue();
    let mut old = client(server.port()).await;
    let taken = takes_over(&mut old, OLD).await;
    for ends in
        ["CREATE TABLE other (n INT)", "LOCK TABLES jobs WRITE, tenure_fences WRITE", "COMMIT"]
    {
        let mut transaction = old.start_transaction(TxOpts::new()).await.unwrap();
        transaction.query_drop(ends).await.unwrap();
        let refused = taken.check(&mut transaction).await.unwrap_err();
        assert!(refused.to_string().contains("outside of a transaction"), "{ends}: {refused:?}");
        transaction.query_drop("UNLOCK TABLES").await.unwrap();
        transaction.rollback().await.unwrap();
    }
    // The same statement, prepared once, in and outside of transactions.
    let check = old.prep(fence().check_sql()).await.unwrap();
    for (begins, changed) in
        [("DO 0", 0), ("START TRANSACTION", 1), ("DO 0", 0), ("SET autocommit = 0", 1)]
    {
        old.query_drop(begins).await.unwrap();
        let checked = old.exec_iter(&check, ("job", OLD)).await.unwrap();
        assert_eq!(checked.affected_rows(), changed, "{begins}");
        checked.drop_result().await.unwrap();
        old.query_drop("COMMIT").await.unwrap();
    }
}

/// It would read the past, or be rolled back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_over_inside_a_transaction_is_refused() {
    let server = queue();
    let mut new = client(server.port()).await;
    let [announces, confirms] = fence().take_over_sql();
    for begins in ["START TRANSACTION", "SET autocommit = 0; UPDATE jobs SET next = 5"] {
        new.query_drop(begins).await.unwrap();
        let refused = fence().take_over(&mut new, token(NEW)).await.unwrap_err();
        assert!(refused.to_string().contains("inside a transaction"), "{begins}: {refused:?}");
        new.query_drop(filled(&announces, NEW)).await.unwrap();
        let confirmed: Option<u64> = new.query_first(filled(&confirms, NEW)).await.unwrap();
        assert_eq!(confirmed, None, "{begins}");
        // It is still the caller's transaction.
        new.query_drop("ROLLBACK").await.unwrap();
        assert_eq!(server.sql("SELECT COUNT(*) FROM tenure_fences").unwrap(), "0", "{begins}");
        assert_eq!(next(&mut new).await, 0);
        new.query_drop("ROLLBACK").await.unwrap();
    }
    // Without one, such a session takes over too.
    let _ = takes_over(&mut new, NEW).await;
    assert_eq!(server.sql("SELECT token FROM tenure_fences").unwrap(), NEW.to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_outlasts_a_rollback_to_a_savepoint() {
    let server = queue();
    for level in LEVELS {
        reset(&server);
        let (mut old, mut new) = (client(server.port()).await, client(server.port()).await);
        let taken = takes_over(&mut old, OLD).await;
        let mut transaction = begins(&mut old, level).await;
        taken.check(&mut transaction).await.unwrap();
        transaction.query_drop("SAVEPOINT attempt").await.unwrap();
        fires(&mut transaction, 6).await.unwrap();
        transaction.query_drop("ROLLBACK TO attempt").await.unwrap();
        // Paused here: another candidate leads by now.
        let reads = tokio::spawn(async move { reads_under(&mut new, level).await });
        a_session_waits(&server).await;
        fires(&mut transaction, 0).await.unwrap();
        transaction.commit().await.unwrap();
        assert_eq!(soon(reads).await.unwrap(), 1, "{level:?}");
    }
}

/// A limit: where a transaction begins with the savepoint, a rollback to it ends all that InnoDB
/// knows of the transaction, and no server tells that there is a savepoint.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_inside_the_first_savepoint_ends_with_it() {
    let server = queue();
    let (mut old, mut new) = (client(server.port()).await, client(server.port()).await);
    let taken = takes_over(&mut old, OLD).await;
    let mut transaction = begins(&mut old, RepeatableRead).await;
    transaction.query_drop("SAVEPOINT attempt").await.unwrap();
    taken.check(&mut transaction).await.unwrap();
    transaction.query_drop("ROLLBACK TO attempt").await.unwrap();
    let _ = takes_over(&mut new, NEW).await;
    // So the check stands after it.
    let refused = taken.check(&mut transaction).await.unwrap_err();
    assert!(matches!(refused, FenceError::Superseded { .. }), "{refused:?}");
    transaction.rollback().await.unwrap();
}

/// A lock without a write ends with `XA PREPARE`: a take-over would not wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prepared_transaction_is_waited_for() {
    let mut server = queue();
    for ends in ["COMMIT", "ROLLBACK"] {
        reset(&server);
        let mut old = client(server.port()).await;
        let _ = takes_over(&mut old, OLD).await;
        old.query_drop("XA START 'lead'").await.unwrap();
        old.query_drop(filled(&fence().check_sql(), OLD)).await.unwrap();
        fires(&mut old, 0).await.unwrap();
        old.query_drop("XA END 'lead'; XA PREPARE 'lead'").await.unwrap();
        drop(old);
        // Paused here, and with its server: another candidate leads by now.
        for restarts in [false, true] {
            if restarts {
                server.restart().unwrap();
            }
            let mut new = client(server.port()).await;
            new.query_drop("SET innodb_lock_wait_timeout = 1").await.unwrap();
            let waits = soon(fence().take_over(&mut new, token(NEW))).await.unwrap_err();
            let is_timeout = matches!(
                &waits,
                FenceError::Unknown { source: Error::Server(error), .. } if error.code == 1205
            );
            assert!(is_timeout, "{ends}, {restarts}: {waits:?}");
        }
        let mut new = client(server.port()).await;
        let reads = tokio::spawn(async move { reads_under(&mut new, RepeatableRead).await });
        a_session_waits(&server).await;
        server.sql(&format!("XA {ends} 'lead'")).unwrap();
        assert_eq!(soon(reads).await.unwrap(), i32::from(ends == "COMMIT"), "{ends}");
    }
}

/// The server rolls back, and the statement may be sent once more: not by this transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_after_a_deadlock_is_refused() {
    let server = queue();
    server.sql("INSERT INTO jobs VALUES (2, 0), (3, 0), (4, 0)").unwrap();
    let (mut old, mut other) = (client(server.port()).await, client(server.port()).await);
    let taken = takes_over(&mut old, OLD).await;
    let mut transaction = begins(&mut old, RepeatableRead).await;
    // Of two that wait for each other, the one that has changed less is rolled back.
    transaction.query_drop("UPDATE jobs SET next = 1 WHERE one = 1").await.unwrap();
    let mut more = begins(&mut other, RepeatableRead).await;
    more.query_drop("UPDATE jobs SET next = 1 WHERE one > 1").await.unwrap();
    let waits = async {
        more.query_drop("UPDATE jobs SET next = 1 WHERE one = 1").await.unwrap();
        more.commit().await.unwrap();
    };
    let meets = async {
        a_session_waits(&server).await;
        let error = transaction.query_drop("UPDATE jobs SET next = 2 WHERE one = 2").await;
        let error = error.unwrap_err();
        assert!(matches!(&error, Error::Server(error) if error.code == 1213), "{error:?}");
        let refused = taken.check(&mut transaction).await.unwrap_err();
        assert!(refused.to_string().contains("rolled it back"), "{refused:?}");
        transaction.rollback().await.unwrap();
    };
    soon(async { tokio::join!(waits, meets) }).await;
}
