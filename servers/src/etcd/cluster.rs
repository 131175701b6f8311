//! Several members.

use super::{EtcdServer, MEMBERS, PROGRAM, Ports, is_healthy, listens, within_the_bound};
use crate::ServerError;
use crate::process::Process;

/// An etcd cluster on loopback ports.
#[derive(Debug)]
pub struct EtcdCluster {
    members: Vec<EtcdServer>,
}

impl EtcdCluster {
    /// Starts that many members, each with these arguments, and waits until they are one cluster.
    ///
    /// # Errors
    /// As [`EtcdServer::start`].
    pub fn start(count: usize, args: &[&str]) -> Result<Self, ServerError> {
        let args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
        let member = |_| {
            let mut process = Process::new(PROGRAM)?;
            let ports = Ports::of(&mut process, &args)?;
            Ok(EtcdServer { ports, args: args.clone(), process })
        };
        let mut members = (0..count).map(member).collect::<Result<Vec<_>, ServerError>>()?;
        let name = |number| format!("member-{number}");
        let url = |(number, member): (usize, &EtcdServer)| {
            format!("{}={}", name(number), member.peer_url())
        };
        let all = members.iter().enumerate().map(url).collect::<Vec<_>>().join(",");
        for (number, member) in members.iter_mut().enumerate() {
            member.args.extend(["--name", &name(number), MEMBERS, &all].map(str::to_owned));
        }
        let mut cluster = Self { members };
        cluster.restart()?;
        Ok(cluster)
    }

    /// Waits until all members are one cluster.
    fn is_whole(&mut self) -> Result<(), ServerError> {
        self.members.iter_mut().try_for_each(EtcdServer::is_healthy_soon)
    }

    /// Ends all members at once (SIGKILL).
    ///
    /// # Errors
    /// If one can't be killed.
    pub fn kill(&mut self) -> Result<(), ServerError> {
        self.members.iter_mut().try_for_each(EtcdServer::kill)
    }

    /// Kills all members, and starts them again with their data, on the same ports. Waits until
    /// they are one cluster.
    ///
    /// # Errors
    /// If one ends, or is not healthy within 60 s.
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        self.members.iter_mut().try_for_each(|member| member.launch(listens))?;
        self.is_whole()
    }

    /// The same without their data: a new cluster with the same flags, and so with the same id.
    ///
    /// # Errors
    /// As those of [`restart`](Self::restart).
    pub fn restart_empty(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        self.members.iter().try_for_each(EtcdServer::forgets)?;
        self.restart()
    }

    /// The members' ports for clients.
    pub fn ports(&self) -> Vec<u16> {
        self.members.iter().map(EtcdServer::port).collect()
    }

    /// The members' ports for encrypted connections of clients; none without certificates.
    pub fn tls_ports(&self) -> Vec<u16> {
        self.members.iter().filter_map(EtcdServer::tls_port).collect()
    }

    /// A member, from 0.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn member(&mut self, number: usize) -> &mut EtcdServer {
        &mut self.members[number]
    }

    /// All members.
    pub fn members(&self) -> &[EtcdServer] {
        &self.members
    }

    /// The error of a member that has ended by itself, with its log; none if all of them run.
    pub fn has_ended(&mut self) -> Option<ServerError> {
        self.members.iter_mut().find_map(EtcdServer::has_ended)
    }

    /// The number of members.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// The number of the member that is the leader now, as the one says that is asked. Waits until
    /// it knows of one.
    ///
    /// # Errors
    /// If it does not answer, or knows of no leader for 60 s.
    pub fn leader(&self, asked: usize) -> Result<usize, ServerError> {
        let mut found = None;
        within_the_bound(self.members[asked].port(), || {
            found = self.leader_now(asked);
            found.is_some()
        })?;
        let detail = "it knows of no leader".to_owned();
        found.ok_or(ServerError::Protocol { port: self.members[asked].port(), detail })
    }

    /// Makes that member the leader, and waits until it says so itself.
    ///
    /// # Errors
    /// If the members do not do that within 60 s.
    pub fn move_leader(&self, to: usize) -> Result<(), ServerError> {
        let target = self.id(to)?;
        let request = format!("{{\"targetID\":\"{target}\"}}");
        within_the_bound(self.members[to].port(), || {
            let from = self.leader_now(to);
            if let Some(from) = from.filter(|&from| from != to) {
                // It refuses if the members have elected another leader meanwhile; then that one is
                // asked.
                let _ = self.members[from].api("maintenance/transfer-leadership", &request);
            }
            from == Some(to)
        })
    }

    fn leader_now(&self, asked: usize) -> Option<usize> {
        let status = self.members[asked].api("maintenance/status", "{}").ok()?;
        let leader = status["leader"].as_str()?.to_owned();
        let peers = self.members[asked].api("cluster/member/list", "{}").ok()?;
        let peer = peers["members"].as_array()?.iter().find(|peer| peer["ID"] == *leader)?;
        let url = peer["peerURLs"][0].as_str()?;
        self.members.iter().position(|member| member.peer_url() == url)
    }

    fn id(&self, number: usize) -> Result<String, ServerError> {
        let status = self.members[number].api("maintenance/status", "{}")?;
        let id = status["header"]["member_id"].as_str().map(str::to_owned);
        let (port, detail) = (self.members[number].port(), status.to_string());
        id.ok_or(ServerError::Protocol { port, detail })
    }
}

impl EtcdServer {
    /// Starts a killed member again with its data, and does not wait until it has found the others.
    ///
    /// # Errors
    /// If it ends, or does not listen within 60 s.
    pub fn rejoin(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        self.launch(listens)
    }

    /// Waits until the member has found a majority.
    ///
    /// # Errors
    /// If it ends, or has not within 60 s.
    pub fn is_healthy_soon(&mut self) -> Result<(), ServerError> {
        let (port, ports) = (self.port(), self.ports);
        let mut healthy = false;
        within_the_bound(port, || {
            healthy = is_healthy(ports);
            healthy || !self.process.is_running().unwrap_or(false)
        })?;
        self.has_ended().filter(|_| !healthy).map_or(Ok(()), Err)
    }

    fn has_ended(&mut self) -> Option<ServerError> {
        if self.process.is_running().unwrap_or(false) {
            return None;
        }
        let log = self.process.log().unwrap_or_default();
        let detail = format!("the member has ended; its log is:\n{log}");
        Some(ServerError::Protocol { port: self.port(), detail })
    }
}
