//! Several members.

use super::{
    EtcdServer, MEMBERS, PROGRAM, Ports, is_healthy, launch, listens, peer_url, within_the_bound,
};
use crate::ServerError;
use crate::process::{Process, free_port};

const ATTEMPTS: u32 = 3;

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
        let mut outcome = Self::start_once(count, args);
        // So many ports: one of them may be taken before its member has it.
        for _ in 1..ATTEMPTS {
            if outcome.is_ok() {
                break;
            }
            outcome = Self::start_once(count, args);
        }
        outcome
    }

    fn start_once(count: usize, args: &[&str]) -> Result<Self, ServerError> {
        let names: Vec<_> = (1..=count).map(|number| format!("member-{number}")).collect();
        let args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
        let draw = |_: &String| Ports::beside(free_port()?, &args);
        let ports = names.iter().map(draw).collect::<Result<Vec<_>, _>>()?;
        let urls = names.iter().zip(&ports).map(|(name, &at)| format!("{name}={}", peer_url(at)));
        let all = urls.collect::<Vec<_>>().join(",");
        let mut cluster = Self { members: Vec::new() };
        for (name, ports) in names.iter().zip(ports) {
            let mut process = Process::new(PROGRAM)?;
            let mut args = args.clone();
            // None of them is healthy before a majority is there.
            launch(&mut process, name, ports, &all, &args, listens)?;
            args.extend(["--name", name, MEMBERS, &all].map(str::to_owned));
            cluster.members.push(EtcdServer { ports, args, process });
        }
        cluster.is_whole()?;
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

    /// Kills all members, and starts them again with their data, on the same ports. Waits until they are one cluster.
    ///
    /// # Errors
    /// If one ends, or is not healthy within 20 s.
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        self.members.iter_mut().try_for_each(|member| member.launch_again(listens))?;
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

    /// How many members there are.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// The number of the member that is the leader now, as the one says that is asked. Waits until it
    /// knows of one.
    ///
    /// # Errors
    /// If it does not answer, or knows of no leader for 20 s.
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
    /// If the members do not do that within 20 s.
    pub fn move_leader(&self, to: usize) -> Result<(), ServerError> {
        let target = self.id(to)?;
        let request = format!("{{\"targetID\":\"{target}\"}}");
        within_the_bound(self.members[to].port(), || {
            let from = self.leader_now(to);
            if let Some(from) = from.filter(|&from| from != to) {
                // It refuses if the members have elected another leader meanwhile; then that one is asked.
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
    /// If it ends, or does not listen within 20 s.
    pub fn rejoin(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        self.launch_again(listens)
    }

    /// Waits until the member has found a majority.
    ///
    /// # Errors
    /// If it ends, or has not within 20 s.
    pub fn is_healthy_soon(&mut self) -> Result<(), ServerError> {
        let (port, ports) = (self.port(), self.ports);
        let mut healthy = false;
        within_the_bound(port, || {
            healthy = is_healthy(ports);
            healthy || !self.process.is_running().unwrap_or(false)
        })?;
        let ended = || ServerError::Protocol { port, detail: "the member has ended".to_owned() };
        if healthy { Ok(()) } else { Err(ended()) }
    }
}
