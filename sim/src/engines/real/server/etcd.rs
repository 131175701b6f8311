//! An etcd cluster of one or more members, observed by a watch at each of them.
//!
//! Acts take at most one member away at a time: the others are a majority, and candidates find
//! them.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tenure_servers::{EtcdCluster, EtcdServer, Proxy, ServerError};

use super::certificates::{Certificates, Shown};
use super::orders::Done;
use crate::engines::real::Target;
use crate::engines::real::steps::etcd::Elections;
use crate::engines::real::steps::watch::{Keys as _, Watch};
use crate::engines::real::steps::{Answers, Steps};
use crate::plan::Act;

/// The members of a cluster: the fewest of which one can be missing.
const MEMBERS: usize = 3;
/// Heartbeats in an election timeout, the least that etcd accepts.
const HEARTBEATS: u64 = 5;
/// Connections to a member that was killed end within this time.
const ENDED_WITHIN: Duration = Duration::from_millis(500);

pub(super) struct Observed {
    cluster: EtcdCluster,
    watch: Watch<Elections>,
    gates: Arc<[Proxy]>,
    away: Option<Away>,
    certificates: Option<Certificates>,
}

/// A member that an act has taken away from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Away {
    Killed(usize),
    Paused(usize),
}

impl Observed {
    pub(super) fn start(
        target: Target,
        certificates: Option<Certificates>,
    ) -> Result<Self, ServerError> {
        let members = if target == Target::EtcdCluster { MEMBERS } else { 1 };
        let election = target.etcd_election_ms();
        let (heartbeat, election) = ((election / HEARTBEATS).to_string(), election.to_string());
        let mut args = vec!["--heartbeat-interval", &heartbeat, "--election-timeout", &election];
        let files = certificates.as_ref().map(|made| [made.file(), made.key_file()]);
        let files = files.map(|files| files.map(|file| file.display().to_string()));
        if let Some([file, key]) = &files {
            args.extend(["--cert-file", file, "--key-file", key]);
        }
        let (cluster, watch) = (EtcdCluster::start(members, &args)?, Watch::default());
        let mut observed = Self { cluster, watch, gates: Arc::new([]), away: None, certificates };
        observed.is_watched()?;
        Ok(observed)
    }

    /// Watches all members. One that has ended meanwhile is the reason, if it fails.
    fn is_watched(&mut self) -> Result<(), ServerError> {
        let attached = self.watch.attach(&self.cluster.ports());
        attached.map_err(|error| self.cluster.has_ended().unwrap_or(error))
    }

    /// The ports for candidates.
    pub(super) fn ports(&self) -> Vec<u16> {
        if self.certificates.is_some() { self.cluster.tls_ports() } else { self.cluster.ports() }
    }

    /// New connections are shown that certificate: members read the file at each handshake.
    fn shows(&self, shown: Shown) -> Result<(), ServerError> {
        self.certificates.as_ref().map_or(Ok(()), |made| made.writes(shown))
    }

    /// A member that no act has taken away.
    fn present(&self) -> usize {
        match self.away {
            Some(Away::Killed(0) | Away::Paused(0)) => 1,
            Some(Away::Killed(_) | Away::Paused(_)) | None => 0,
        }
    }

    fn shows_all(&self) -> Result<(), ServerError> {
        self.watch.shows_all(&self.cluster.members()[self.present()])
    }

    /// Signals all members but one that an act has taken away.
    fn signals(
        &self,
        signal: impl Fn(&EtcdServer) -> Result<(), ServerError>,
    ) -> Result<(), ServerError> {
        let is_away = |number| matches!(self.away, Some(Away::Killed(away) | Away::Paused(away)) if away == number);
        let members = self.cluster.members().iter().enumerate();
        members.filter(|(number, _)| !is_away(*number)).try_for_each(|(_, member)| signal(member))
    }

    /// Kills the member that serves most candidates. Returns whether they have lost connections by
    /// that.
    fn kills_a_member(&mut self) -> Result<bool, ServerError> {
        let open = |number: &usize| self.gates.get(*number).map_or(0, Proxy::open);
        let served = (0..self.cluster.size()).max_by_key(open).unwrap_or(0);
        let had_connections = open(&served) > 0;
        if let Some(gate) = self.gates.get(served) {
            gate.refuse(true);
        }
        self.cluster.member(served).kill()?;
        self.away = Some(Away::Killed(served));
        let began = Instant::now();
        while open_at(&self.gates, served) && began.elapsed() < ENDED_WITHIN {
            sleep(Duration::from_millis(1));
        }
        Ok(had_connections && !open_at(&self.gates, served))
    }

