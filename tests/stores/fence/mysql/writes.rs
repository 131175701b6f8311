//! Leaders that are paused between their statements, and their successors.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mysql_async::Error;
use mysql_async::IsolationLevel::{self, RepeatableRead};
use mysql_async::prelude::Queryable;
use tenure::fence::FenceError;

use super::support::{
    LEVELS, NEW, OLD, a_session_waits, begins, client, fence, filled, fires, next, queue,
    reads_under, reset, soon, takes_over, token,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_over_waits_for_a_checked_write() {
    let server = queue();
    for level in LEVELS {
        for ends in ["commit", "rollback"] {
            reset(&server);
            let (mut old, mut new) = (client(server.port()).await, client(server.port()).await);
            let taken = takes_over(&mut old, OLD).await;
            let mut transaction = begins(&mut old, level).await;
            taken.check(&mut transaction).await.unwrap();
            let job = next(&mut transaction).await;
            // Paused here: another candidate leads by now.
            let reads = tokio::spawn(async move { reads_under(&mut new, level).await });
            a_session_waits(&server).await;
            fires(&mut transaction, job).await.unwrap();
            let wanted = if ends == "commit" {
                transaction.commit().await.unwrap();
                1
            } else {
                transaction.rollback().await.unwrap();
                0
            };
            assert_eq!(soon(reads).await.unwrap(), wanted, "{level:?}, {ends}");
            let mut transaction = begins(&mut old, level).await;
            let refused = taken.check(&mut transaction).await.unwrap_err();
            assert!(matches!(refused, FenceError::Superseded { .. }), "{refused:?}");
            transaction.rollback().await.unwrap();
        }
    }
}

/// A check after the write, which is rolled back with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_before_the_commit_refuses_what_was_written() {
    let server = queue();
    for level in LEVELS {
        reset(&server);
        let (mut old, mut new) = (client(server.port()).await, client(server.port()).await);
        let taken = takes_over(&mut old, OLD).await;
        let mut transaction = begins(&mut old, level).await;
        fires(&mut transaction, 6).await.unwrap();
        // Paused here: another candidate leads by now.
        let newer = takes_over(&mut new, NEW).await;
        let refused = taken.check(&mut transaction).await.unwrap_err();
        assert!(matches!(refused, FenceError::Superseded { .. }), "{level:?}: {refused:?}");
        transaction.rollback().await.unwrap();
        let mut transaction = begins(&mut new, level).await;
        let job = next(&mut transaction).await;
        fires(&mut transaction, job).await.unwrap();
        newer.check(&mut transaction).await.unwrap();
        transaction.commit().await.unwrap();
        assert_eq!(server.sql("SELECT next FROM jobs").unwrap(), "1", "{level:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_before_the_take_over_writes_nothing() {
    let server = queue();
    for (level, is_strict) in LEVELS.into_iter().flat_map(|level| [(level, false), (level, true)]) {
        reset(&server);
        let (mut old, mut new) = (client(server.port()).await, client(server.port()).await);
        let strict = format!("SET innodb_snapshot_isolation = {}", u8::from(is_strict));
        old.query_drop(strict).await.unwrap();
        let taken = takes_over(&mut old, OLD).await;
        let mut transaction = begins(&mut old, level).await;
        // A read of the queue would lock it at the highest level.
        let snapshot = "SELECT COUNT(*) FROM tenure_fences WHERE election = 'other'";
        transaction.query_drop(snapshot).await.unwrap();
        // Paused here, with a snapshot but before its check.
        let newer = takes_over(&mut new, NEW).await;
        let mut written = begins(&mut new, level).await;
        newer.check(&mut written).await.unwrap();
        let ours = next(&mut written).await;
        fires(&mut written, ours).await.unwrap();
        written.commit().await.unwrap();
        let refused = taken.check(&mut transaction).await.unwrap_err();
        match (level, &refused) {
            (_, FenceError::Superseded { stored, .. }) => assert_eq!(*stored, token(NEW)),
            (
                RepeatableRead | IsolationLevel::Serializable,
                FenceError::Unknown { source: Error::Server(error), .. },
            ) => {
                assert!(is_strict && error.code == 1020, "{error:?}");
            }
            _ => panic!("{level:?}: {refused:?}"),
        }
        transaction.rollback().await.unwrap();
        assert_eq!(server.sql("SELECT next FROM jobs").unwrap(), "1", "{level:?}");
    }
}

/// Two candidates lead in turn, each of which may be paused between any two of its statements.
/// Nobody replaces a job that a newer tenure has read, or that was fired since.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn leads_in_turn_fire_each_job_once() {
    let server = queue();
    server.sql("ALTER TABLE jobs ADD COLUMN token BIGINT NOT NULL DEFAULT 0").unwrap();
    for level in LEVELS {
        reset(&server);
        server.sql("UPDATE jobs SET token = 0").unwrap();
        let (leads, fired) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut tasks = Vec::new();
        for candidate in 0..2 {
            let (leads, fired) = (Arc::clone(&leads), Arc::clone(&fired));
            let mut conn = client(server.port()).await;
            tasks.push(tokio::spawn(async move {
                for lead in 0..30_u64 {
                    let own = leads.fetch_add(1, Ordering::Relaxed) + 1;
                    let pause = |step: u64| {
                        Duration::from_micros((lead * 7 + candidate * 3 + step * 5) % 11 * 300)
                    };
                    let done = leads_once(&mut conn, own, level, pause).await;
                    fired.fetch_add(u64::from(done), Ordering::Relaxed);
                }
            }));
        }
        for task in tasks {
            soon(task).await.unwrap();
        }
        let fired = fired.load(Ordering::Relaxed);
        assert!(fired > 0, "{level:?}: a tenure has fired");
        assert_eq!(server.sql("SELECT next FROM jobs").unwrap(), fired.to_string(), "{level:?}");
        assert_eq!(server.sql("SELECT token FROM tenure_fences").unwrap(), "60", "{level:?}");
    }
}

/// A tenure with one job. True if it has fired.
async fn leads_once(
    conn: &mut mysql_async::Conn,
    own: u64,
    level: IsolationLevel,
    pause: impl Fn(u64) -> Duration,
) -> bool {
    let taken = loop {
        match soon(fence().take_over(conn, token(own))).await {
            Ok(taken) => break taken,
            Err(FenceError::Superseded { .. }) => return false,
            Err(FenceError::Unknown { source, .. }) => {
                assert!(matches!(source, Error::Server(_)), "{source:?}");
            }
            Err(error) => panic!("{error:?}"),
        }
    };
    tokio::time::sleep(pause(1)).await;
    let job = next(conn).await;
    tokio::time::sleep(pause(2)).await;
    let mut transaction = begins(conn, level).await;
    let wrote = async {
        taken.check(&mut transaction).await.ok()?;
        tokio::time::sleep(pause(3)).await;
        let sql = format!(
            "UPDATE jobs SET next = {job} + 1, token = {own} WHERE next = {job} AND token < {own}"
        );
        let updated = transaction.query_iter(sql).await.ok()?;
        let changed = updated.affected_rows();
        updated.drop_result().await.ok()?;
        assert_eq!(changed, 1, "the job that was read is the next one");
        Some(())
    };
    if wrote.await.is_none() {
        transaction.rollback().await.unwrap();
        return false;
    }
    tokio::time::sleep(pause(4)).await;
    transaction.commit().await.is_ok()
}

/// The price of a check that is a write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_of_one_tenure_wait_for_each_other() {
    let server = queue();
    let (mut one, mut other) = (client(server.port()).await, client(server.port()).await);
    let taken = takes_over(&mut one, OLD).await;
    let mut first = begins(&mut one, RepeatableRead).await;
    taken.check(&mut first).await.unwrap();
    let again = taken.clone();
    let second = tokio::spawn(async move {
        let mut second = begins(&mut other, RepeatableRead).await;
        again.check(&mut second).await.unwrap();
        second.commit().await.unwrap();
    });
    a_session_waits(&server).await;
    first.commit().await.unwrap();
    soon(second).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_over_without_an_outcome_is_repeated() {
    let server = queue();
    let (mut old, mut new) = (client(server.port()).await, client(server.port()).await);
    let taken = takes_over(&mut old, OLD).await;
    let mut transaction = begins(&mut old, RepeatableRead).await;
    taken.check(&mut transaction).await.unwrap();
    new.query_drop("SET innodb_lock_wait_timeout = 1").await.unwrap();
    let unknown = soon(fence().take_over(&mut new, token(NEW))).await.unwrap_err();
    assert!(matches!(unknown, FenceError::Unknown { .. }), "{unknown:?}");
    new.query_drop("SET innodb_lock_wait_timeout = 1000").await.unwrap();
    let waits = tokio::spawn(async move { fence().take_over(&mut new, token(NEW)).await });
    a_session_waits(&server).await;
    let waiting = "SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'";
    let waiting = server.sql(waiting).unwrap();
    server.sql(&format!("KILL {waiting}")).unwrap();
    let unknown = soon(waits).await.unwrap().unwrap_err();
    assert!(matches!(unknown, FenceError::Unknown { .. }), "{unknown:?}");
    transaction.commit().await.unwrap();
    let mut new = client(server.port()).await;
    for _ in 0..2 {
        assert_eq!(takes_over(&mut new, NEW).await.token(), token(NEW));
    }
}

/// A caller that gives up, or is refused, keeps its connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_connection_keeps_no_lock() {
    let server = queue();
    let (mut old, mut new) = (client(server.port()).await, client(server.port()).await);
    let taken = takes_over(&mut old, OLD).await;
    let mut transaction = begins(&mut old, RepeatableRead).await;
    taken.check(&mut transaction).await.unwrap();
    {
        let fence = fence();
        let gives_up = fence.take_over(&mut new, token(NEW));
        tokio::select! {
            taken = gives_up => panic!("{taken:?}"),
            () = a_session_waits(&server) => {}
        }
    }
    transaction.commit().await.unwrap();
    // What was sent is carried out as a whole.
    let mut third = client(server.port()).await;
    third.query_drop("SET innodb_lock_wait_timeout = 100").await.unwrap();
    let newest = takes_over(&mut third, NEW + 1).await;
    // A refusal leaves no lock.
    let refused = soon(fence().take_over(&mut old, token(OLD))).await.unwrap_err();
    assert!(matches!(refused, FenceError::Superseded { .. }), "{refused:?}");
    let mut transaction = begins(&mut third, RepeatableRead).await;
    soon(newest.check(&mut transaction)).await.unwrap();
    transaction.commit().await.unwrap();
    drop(new);
}

