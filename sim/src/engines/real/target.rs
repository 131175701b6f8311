//! The stores that this engine runs on.

use serde::{Deserialize, Serialize};

use crate::judge::properties::PropertyName;
use crate::plan::{Act, Backend, Shows, named};

/// The election timeout of an etcd member that is alone, in milliseconds.
const ALONE_MS: u64 = 100;
/// The same of members that elect one of them: no shorter, because a busy machine keeps one from
/// its heartbeats.
const TOGETHER_MS: u64 = 300;

/// A real store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Redis through redis-rs.
    Redis,
    /// Redis through fred.
    Fred,
    /// A Redis primary with a replica, and sentinels that replace it.
    RedisSentinel,
    /// A Redis cluster whose primaries have replicas.
    RedisCluster,
    /// The lease table in PostgreSQL.
    Postgres,
    /// The tables in MariaDB.
    Mariadb,
    /// An etcd cluster of one member.
    Etcd,
    /// An etcd cluster of three members.
    EtcdCluster,
    /// Leases at a Kubernetes API server with an etcd of one member.
    Kubernetes,
    /// A SQLite file.
    Sqlite,
}

/// The properties that some stores can't show. The first four: these processes neither look for the
/// leader nor wait for a cancellation token, a lead is known up to the last answer before a request
/// to resign, not up to the request, and nothing is reported of a driver. The fifth: a store that
/// shows only changes does not show the requests that it has refused. The last: without renewals, a
/// lease that is renewed looks like one that is not.
const NOT_SHOWN: &[PropertyName] = &[
    PropertyName::LOOKS_WITHIN,
    PropertyName::TOLD_OF_THE_END,
    PropertyName::RESIGNED_AT_ONCE,
    PropertyName::DRIVER_RUNS_ON,
    PropertyName::LINEARIZABLE,
    PropertyName::TAKEOVER_WITHIN,
];

impl Target {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Redis,
        Self::Fred,
        Self::RedisSentinel,
        Self::RedisCluster,
        Self::Postgres,
        Self::Mariadb,
        Self::Etcd,
        Self::EtcdCluster,
        Self::Kubernetes,
        Self::Sqlite,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Fred => "fred",
            Self::RedisSentinel => "redis-sentinel",
            Self::RedisCluster => "redis-cluster",
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
            Self::Etcd => "etcd",
            Self::EtcdCluster => "etcd-cluster",
            Self::Kubernetes => "kubernetes",
            Self::Sqlite => "sqlite",
        }
    }

    /// The name of the engine that runs on it.
    pub const fn engine(self) -> &'static str {
        match self {
            Self::Redis => "real-redis",
            Self::Fred => "real-fred",
            Self::RedisSentinel => "real-redis-sentinel",
            Self::RedisCluster => "real-redis-cluster",
            Self::Postgres => "real-postgres",
            Self::Mariadb => "real-mariadb",
            Self::Etcd => "real-etcd",
            Self::EtcdCluster => "real-etcd-cluster",
            Self::Kubernetes => "real-kubernetes",
            Self::Sqlite => "real-sqlite",
        }
    }

    /// The election timeout of its etcd members, in milliseconds.
    pub(super) const fn etcd_election_ms(self) -> u64 {
        if matches!(self, Self::EtcdCluster) { TOGETHER_MS } else { ALONE_MS }
    }

    /// The targets of faults there.
    pub const fn backend(self) -> Backend {
        let (granularity_ms, shows) = match self {
            Self::Redis | Self::Fred | Self::RedisSentinel | Self::RedisCluster => {
                (1, Shows::Requests)
            }
            Self::Postgres | Self::Mariadb | Self::Kubernetes | Self::Sqlite => (1, Shows::Changes),
            Self::Etcd | Self::EtcdCluster => (1_000 + 2 * self.etcd_election_ms(), Shows::Tenures),
        };
        let has_network = !matches!(self, Self::Sqlite);
        let is_watched = matches!(self, Self::RedisSentinel | Self::RedisCluster);
        let fails_over = is_watched || matches!(self, Self::Postgres | Self::Mariadb);
        // That of SQLite is that of all candidates. MariaDB waits for locks and the like by a clock that can't be
        // replaced with its wall clock, and would wait for years after a step.
        let sets_clock = matches!(self, Self::Redis | Self::Fred | Self::Postgres | Self::Sqlite);
        let acts: &[Act] = match self {
            Self::Redis => &[
                Act::Disconnect,
                Act::FlushScripts,
                Act::FlushData,
                Act::FillMemory,
                Act::RotatePassword,
                Act::ExpireCertificate,
            ],
            // The store over fred does not encrypt.
            Self::Fred => &[
                Act::Disconnect,
                Act::FlushScripts,
                Act::FlushData,
                Act::FillMemory,
                Act::RotatePassword,
            ],
            Self::RedisSentinel => &[
                Act::Disconnect,
                Act::FlushScripts,
                Act::FlushData,
                Act::FillMemory,
                Act::SplitBrain,
            ],
            Self::RedisCluster => &[
                Act::Disconnect,
                Act::FlushScripts,
                Act::FlushData,
                Act::FillMemory,
                Act::MoveSlot,
            ],
            Self::Postgres => &[
                Act::Disconnect,
                Act::DisconnectLeader,
                Act::LockRow,
                Act::LockTable,
                Act::Pooler,
                Act::RotatePassword,
                Act::ExpireCertificate,
            ],
            // No pooler for it is in Debian.
            Self::Mariadb => &[
                Act::Disconnect,
                Act::DisconnectLeader,
                Act::LockRow,
                Act::LockTable,
                Act::RotatePassword,
                Act::ExpireCertificate,
            ],
            Self::Kubernetes => &[Act::FlushData, Act::RevokeRights],
            Self::Sqlite => &[Act::DeleteLog, Act::FillDisk],
            Self::Etcd => &[Act::ExpireCertificate],
            Self::EtcdCluster => &[Act::KillMember, Act::PauseRaftLeader, Act::MoveRaftLeader],
        };
        Backend { has_network, fails_over, is_watched, sets_clock, granularity_ms, shows, acts }
    }

    /// The properties that can't judge its runs.
    pub(in crate::engines) const fn left_out(self) -> &'static [PropertyName] {
        let count = match self.backend().shows {
            Shows::Requests => 4,
            Shows::Changes => 5,
            Shows::Tenures => 6,
        };
        NOT_SHOWN.split_at(count).0
    }

    /// A short description.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Redis => "real processes and a real Redis server, by redis-rs",
            Self::Fred => "real processes and a real Redis server, by fred",
            Self::RedisSentinel => {
                "real processes and a real Redis server with a replica and sentinels"
            }
            Self::RedisCluster => "real processes and a real Redis cluster",
            Self::Postgres => "real processes and the lease table of a real PostgreSQL server",
            Self::Mariadb => "real processes and the tables of a real MariaDB server",
            Self::Etcd => "real processes and a real etcd member",
            Self::EtcdCluster => "real processes and a real etcd cluster of three members",
            Self::Kubernetes => "real processes and Leases at a real Kubernetes API server",
            Self::Sqlite => "real processes and a SQLite file",
        }
    }
}

named!(Target, "store", Target::ALL, |one| one.name());