    /// Returns whether the members have another leader now.
    fn moves_leader(&self) -> Result<bool, ServerError> {
        let from = self.cluster.leader(0)?;
        let to = (from + 1) % self.cluster.size();
        self.cluster.move_leader(to)?;
        Ok(self.cluster.leader(from)? != from)
    }
}

/// True if a connection leads through that gate.
fn open_at(gates: &[Proxy], place: usize) -> bool {
    gates.get(place).is_some_and(|gate| gate.open() > 0)
}

impl super::Observed for Observed {
    fn has_gates(&mut self, gates: &Arc<[Proxy]>) {
        self.gates = Arc::clone(gates);
    }

    fn is_shut(&self, place: usize) -> bool {
        self.away == Some(Away::Killed(place))
    }

    fn pause(&mut self) -> Result<(), ServerError> {
        self.signals(EtcdServer::pause)
    }

    fn resume(&mut self) -> Result<(), ServerError> {
        self.signals(EtcdServer::resume)
    }

    fn crash(&mut self) -> Result<(), ServerError> {
        self.watch.ends();
        self.cluster.kill()?;
        self.watch.detach();
        self.away = None;
        Ok(())
    }

    fn starts_again(&mut self, keeps_data: bool) -> Result<bool, ServerError> {
        self.shows(Shown::Valid)?;
        // What the killed servers have done is read before their data is gone.
        self.cluster.restart()?;
        self.is_watched()?;
        if keeps_data {
            return Ok(false);
        }
        self.shows_all()?;
        self.crash()?;
        let had_a_record = self.watch.is_replaced();
        self.cluster.restart_empty()?;
        self.is_watched()?;
        self.shows_all()?;
        Ok(had_a_record && !self.watch.keys(|elections| elections.has_a_record()))
    }

    fn begins(&mut self, act: Act) -> Result<Done, ServerError> {
        if self.away.is_some() {
            return Ok(Done::default());
        }
        match act {
            Act::KillMember => self.kills_a_member().map(Done::now),
            Act::PauseRaftLeader => {
                let leader = self.cluster.leader(0)?;
                self.cluster.members()[leader].pause()?;
                self.away = Some(Away::Paused(leader));
                Ok(Done::default())
            }
            Act::MoveRaftLeader => self.moves_leader().map(Done::now),
            Act::ExpireCertificate => {
                self.shows(Shown::Expired)?;
                // It ends no connections on order.
                for gate in &*self.gates {
                    gate.cut();
                }
                // Candidates report whether they refuse it.
                Ok(Done::default())
            }
            // Refused before the run.
            Act::Disconnect
            | Act::FlushScripts
            | Act::FlushData
            | Act::FillMemory
            | Act::LockRow
            | Act::LockTable
            | Act::Pooler
            | Act::RotatePassword
            | Act::DeleteLog
            | Act::DisconnectLeader
            | Act::SplitBrain
            | Act::MoveSlot
            | Act::FillDisk
            | Act::RevokeRights => Ok(Done::default()),
        }
    }

    fn ends(&mut self, act: Act) -> Result<bool, ServerError> {
        match (act, self.away) {
            (Act::KillMember, Some(Away::Killed(number))) => {
                self.cluster.member(number).rejoin()?;
                self.cluster.member(number).is_healthy_soon()?;
                self.away = None;
                if let Some(gate) = self.gates.get(number) {
                    gate.refuse(false);
                }
                Ok(false)
            }
            (Act::PauseRaftLeader, Some(Away::Paused(number))) => {
                let is_replaced = self.cluster.leader(self.present())? != number;
                self.away = None;
                self.cluster.members()[number].resume()?;
                Ok(is_replaced)
            }
            (Act::ExpireCertificate, _) => self.shows(Shown::Valid).map(|()| false),
            // A restart has undone it, or it did nothing.
            _ => Ok(false),
        }
    }

    fn steps(&mut self, answers: &Answers) -> Result<Steps, ServerError> {
        self.shows_all()?;
        Ok(self.watch.keys(|elections| elections.steps(answers)))
    }
}
