//! Replicas, and servers and transactions that only read.

use std::time::Duration;

use mysql_async::TxOpts;
use mysql_async::prelude::Queryable;
use tenure::fence::FenceError;
use tenure_servers::MariadbServer;

use super::support::{
    NEW, OLD, begins, client, client_of, create, fence, filled, fires, soon, takes_over, token,
};

/// A server that logs in that way, with the queue, and a replica.
fn replicated(format: &str) -> (MariadbServer, MariadbServer) {
    let format = format!("--binlog-format={format}");
    let primary = MariadbServer::start_with(&["--server-id=1", "--log-bin", &format]).unwrap();
    create(&primary);
    primary.sql("CREATE USER app; GRANT ALL ON app.* TO app").unwrap();
    let replica = primary.replica(&["--server-id=2", "--log-bin", &format]).unwrap();
    (primary, replica)
}

async fn arrives(replica: &MariadbServer, number: u64) {
    let arrived =
        format!("SELECT COUNT(*) FROM tenure_fences WHERE election = 'job' AND token = {number}");
    soon(async {
        while replica.sql(&arrived).ok().as_deref() != Some("1") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// A read at a replica may be older than the take-over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_is_neither_taken_over_nor_checked() {
    let (primary, replica) = replicated("MIXED");
    let mut there = client(primary.port()).await;
    let taken = takes_over(&mut there, OLD).await;
    arrives(&replica, OLD).await;
    // The second one may write there.
    for user in ["app", "root"] {
        let mut reads = client_of(replica.port(), user).await;
        let refused = fence().take_over(&mut reads, token(NEW)).await.unwrap_err();
        assert!(matches!(refused, FenceError::ReadOnly { .. }), "{user}: {refused:?}");
        assert!(refused.to_string().contains("primary"), "{refused}");
        let mut transaction = reads.start_transaction(TxOpts::new()).await.unwrap();
        let refused = taken.check(&mut transaction).await.unwrap_err();
        assert!(matches!(refused, FenceError::ReadOnly { .. }), "{user}: {refused:?}");
        transaction.rollback().await.unwrap();
        let [_, confirms] = fence().take_over_sql();
        let confirmed: Result<Option<u64>, _> = reads.query_first(filled(&confirms, OLD)).await;
        assert!(!matches!(confirmed, Ok(Some(_))), "{user}: {confirmed:?}");
    }
    assert_eq!(replica.sql("SELECT token FROM tenure_fences").unwrap(), OLD.to_string());
    let mut options = TxOpts::new();
    options.with_readonly(true);
    let mut transaction = there.start_transaction(options).await.unwrap();
    let refused = taken.check(&mut transaction).await.unwrap_err();
    assert!(refused.to_string().contains("read-only"), "{refused}");
    transaction.rollback().await.unwrap();
    // A take-over writes even where the session's default is to read.
    there.query_drop("SET SESSION TRANSACTION READ ONLY").await.unwrap();
    let _ = takes_over(&mut there, NEW).await;
}

/// A promoted replica has the token, also where statements are replicated and not rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promoted_replica_refuses_the_older_tenure() {
    for format in ["STATEMENT", "MIXED", "ROW"] {
        let (mut primary, mut replica) = replicated(format);
        let mut old = client_of(primary.port(), "app").await;
        let taken = takes_over(&mut old, OLD).await;
        let newer = takes_over(&mut client_of(primary.port(), "app").await, NEW).await;
        let mut there = client_of(primary.port(), "app").await;
        let mut transaction = begins(&mut there, mysql_async::IsolationLevel::RepeatableRead).await;
        newer.check(&mut transaction).await.unwrap();
        fires(&mut transaction, 4).await.unwrap();
        transaction.commit().await.unwrap();
        let fired = async {
            while replica.sql("SELECT next FROM jobs").ok().as_deref() != Some("5") {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        soon(fired).await;
        primary.kill().unwrap();
        replica.promote().unwrap();
        let mut promoted = client_of(replica.port(), "app").await;
        for (tenure, is_own) in [(&taken, false), (&newer, true)] {
            let mut transaction = promoted.start_transaction(TxOpts::new()).await.unwrap();
            let checked = tenure.check(&mut transaction).await;
            transaction.rollback().await.unwrap();
            match checked {
                Ok(()) => assert!(is_own, "{format}"),
                Err(FenceError::Superseded { .. }) => assert!(!is_own, "{format}"),
                Err(error) => panic!("{format}: {error:?}"),
            }
        }
    }
}