/// A late or repeated announcement, as a client without the library would send it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lower_token_never_replaces_a_higher_one() {
    let server = queue();
    let mut conn = client(server.port()).await;
    let [announces, confirms] = fence().take_over_sql();
    for (number, is_taken) in [(OLD, true), (NEW, true), (OLD, false), (NEW, true)] {
        for _ in 0..2 {
            conn.exec_drop(&announces, ("job", number)).await.unwrap();
        }
        let confirmed: Option<u64> = conn.exec_first(&confirms, ("job", number)).await.unwrap();
        assert_eq!(confirmed.is_some(), is_taken, "{number}");
    }
    // An announcement that is rolled back took nothing over.
    conn.query_drop("START TRANSACTION").await.unwrap();
    conn.query_drop(filled(&announces, NEW + 1)).await.unwrap();
    conn.query_drop("ROLLBACK").await.unwrap();
    assert_eq!(server.sql("SELECT token FROM tenure_fences").unwrap(), NEW.to_string());
    for (number, changed) in [(OLD, 0), (NEW, 1), (NEW + 1, 0)] {
        let mut transaction = begins(&mut conn, RepeatableRead).await;
        transaction.exec_drop(fence().check_sql(), ("job", number)).await.unwrap();
        assert_eq!(transaction.affected_rows(), changed, "{number}");
        transaction.commit().await.unwrap();
    }
    let taken = takes_over(&mut conn, NEW).await;
    let mut transaction = begins(&mut conn, RepeatableRead).await;
    taken.check(&mut transaction).await.unwrap();
    transaction.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_name_the_fence_and_both_tokens() {
    let server = queue();
    let mut conn = client(server.port()).await;
    let newer = takes_over(&mut conn, NEW).await;
    let error = fence().take_over(&mut conn, token(OLD)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the fence \"job\" holds token 8, which is above this tenure's token 7: a newer tenure has taken \
         the resource over"
    );
    let error = fence().take_over(&mut conn, token(u64::MAX)).await.unwrap_err();
    assert!(matches!(error, FenceError::Misused { .. }), "{error:?}");
    assert!(
        error.to_string().contains("can't store the token: token 18446744073709551615 is"),
        "{error}"
    );
    for (sql, holds) in [
        ("UPDATE tenure_fences SET token = 5", "token 5"),
        ("DELETE FROM tenure_fences", "no token"),
    ] {
        server.sql(sql).unwrap();
        let mut transaction = begins(&mut conn, RepeatableRead).await;
        let error = newer.check(&mut transaction).await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("the fence \"job\" holds {holds}, not")), "{error}");
        transaction.rollback().await.unwrap();
    }
}
