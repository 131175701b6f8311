//! One conformance run over all stores: every row of the store contract, each on servers of its
//! own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tenure::store::Memory;
use tenure::store::kubernetes::KubernetesConfig;
use tenure_servers::RedisCluster;
use tenure_sim::conformance;
use tenure_sim::conformance::{Row, check};

use crate::stores::redis::support::Client::{Fred, RedisRs};
use crate::stores::support::Place;
use crate::stores::{etcd, kubernetes, mysql, postgres, redis, sqlite};

conformance!(in_memory, memory());
conformance!(in_redis, redis::rows::place(RedisRs));
conformance!(in_redis_by_fred, redis::rows::place(Fred));
conformance!(in_redis_behind_sentinels, redis::sentinel::place());
conformance!(in_postgres, postgres::rows::place());
conformance!(in_mysql, mysql::rows::place());
conformance!(in_etcd, etcd::rows::place());
conformance!(in_sqlite, sqlite::rows::place());

/// It ends with its candidates, and can't be paused.
fn memory() -> Place {
    const SKIPPED: [Row; 12] = [
        Row::LeastTtl,
        Row::FreshStore,
        Row::WatchedForAll,
        Row::UnwatchedRefuses,
        Row::LeaderWatches,
        Row::LongestTtl,
        Row::ProvenLoss,
        Row::FirstRequest,
        Row::StampsDiffer,
        Row::Restart,
        Row::Loss,
        Row::SlowServer,
    ];
    Place::of(Memory::new(), Memory::clone).skipping(&SKIPPED).place()
}

/// A cluster takes seconds to start. So the rows share one, and each has a prefix, and with it a
/// history, of its own.
#[test]
fn in_a_redis_cluster() {
    let cluster = Arc::new(RedisCluster::start(3, 0).unwrap());
    for row in Row::ALL {
        check(row, || redis::cluster::place(&cluster, row.name()));
    }
}

/// The same for a cluster of Kubernetes: each row has a namespace of its own.
#[test]
fn in_kubernetes() {
    let server = kubernetes::support::server();
    for row in Row::ALL {
        check(row, || kubernetes::rows::place(&server, row));
    }
}

/// The rows that need nothing but requests, in the cluster of the file `TENURE_KUBECONFIG` and its
/// namespace `TENURE_NAMESPACE`, or in one of the test's own.
#[test]
fn in_a_kubernetes_of_yours() {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let own = set("TENURE_KUBECONFIG").is_none().then(kubernetes::support::server);
    let file = match &own {
        Some(server) => server.kubeconfig(server.admin_token()).unwrap(),
        None => PathBuf::from(set("TENURE_KUBECONFIG").unwrap()),
    };
    let namespace = set("TENURE_NAMESPACE").unwrap_or_else(|| "default".to_owned());
    let cluster = KubernetesConfig::new(namespace).unwrap().kubeconfig(file);
    // Each run has elections of its own.
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let prefix = format!("tenure-test-{}", begun.as_millis());
    for row in Row::ALL {
        check(row, || kubernetes::rows::by_kubeconfig(&cluster, &prefix, row));
    }
}

/// Each request is the first one of its connection. In the other tests, most follow on others.
mod cold {
    use super::*;

    /// Requests of one call go over one connection, a purge needs a store that has watched, and the
    /// comparison chooses for itself when to connect.
    const NEED_A_CONNECTION: [Row; 7] = [
        Row::AcquiresOfOneCall,
        Row::RivalsAcquires,
        Row::RenewalsOfOneCall,
        Row::RivalsRenewals,
        Row::LooksOfOneCall,
        Row::PurgedTokens,
        Row::Differential,
    ];

    fn every_row(place: impl Fn() -> Place) {
        for row in Row::ALL.into_iter().filter(|row| !NEED_A_CONNECTION.contains(row)) {
            check(row, || place().cold());
        }
    }

    #[test]
    fn redis_rs() {
        every_row(|| redis::rows::place(RedisRs));
    }

    #[test]
    fn fred() {
        every_row(|| redis::rows::place(Fred));
    }

    #[test]
    fn postgres() {
        every_row(postgres::rows::place);
    }

    #[test]
    fn mysql() {
        every_row(mysql::rows::place);
    }

    #[test]
    fn etcd() {
        every_row(etcd::rows::place);
    }

    #[test]
    fn sqlite() {
        every_row(sqlite::rows::place);
    }
}

/// Variants of other stores: the comparison, and the rows in which they could differ.
mod in_short {
    use super::*;

    const ROWS: [Row; 6] = [
        Row::Differential,
        Row::LostReplies,
        Row::Dropped,
        Row::Hints,
        Row::Messages,
        Row::SlowServer,
    ];

    #[test]
    fn redis_over_tls() {
        for row in ROWS {
            check(row, redis::tls::place);
        }
    }

    #[test]
    fn redis_with_a_replica() {
        for row in ROWS {
            check(row, redis::replicas::place);
        }
    }
}

#[test]
fn a_busy_sqlite_file_refuses_nothing() {
    check(Row::SlowServer, sqlite::rows::impatient);
}

/// Stores that trust an empty server, which the other rows can't cover.
mod trusting {
    use super::*;

    #[test]
    fn redis() {
        check(Row::Differential, redis::rows::trusting);
    }

    #[test]
    fn postgres() {
        check(Row::Differential, postgres::rows::trusting);
    }

    #[test]
    fn mysql() {
        check(Row::Differential, mysql::rows::trusting);
    }

    #[test]
    fn sqlite() {
        check(Row::Differential, sqlite::rows::trusting);
    }
}
