//! Several Redis servers, and what promotes a replica of theirs: sentinels, or the other nodes of a
//! cluster.

use std::thread::sleep;
use std::time::{Duration, Instant};

use tenure_servers::{RedisCluster, RedisSentinels, RedisServer, ServerError};

use super::SENTINELS;
use crate::engines::real::clock::wall_clock;
use crate::engines::real::server::redis::text;
use crate::engines::real::steps::redis::RECORD;

/// For how long a primary may be silent before sentinels replace it: on order, and otherwise.
pub(super) const ON_ORDER: Duration = Duration::from_secs(2);
const OTHERWISE: Duration = Duration::from_secs(86_400);
/// A replica is promoted within this time, also on a busy machine.
const PROMOTED_WITHIN: Duration = Duration::from_secs(30);
/// A promoter of replicas.
pub(super) enum Servers {
    Sentinels(RedisSentinels),
    Cluster(RedisCluster),
}

impl Servers {
    pub(super) fn server(&self, number: usize) -> &RedisServer {
        match self {
            Self::Sentinels(servers) => servers.server(number),
            Self::Cluster(servers) => servers.node(number),
        }
    }

    pub(super) fn server_mut(&mut self, number: usize) -> &mut RedisServer {
        match self {
            Self::Sentinels(servers) => servers.server_mut(number),
            Self::Cluster(servers) => servers.node_mut(number),
        }
    }

    /// Waits until the silent primary is replaced by its replica. Returns when the replica was
    /// promoted at the latest, by the wall clock.
    pub(super) fn replace(&self, primary: usize, by: usize) -> Result<u64, ServerError> {
        self.may_replace(true, by)?;
        let promoted_at = self.is_promoted(by)?;
        match self {
            Self::Sentinels(servers) => servers.replaced(primary)?,
            Self::Cluster(servers) => servers.replaced(RECORD, primary)?,
        };
        self.may_replace(false, by)?;
        Ok(promoted_at)
    }

    fn is_promoted(&self, replica: usize) -> Result<u64, ServerError> {
        let (server, began) = (self.server(replica), Instant::now());
        // Sentinels end all connections of a server that they promote.
        let is_primary = || replication(server).is_ok_and(|says| says.contains("role:master"));
        while !is_primary() {
            if began.elapsed() > PROMOTED_WITHIN {
                let detail = "it is not promoted".to_owned();
                return Err(ServerError::Protocol { port: server.port(), detail });
            }
            sleep(Duration::from_millis(5));
        }
        Ok(wall_clock())
    }

    /// Sets whether that replica replaces a silent primary.
    pub(super) fn may_replace(&self, may: bool, replica: usize) -> Result<(), ServerError> {
        match self {
            Self::Sentinels(servers) => {
                let silence = if may { ON_ORDER } else { OTHERWISE };
                let millis = silence.as_millis().to_string();
                let name = RedisSentinels::NAME;
                let set = ["SENTINEL", "SET", name, "down-after-milliseconds", &millis];
                (0..SENTINELS)
                    .try_for_each(|number| servers.sentinel(number).command(&set).map(drop))
            }
            Self::Cluster(servers) => {
                let no = if may { "no" } else { "yes" };
                let set = ["CONFIG", "SET", "cluster-replica-no-failover", no];
                servers.node(replica).command(&set).map(drop)
            }
        }
    }

    /// Waits until a primary, which may just have started again, accepts requests.
    pub(super) fn is_ready(&self, number: usize) -> Result<(), ServerError> {
        match self {
            // It starts as what it was at the very beginning.
            Self::Sentinels(servers) => {
                servers.server(number).command(&["REPLICAOF", "NO", "ONE"]).map(drop)
            }
            Self::Cluster(servers) => servers.is_whole(number),
        }
    }

    /// The place of a server's gate.
    pub(super) fn gate(&self, number: usize) -> usize {
        match self {
            Self::Sentinels(_) => SENTINELS + number,
            Self::Cluster(_) => number,
        }
    }

    /// The ports of all servers, as candidates are told of them.
    pub(super) fn ports(&self) -> Vec<u16> {
        match self {
            Self::Sentinels(servers) => {
                let watched = [0, 1].map(|number| servers.server(number).port());
                servers.ports().into_iter().chain(watched).collect()
            }
            Self::Cluster(servers) => servers.ports(),
        }
    }
}

/// A server's report of its role.
pub(super) fn replication(server: &RedisServer) -> Result<String, ServerError> {
    text(server, &["INFO", "replication"])
}
