//! Several Redis servers, of which one is the primary of the election: by sentinels, or in a
//! cluster. Each is observed by its MONITOR stream.
//!
//! Sentinels end that stream when they promote a replica. So candidates can't reach a replica
//! before it is promoted and observed again, and no replica is promoted but on order: a primary
//! that is silent on a busy machine stays one, and so does one that has just started again, to
//! which not every sentinel has a connection yet.

mod servers;
mod slot;
mod split;

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use tenure_servers::{Proxy, RedisCluster, RedisSentinels, RedisServer, ServerError};

use super::orders::Done;
use super::redis::{Acts, KEEPS};
use crate::engines::real::clock::{boot_clock, wall_clock};
use crate::engines::real::steps::redis::{Monitor, RECORD, has_a_record};
use crate::engines::real::steps::{Answers, Steps};
use crate::plan::Act;
use servers::Servers;
use slot::Moving;
use split::Split;

/// The number of sentinels. Candidates are told of them alone.
pub(in super::super) const SENTINELS: usize = 3;
/// Three primaries are the fewest that can replace one of them. Those that keep the election in
/// turn have a replica.
const PRIMARIES: usize = 3;
const REPLICAS: usize = 2;

/// No node of a cluster replaces its primary, except on order.
const NOT_UNASKED: [&str; 2] = ["--cluster-replica-no-failover", "yes"];

/// A primary and its replica.
struct Shard {
    /// The numbers of the servers that are, or may become, the primary.
    both: [usize; 2],
    /// The number of the primary.
    primary: usize,
    monitors: [Monitor; 2],
}

pub(super) struct Observed {
    servers: Servers,
    /// It keeps the election.
    shard: Shard,
    /// In a cluster, it may keep the election later.
    other: Option<Shard>,
    moving: Option<Moving>,
    /// The number of the election's primary.
    number: u32,
    /// True if the other one is down since the last failover.
    is_alone: bool,
    killed_at: u64,
    split: Option<Split>,
    /// True if a candidate was answered by the old primary of the last split.
    old_has_answered: bool,
    acts: Acts,
    gates: Arc<[Proxy]>,
}

impl Shard {
    fn of(both: [usize; 2]) -> Self {
        Self { both, primary: 0, monitors: [Monitor::new(), Monitor::new()] }
    }

    /// The number of the primary.
    const fn keeper(&self) -> usize {
        self.both[self.primary]
    }

    /// The number of the other one.
    const fn standby(&self) -> usize {
        self.both[1 - self.primary]
    }

    fn monitor(&mut self) -> &mut Monitor {
        &mut self.monitors[self.primary]
    }

    /// Reads the stream of the primary from now on, if it does not already.
    fn is_observed(&mut self, servers: &Servers) -> Result<(), ServerError> {
        let keeper = servers.server(self.keeper());
        if self.monitor().is_attached() { Ok(()) } else { self.monitor().attach(keeper) }
    }
}

impl Observed {
    pub(super) fn sentinels() -> Result<Self, ServerError> {
        let servers = Servers::Sentinels(RedisSentinels::start(1, SENTINELS, &KEEPS)?);
        servers.may_replace(false, 1)?;
        Self::of(servers, Shard::of([0, 1]), None)
    }

    pub(super) fn cluster() -> Result<Self, ServerError> {
        let servers =
            RedisCluster::start_with(PRIMARIES, REPLICAS, &[&KEEPS[..], &NOT_UNASKED].concat())?;
        let owner = servers.owner(RECORD, 0)?;
        let shard = |owner| Shard::of([owner, PRIMARIES + owner]);
        let other = (0..REPLICAS).find(|number| *number != owner).map(shard);
        Self::of(Servers::Cluster(servers), shard(owner), other)
    }

