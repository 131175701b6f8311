//! One conformance run over all stores: every row of the store contract, each on a server of its own.

use tenure::store::Memory;
use tenure_sim::conformance::{Harness, Row, check};

use crate::redis::support::Client;
use crate::sqlite::support::Folder;
use crate::{etcd, postgres, redis, sqlite};

struct InMemory(Memory);

impl Harness for InMemory {
    type Store = Memory;

    async fn connect(&self) -> Memory {
        self.0.clone()
    }
}

tenure_sim::conformance!(in_memory, InMemory(Memory::new()));
tenure_sim::conformance!(in_redis, redis::rows::OnAServer::by(Client::RedisRs));
tenure_sim::conformance!(in_redis_by_fred, redis::rows::OnAServer::by(Client::Fred));
tenure_sim::conformance!(
    in_postgres,
    postgres::rows::OnAServer::that_loses_by(postgres::rows::Loss::Truncate)
);
tenure_sim::conformance!(in_etcd, etcd::rows::OnAServer::start());
tenure_sim::conformance!(in_sqlite, Folder::new());

/// What the other rows can't ask of stores that take an empty server for whole.
mod trusting {
    use super::*;

    #[test]
    fn redis() {
        use redis::rows::{OnAServer, Trusting};
        check(Row::Differential, || Trusting(OnAServer::by(Client::RedisRs)));
    }

    #[test]
    fn postgres() {
        use postgres::rows::{Loss, OnAServer, Trusting};
        check(Row::Differential, || Trusting(OnAServer::that_loses_by(Loss::Truncate)));
    }

    #[test]
    fn sqlite() {
        use sqlite::rows::Trusting;
        check(Row::Differential, || Trusting(Folder::new()));
    }
}
