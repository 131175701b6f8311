//! Two nodes of Galera, where a take-over at one does not wait for a lock at the other.

use mysql_async::Error;
use mysql_async::IsolationLevel::RepeatableRead;
use tenure::fence::FenceError;
use tenure::fence::mysql::TakenOver;
use tenure_servers::MariadbServer;

use super::support::{
    NEW, OLD, begins, client, create, fence, fires, next, soon, takes_over, token,
};

/// Takes over as a leader does: until the outcome is known.
async fn takes_over_in_the_end(conn: &mut mysql_async::Conn) -> TakenOver {
    soon(async {
        loop {
            match fence().take_over(conn, token(NEW)).await {
                Ok(taken) => return taken,
                Err(FenceError::Unknown { source: Error::Server(error), .. }) => {
                    assert_eq!(error.code, 1213, "{error:?}");
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_over_at_another_node_refuses_older_commits() {
    let [one, other] = MariadbServer::cluster().unwrap();
    create(&one);
    soon(async {
        while other.sql("SELECT next FROM jobs").is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    let (mut old, mut new) = (client(one.port()).await, client(other.port()).await);
    let taken = takes_over(&mut old, OLD).await;
    // What was committed before is read after it.
    let mut transaction = begins(&mut old, RepeatableRead).await;
    taken.check(&mut transaction).await.unwrap();
    fires(&mut transaction, 0).await.unwrap();
    transaction.commit().await.unwrap();
    let mut transaction = begins(&mut old, RepeatableRead).await;
    taken.check(&mut transaction).await.unwrap();
    let job = next(&mut transaction).await;
    fires(&mut transaction, job).await.unwrap();
    // Paused here: another candidate leads by now, and does not wait.
    let newer = takes_over_in_the_end(&mut new).await;
    assert_eq!(next(&mut new).await, 1);
    let refused = soon(transaction.commit()).await.unwrap_err();
    assert!(matches!(&refused, Error::Server(error) if error.code == 1213), "{refused:?}");
    let mut transaction = begins(&mut new, RepeatableRead).await;
    newer.check(&mut transaction).await.unwrap();
    assert_eq!(next(&mut transaction).await, 1);
    transaction.commit().await.unwrap();
}
