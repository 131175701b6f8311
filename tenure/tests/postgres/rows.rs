//! Every row of the store contract (DESIGN.md, section 4) on real servers, whose data survives a restart or
//! is lost in one of two ways.

use std::sync::{Mutex, PoisonError};

use tenure::store::postgres::Postgres;
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
struct OnAServer {
    loss: Loss,
    server: Mutex<PostgresServer>,
}

impl OnAServer {
    fn that_loses_by(loss: Loss) -> Self {
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
}

tenure_sim::conformance!(contract, OnAServer::that_loses_by(Loss::Truncate));

#[test]
fn a_new_cluster_makes_wait() {
    use tenure_sim::conformance::{Row, check};
    check(Row::Loss, || OnAServer::that_loses_by(Loss::NewCluster));
}
