//! Every row of the store contract (DESIGN.md, section 4) on real servers, whose data survives a restart or
//! is lost in one of two ways.

use std::sync::{Mutex, PoisonError};

use tenure::store::Store;
use tenure::store::postgres::{
    AdvisoryConfig, Postgres, PostgresAdvisory, PostgresConfig, Takeover,
};
use tenure_servers::PostgresServer;
use tenure_sim::conformance::{Data, Harness, Unsupported};

use crate::support::{local, server};

/// How all data is lost.
enum Loss {
    /// The tables are emptied, and the server restarted.
    Truncate,
    /// Another cluster is put in the place of the old one.
    NewCluster,
}

/// A server of a test's own.
struct OnAServer<S> {
    store: fn(PostgresConfig) -> S,
    loss: Loss,
    server: Mutex<PostgresServer>,
}

impl<S> OnAServer<S> {
    fn new(store: fn(PostgresConfig) -> S, loss: Loss) -> Self {
        Self { store, loss, server: Mutex::new(server()) }
    }

    fn with<T>(&self, of: impl FnOnce(&mut PostgresServer) -> T) -> T {
        of(&mut self.server.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<S: Store> Harness for OnAServer<S> {
    type Store = S;

    async fn connect(&self) -> S {
        (self.store)(local(self.with(|server| server.port())))
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
}

fn quarantined(config: PostgresConfig) -> PostgresAdvisory {
    PostgresAdvisory::new(AdvisoryConfig::new(config))
}

fn immediate(config: PostgresConfig) -> PostgresAdvisory {
    PostgresAdvisory::new(AdvisoryConfig::new(config).takeover(Takeover::Immediate))
}

tenure_sim::conformance!(contract, OnAServer::new(Postgres::new, Loss::Truncate));
tenure_sim::conformance!(advisory, OnAServer::new(quarantined, Loss::Truncate));
tenure_sim::conformance!(advisory_immediate, OnAServer::new(immediate, Loss::NewCluster));

#[test]
fn a_new_cluster_makes_wait() {
    use tenure_sim::conformance::{Row, check};
    check(Row::Loss, || OnAServer::new(Postgres::new, Loss::NewCluster));
}