    fn of(servers: Servers, mut shard: Shard, other: Option<Shard>) -> Result<Self, ServerError> {
        shard.is_observed(&servers)?;
        Ok(Self {
            servers,
            shard,
            other,
            moving: None,
            number: 0,
            is_alone: false,
            killed_at: 0,
            split: None,
            old_has_answered: false,
            acts: Acts::default(),
            gates: Arc::new([]),
        })
    }

    pub(super) fn ports(&self) -> Vec<u16> {
        self.servers.ports()
    }

    fn server(&self, which: usize) -> &RedisServer {
        self.servers.server(self.shard.both[which])
    }

    /// The gate of a server.
    fn gate(&self, number: usize) -> Option<&Proxy> {
        self.gates.get(self.servers.gate(number))
    }

    /// Kills the primary. What it has answered was shown before: no candidate is answered any more,
    /// and the stream is read up to here.
    fn kill_primary(&mut self) -> Result<(), ServerError> {
        let keeper = self.shard.keeper();
        if let Some(gate) = self.gate(keeper) {
            gate.refuse(true);
            gate.cut();
        }
        self.shard.monitor().shows_all(self.servers.server(keeper))?;
        self.servers.server_mut(keeper).kill()?;
        self.shard.monitor().detach();
        self.killed_at = wall_clock();
        Ok(())
    }

    /// A server follows the primary, and starts again if it was killed. One that does not in time
    /// is killed, and the primary stays alone: failovers that come later have no effect, which is
    /// counted.
    fn follows(&mut self, which: usize) -> Result<(), ServerError> {
        match self.starts_to_follow(which) {
            Err(ServerError::Protocol { .. }) => {
                self.servers.server_mut(self.shard.both[which]).kill()
            }
            done => done,
        }
    }

    fn starts_to_follow(&mut self, which: usize) -> Result<(), ServerError> {
        if self.server(which).pid().is_none() {
            self.servers.server_mut(self.shard.both[which]).restart()?;
        }
        if let Servers::Sentinels(_) = self.servers {
            let port = self.server(self.shard.primary).port().to_string();
            self.server(which).command(&["REPLICAOF", "127.0.0.1", &port])?;
        }
        self.server(which).follows()?;
        self.is_alone = false;
        Ok(())
    }

    /// A server is the primary from now on: it is observed, and candidates may reach it.
    fn leads(&mut self, which: usize) -> Result<(), ServerError> {
        (self.shard.primary, self.number) = (which, self.number + 1);
        let (keeper, monitor) = (self.shard.keeper(), self.shard.monitor());
        self.servers.is_ready(keeper)?;
        monitor.has_number(self.number);
        monitor.attach(self.servers.server(keeper))?;
        monitor.adopts(self.servers.server(keeper))
    }
}

impl super::Observed for Observed {
    fn has_gates(&mut self, gates: &Arc<[Proxy]>) {
        self.gates = Arc::clone(gates);
    }

    /// The one that follows, or is down.
    fn is_shut(&self, place: usize) -> bool {
        self.split.is_none() && place == self.servers.gate(self.shard.standby())
    }

    fn pause(&mut self) -> Result<(), ServerError> {
        self.server(self.shard.primary).pause()
    }

    fn resume(&mut self) -> Result<(), ServerError> {
        self.server(self.shard.primary).resume()
    }

    fn crash(&mut self) -> Result<(), ServerError> {
        // A fault may begin while another one keeps it down.
        if self.server(self.shard.primary).pid().is_none() {
            return Ok(());
        }
        // It may be paused, and then shows nothing.
        self.resume()?;
        self.joins()?;
        self.slot_arrives()?;
        self.servers.server_mut(self.shard.standby()).kill()?;
        self.is_alone = true;
        self.kill_primary()
    }

