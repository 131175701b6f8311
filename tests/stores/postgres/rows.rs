//! Servers for every row of the store contract, whose data survives a restart or is lost in one of two ways.

use std::sync::{Mutex, PoisonError};

use tenure::store::postgres::Postgres;
use tenure_servers::PostgresServer;
use tenure_sim::conformance::{Data, Harness, Mishap, Unsupported};

use super::support::{at, client, local, server};

/// How all data is lost.
pub(crate) enum Loss {
    /// The tables are emptied, and the server restarted.
    Truncate,
    /// Another cluster is put in the place of the old one.
    NewCluster,
}

/// A server of a test's own.
pub(crate) struct OnAServer {
    loss: Loss,
    server: Mutex<PostgresServer>,
}

impl OnAServer {
    pub(crate) fn that_loses_by(loss: Loss) -> Self {
        Self { loss, server: Mutex::new(server()) }
    }

    fn with<T>(&self, of: impl FnOnce(&mut PostgresServer) -> T) -> T {
        of(&mut self.server.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Harness for OnAServer {
    type Store = Postgres;

    async fn connect(&self) -> Postgres {
        Postgres::new(local(self.with(|server| server.port())))
    }

    async fn restart(&self, data: Data) -> Result<(), Unsupported> {
        self.with(|server| match (data, &self.loss) {
            (Data::Kept, _) => server.restart().unwrap(),
            (Data::Lost, Loss::Truncate) => {
                server.sql("TRUNCATE tenure.leases, tenure.leases_history").unwrap();
                server.restart().unwrap();
            }
            (Data::Lost, Loss::NewCluster) => server.replace().unwrap(),
        });
        Ok(())
    }

    async fn suffer(&self, mishap: Mishap) -> Result<(), Unsupported> {
        let sql = match mishap {
            Mishap::LeasesEnd => "UPDATE tenure.leases SET lease_end = 1",
            Mishap::LongTime => "UPDATE tenure.leases_history SET known_since = 1",
            Mishap::OtherServer => "UPDATE tenure.leases_history SET identity = 'another'",
            Mishap::HistoryLost => "DELETE FROM tenure.leases_history",
            Mishap::AllLost => "TRUNCATE tenure.leases, tenure.leases_history",
        };
        // Before the first request there is no table, and so nothing that could suffer.
        let exists = "SELECT to_regclass('tenure.leases_history') IS NOT NULL";
        let by_hand = client(self.with(|server| server.port())).await;
        if by_hand.query_one(exists, &[]).await.unwrap().get(0) {
            by_hand.batch_execute(sql).await.unwrap();
        }
        Ok(())
    }
}

/// The same, which takes an empty server for whole.
pub(crate) struct Trusting(pub(crate) OnAServer);

impl Harness for Trusting {
    type Store = Postgres;

    async fn connect(&self) -> Postgres {
        at(self.0.with(|server| server.port()))
    }

    async fn suffer(&self, mishap: Mishap) -> Result<(), Unsupported> {
        self.0.suffer(mishap).await
    }

    fn trusts_an_empty_store(&self) -> bool {
        true
    }
}

#[test]
fn a_new_cluster_makes_wait() {
    use tenure_sim::conformance::{Row, check};
    check(Row::Loss, || OnAServer::that_loses_by(Loss::NewCluster));
}
