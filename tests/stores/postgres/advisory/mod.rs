//! Advisory locks in front of the lease table: which programs exclude each other, and locks whose sessions end.

mod excludes;
mod locks;
mod refusals;
mod takeover;

use tenure::store::postgres::{AdvisoryConfig, PostgresAdvisory};
use tenure::{Candidate, Config};
use tenure_servers::PostgresServer;
use tokio_postgres::Client;

use crate::postgres::support::{client, local, soon, start};

/// The lock by which another program elects its leader.
pub(crate) const LOCK: i64 = 4711;

/// The election of all tests is that of [`LOCK`].
pub(crate) fn config(port: u16) -> AdvisoryConfig {
    AdvisoryConfig::new(local(port).trust_empty_store(true)).lock("job", LOCK).unwrap()
}

pub(crate) fn at(port: u16) -> PostgresAdvisory {
    PostgresAdvisory::new(config(port))
}

pub(crate) fn candidate(port: u16, name: &str, config: Config) -> Candidate {
    start(at(port), name, config).0
}

/// A program that knows locks alone.
pub(crate) struct OldProgram(Client);

impl OldProgram {
    pub(crate) async fn start(server: &PostgresServer) -> Self {
        Self(client(server.port()).await)
    }

    /// Calls a function of the server that returns true or false.
    pub(crate) async fn call(&self, function: &str) -> bool {
        let row = self.0.query_one(&format!("SELECT {function}"), &[]).await.unwrap();
        row.get(0)
    }

    /// Waits for the lock for as long as it takes.
    pub(crate) async fn waits_for(&self, lock: impl std::fmt::Display) {
        let sql = format!("SELECT pg_advisory_lock{lock}");
        soon(self.0.batch_execute(&sql)).await.unwrap();
    }
}

/// The processes that have an advisory lock.
pub(crate) fn holders(server: &PostgresServer) -> Vec<String> {
    let pids =
        server.sql("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted").unwrap();
    pids.lines().map(str::to_owned).collect()
}

/// Ends the sessions that have an advisory lock, as an administrator does, and waits until they are gone.
pub(crate) fn terminate_holders(server: &PostgresServer) {
    let sql = "SELECT pg_terminate_backend(pid, 30000) FROM pg_locks \
         WHERE locktype = 'advisory' AND granted";
    server.sql(sql).unwrap();
}
