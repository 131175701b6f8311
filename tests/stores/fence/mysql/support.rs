//! A queue under a fence, and the clients of its leaders.

use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, IsolationLevel, OptsBuilder, Transaction, TxOpts};
use tenure::fence::mysql::{Fence, TakenOver};
use tenure_servers::MariadbServer;

pub(super) use crate::stores::fence::{NEW, OLD, token};
use crate::stores::mysql::support::server;
pub(super) use crate::stores::support::{job, soon};

pub(super) const LEVELS: [IsolationLevel; 4] = [
    IsolationLevel::ReadUncommitted,
    IsolationLevel::ReadCommitted,
    IsolationLevel::RepeatableRead,
    IsolationLevel::Serializable,
];

pub(super) fn fence() -> Fence {
    Fence::new(&job())
}

/// A server with fences, and with a queue whose next job is 0.
pub(super) fn queue() -> MariadbServer {
    let server = server();
    create(&server);
    server
}

pub(super) fn create(server: &MariadbServer) {
    server.sql(&fence().schema_sql()).unwrap();
    let jobs = "CREATE TABLE jobs (one INT PRIMARY KEY, next INT NOT NULL) ENGINE=InnoDB; INSERT INTO jobs VALUES (1, 0)";
    server.sql(jobs).unwrap();
}

/// Puts the queue back to its beginning.
pub(super) fn reset(server: &MariadbServer) {
    server.sql("DELETE FROM tenure_fences; UPDATE jobs SET next = 0").unwrap();
}

pub(super) async fn client(port: u16) -> Conn {
    client_of(port, "root").await
}

pub(super) async fn client_of(port: u16, user: &str) -> Conn {
    let options = OptsBuilder::default().ip_or_hostname("127.0.0.1").tcp_port(port);
    let options = options.user(Some(user)).db_name(Some("app")).prefer_socket(false);
    soon(Conn::new(options)).await.unwrap()
}

pub(super) async fn takes_over(conn: &mut Conn, number: u64) -> TakenOver {
    soon(fence().take_over(conn, token(number))).await.unwrap()
}

pub(super) async fn begins(conn: &mut Conn, level: IsolationLevel) -> Transaction<'_> {
    let mut options = TxOpts::new();
    options.with_isolation_level(level);
    conn.start_transaction(options).await.unwrap()
}

/// The next job.
pub(super) async fn next(conn: &mut impl Queryable) -> i32 {
    soon(conn.query_first("SELECT next FROM jobs")).await.unwrap().unwrap()
}

pub(super) async fn fires(conn: &mut impl Queryable, job: i32) -> Result<(), Error> {
    soon(conn.query_drop(format!("UPDATE jobs SET next = {}", job + 1))).await
}

/// Waits until a session waits for a row.
pub(super) async fn a_session_waits(server: &MariadbServer) {
    soon(async {
        let sql = "SELECT COUNT(*) FROM information_schema.INNODB_LOCK_WAITS";
        while server.sql(sql).unwrap() == "0" {
            // A table that is read more often than ten times a second does not change.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    })
    .await;
}

/// Reads as the new leader does after it has taken over.
pub(super) async fn reads_under(new: &mut Conn, level: IsolationLevel) -> i32 {
    let taken = takes_over(new, NEW).await;
    let mut transaction = begins(new, level).await;
    taken.check(&mut transaction).await.unwrap();
    let found = next(&mut transaction).await;
    transaction.commit().await.unwrap();
    found
}

/// A statement for any client, with its values.
pub(super) fn filled(sql: &str, number: u64) -> String {
    sql.replacen('?', "'job'", 1).replacen('?', &number.to_string(), 1)
}