    fn starts_again(&mut self, keeps_data: bool) -> Result<bool, ServerError> {
        let (primary, keeper) = (self.shard.primary, self.shard.keeper());
        self.servers.server_mut(keeper).restart()?;
        self.servers.is_ready(keeper)?;
        let server = self.servers.server(keeper);
        let had_a_record = self.shard.monitor().is_replaced(server, self.killed_at, keeps_data)?;
        if !keeps_data {
            server.command(&["FLUSHALL"])?;
        }
        let lost_a_record = had_a_record && !has_a_record(server)?;
        self.leads(primary)?;
        self.follows(1 - primary)?;
        Ok(lost_a_record)
    }

    fn fails_over(&mut self, lag: Duration) -> Result<Option<u64>, ServerError> {
        let (primary, other) = (self.shard.primary, 1 - self.shard.primary);
        if self.is_alone || self.server(primary).pid().is_none() {
            return Ok(None);
        }
        // It may be paused, and then shows nothing.
        self.server(primary).resume()?;
        self.joins()?;
        self.slot_arrives()?;
        if self.is_alone {
            return Ok(None);
        }
        if !lag.is_zero() {
            // The replica gets nothing more. The primary alone has what follows.
            self.server(other).pause()?;
            self.server(primary).command(&["CLIENT", "KILL", "TYPE", "REPLICA"])?;
            sleep(lag);
        }
        self.kill_primary()?;
        let at = boot_clock();
        self.server(other).resume()?;
        self.servers.replace(self.shard.both[primary], self.shard.both[other])?;
        self.is_alone = true;
        self.leads(other)?;
        Ok(Some(at))
    }

    fn rejoins(&mut self) -> Result<(), ServerError> {
        if !self.is_alone || self.server(self.shard.primary).pid().is_none() {
            return Ok(());
        }
        self.follows(1 - self.shard.primary)
    }

    /// At the primary.
    fn begins(&mut self, act: Act) -> Result<Done, ServerError> {
        if act == Act::SplitBrain {
            return self.splits();
        }
        if act == Act::MoveSlot {
            return self.moves_slot();
        }
        let (server, monitor) =
            (self.servers.server(self.shard.keeper()), &self.shard.monitors[self.shard.primary]);
        let done = self.acts.begins(act, server, monitor)?;
        if act == Act::FlushData && done.had_effect {
            // As its observer counts.
            self.number += 1;
        }
        Ok(done)
    }

    /// Another one may be the primary by now.
    fn ends(&mut self, act: Act) -> Result<bool, ServerError> {
        if act == Act::SplitBrain {
            self.joins()?;
            return Ok(self.old_has_answered);
        }
        if act == Act::MoveSlot {
            return self.slot_arrives();
        }
        let mut had_effect = false;
        let shards = [&self.shard].into_iter().chain(&self.other);
        for number in shards.flat_map(|shard| shard.both) {
            let server = self.servers.server(number);
            if server.pid().is_some() {
                had_effect |= self.acts.ends(act, server)?;
            }
        }
        Ok(had_effect)
    }

    fn steps(&mut self, _: &Answers) -> Result<Steps, ServerError> {
        let keeper = self.servers.server(self.shard.keeper());
        self.shard.monitor().shows_all(keeper)?;
        let mut steps = Steps::default();
        let shards = [&self.shard].into_iter().chain(&self.other);
        for monitor in shards.flat_map(|shard| &shard.monitors) {
            let Steps { mut all, has_gaps, .. } = monitor.steps();
            steps.all.append(&mut all);
            steps.has_gaps |= has_gaps;
        }
        Ok(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::servers::{ON_ORDER, replication};
    use super::*;

    #[test]
    fn no_replica_is_promoted_unasked() -> Result<(), ServerError> {
        let mut redis = Observed::sentinels()?;
        let [primary, replica] = redis.shard.both;
        redis.servers.server_mut(primary).kill()?;
        sleep(ON_ORDER * 4);
        assert!(replication(redis.servers.server(replica))?.contains("role:slave"));
        redis.servers.replace(primary, replica)?;
        assert!(replication(redis.servers.server(replica))?.contains("role:master"));
        Ok(())
    }
}
