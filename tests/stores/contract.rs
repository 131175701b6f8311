//! One conformance run over all stores: every row of the store contract, each on servers of its own.

use tenure::store::Memory;
use tenure_sim::conformance;
use tenure_sim::conformance::{Row, check};

use crate::redis::support::Client::{Fred, RedisRs};
use crate::support::Place;
use crate::{etcd, postgres, redis, sqlite};

conformance!(in_memory, Place::of(Memory::new(), Memory::clone).place());
conformance!(in_redis, redis::rows::place(RedisRs));
conformance!(in_redis_by_fred, redis::rows::place(Fred));
conformance!(in_redis_over_tls, redis::tls::place());
conformance!(in_redis_behind_sentinels, redis::sentinel::place());
conformance!(in_a_redis_cluster, redis::cluster::place());
conformance!(in_redis_with_a_replica, redis::replicas::place());
conformance!(in_postgres, postgres::rows::place());
conformance!(in_postgres_under_advisory_locks, postgres::rows::advisory());
conformance!(in_postgres_with_immediate_takeovers, postgres::rows::advisory_immediate());
conformance!(in_etcd, etcd::rows::place());
conformance!(in_sqlite, sqlite::rows::place());

/// What the other rows can't ask of stores that take an empty server for whole.
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
    fn sqlite() {
        check(Row::Differential, sqlite::rows::trusting);
    }
}
