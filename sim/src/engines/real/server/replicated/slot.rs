//! The slot of the election moves from one primary of a cluster to another, while candidates go on.
//!
//! All that it holds moves at once, while the gates of both primaries hold what passes: no request
//! meets half of it. Then the first one redirects each request (ASK), until all primaries know the
//! second one as the owner, and name it (MOVED).

use std::mem::swap;

use tenure_servers::{Flow, RedisCluster, RedisServer, Reply, ServerError};

use super::servers::Servers;
use super::{Observed, PRIMARIES};
use crate::engines::real::clock::{TrueTime, WallClock, boot_clock};
use crate::engines::real::server::orders::{Done, Moved};
use crate::engines::real::server::redis::{UNLIMITED, accepted, number, text, unexpected};
use crate::engines::real::steps::redis::{Monitor, RECORD};

/// The keys that move by one command, and for how many milliseconds the first primary waits for the
/// second one.
const KEYS: &str = "1000";
const PATIENCE: &str = "5000";

/// A slot on its way, with the numbers of both primaries.
pub(super) struct Moving {
    slot: String,
    from: usize,
    to: usize,
    /// The earlier number of redirected requests.
    redirected: u64,
}

impl Moving {
    /// Moves all keys of the slot. Requests for it are redirected from now on.
    fn begin(cluster: &RedisCluster, from: usize, to: usize) -> Result<Self, ServerError> {
        let slot = cluster.slot(RECORD, from)?.to_string();
        let moving = Self { slot, from, to, redirected: redirected(cluster, [from, to])? };
        // A full memory would refuse the keys.
        accepted(cluster.node(to), &["CONFIG", "SET", "maxmemory", UNLIMITED])?;
        moving.set(cluster.node(to), "IMPORTING", &cluster.id(from)?)?;
        moving.set(cluster.node(from), "MIGRATING", &cluster.id(to)?)?;
        // A request that had passed the gate may have written one more.
        loop {
            let keys = moving.keys(cluster.node(from))?;
            if keys.is_empty() {
                return Ok(moving);
            }
            let port = cluster.node(to).port().to_string();
            let migrate = ["MIGRATE", "127.0.0.1", &port, "", "0", PATIENCE, "KEYS"];
            let keys = keys.iter().map(String::as_str);
            let command: Vec<&str> = migrate.into_iter().chain(keys).collect();
            accepted(cluster.node(from), &command)?;
        }
    }

    /// All primaries know the new owner. Returns whether a request was redirected before.
    fn end(&self, cluster: &RedisCluster) -> Result<bool, ServerError> {
        let had_effect = redirected(cluster, [self.from, self.to])? > self.redirected;
        let owner = cluster.id(self.to)?;
        // The last one has no replica that could have replaced it.
        for number in [self.to, self.from, PRIMARIES - 1] {
            self.set(cluster.node(number), "NODE", &owner)?;
        }
        Ok(had_effect)
    }

    fn set(&self, node: &RedisServer, what: &str, other: &str) -> Result<(), ServerError> {
        accepted(node, &["CLUSTER", "SETSLOT", &self.slot, what, other])
    }

    /// The keys in the slot at that node.
    fn keys(&self, node: &RedisServer) -> Result<Vec<String>, ServerError> {
        let command = ["CLUSTER", "GETKEYSINSLOT", &self.slot, KEYS];
        let reply = node.command(&command)?;
        let Reply::Array(keys) = &reply else { return Err(unexpected(node, &command, &reply)) };
        let key = |key: &Reply| match key {
            Reply::BulkString(key) => Ok(String::from_utf8_lossy(key).into_owned()),
            _ => Err(unexpected(node, &command, &reply)),
        };
        keys.iter().map(key).collect()
    }
}

/// These nodes' number of redirected requests. The observers send none that could be.
fn redirected(cluster: &RedisCluster, nodes: [usize; 2]) -> Result<u64, ServerError> {
    let mut sum = 0;
    for node in nodes {
        for error in ["errorstat_ASK:count=", "errorstat_MOVED:count="] {
            sum += number(cluster.node(node), "errorstats", error)?;
        }
    }
    Ok(sum)
}

/// The stamp time of the past handed to that server, by the boot clock, if it has stamped it.
fn stamped_at(monitor: &Monitor, node: &RedisServer) -> Result<Option<u64>, ServerError> {
    let of = |section: &str, name: &str| {
        let info = text(node, &["INFO", section])?;
        let field = info.lines().find_map(|line| line.strip_prefix(name));
        Ok::<_, ServerError>(field.unwrap_or_default().trim_end().to_owned())
    };
    // As the scripts name it.
    let identity = [of("server", "run_id:")?, of("replication", "master_replid:")?].join("/");
    let wall = WallClock::compare(TrueTime::since(0));
    Ok(monitor.stamped_at(&identity).map(|micros| wall.true_time(micros).as_nanos()))
}

impl Observed {
    /// Moves the slot of the election to the primary of the other shard.
    pub(super) fn moves_slot(&mut self) -> Result<Done, ServerError> {
        // A server that is down would come back as the owner of the slot.
        if self.is_alone || self.moving.is_some() {
            return Ok(Done::default());
        }
        let (Servers::Cluster(cluster), Some(other)) = (&self.servers, &mut self.other) else {
            return Ok(Done::default());
        };
        let (from, to) = (self.shard.keeper(), other.keeper());
        other.is_observed(&self.servers)?;
        let gates = [from, to].map(|number| self.gates.get(self.servers.gate(number)));
        let hold = |flow| gates.iter().flatten().for_each(|gate| gate.set(flow));
        hold(Flow::Hold);
        let moving = Moving::begin(cluster, from, to)?;
        self.shard.monitor().shows_all(cluster.node(from))?;
        self.number += 1;
        other.monitor().has_number(self.number);
        other.monitor().takes_over(self.shard.monitor());
        let stamped_at = stamped_at(other.monitor(), cluster.node(to))?;
        let moved = Moved { server: self.number, stamped_at };
        let at = boot_clock();
        swap(&mut self.shard, other);
        // Nobody may be connected to a replica when it is promoted.
        let standby = other.standby();
        if let Some(gate) = self.gate(self.shard.standby()) {
            gate.refuse(true);
            gate.cut();
        }
        if let Some(gate) = self.gate(standby) {
            gate.refuse(false);
        }
        hold(Flow::Forward);
        self.moving = Some(moving);
        Ok(Done { at: Some(at), moved: Some(moved), ..Done::default() })
    }

    /// The slot that is on its way arrives. Returns whether a request was redirected until now.
    pub(super) fn slot_arrives(&mut self) -> Result<bool, ServerError> {
        match (&self.servers, self.moving.take()) {
            (Servers::Cluster(cluster), Some(moving)) => moving.end(cluster),
            _ => Ok(false),
        }
    }
}
