//! Several nodes that share the keys.

use super::sentinel::{EAGER, settles};
use super::{RedisServer, Reply};
use crate::ServerError;

const SLOTS: usize = 16_384;

/// A Redis cluster on loopback ports; all of it is stopped and removed on drop.
///
/// A primary that does not answer for a second is replaced by its replica, if it has one.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<RedisServer>,
    primaries: usize,
}

impl RedisCluster {
    /// Starts so many primaries that share the slots evenly, and so many replicas, of the first
    /// primary, of the second, and so on; and waits until they are one cluster.
    ///
    /// # Errors
    /// As [`RedisServer::start_with`].
    pub fn start(primaries: usize, replicas: usize) -> Result<Self, ServerError> {
        Self::start_with(primaries, replicas, &[])
    }

    /// The same with more arguments for each node. Nodes with certificates want `--tls-cluster yes`
    /// too.
    ///
    /// # Errors
    /// As [`RedisServer::start_with`].
    pub fn start_with(
        primaries: usize,
        replicas: usize,
        args: &[&str],
    ) -> Result<Self, ServerError> {
        let mut cluster = Self { nodes: Vec::new(), primaries };
        let joins = ["--cluster-enabled", "yes"];
        let hurries = ["--cluster-node-timeout", "1000", "--cluster-replica-validity-factor", "0"];
        let args = [&EAGER[..], &joins, &hurries, args].concat();
        for _ in 0..primaries + replicas {
            cluster.nodes.push(RedisServer::start_with(&args)?);
        }
        for number in 0..primaries {
            let (first, last) = (number * SLOTS / primaries, (number + 1) * SLOTS / primaries - 1);
            let (first, last) = (first.to_string(), last.to_string());
            let epoch = (number + 1).to_string();
            cluster.expect(number, &["CLUSTER", "SET-CONFIG-EPOCH", &epoch])?;
            cluster.expect(number, &["CLUSTER", "ADDSLOTSRANGE", &first, &last])?;
        }
        for node in &cluster.nodes[1..] {
            let [port, bus] = [Some(node.port), node.bus_port].map(Option::unwrap_or_default);
            let [port, bus] = [port, bus].map(|port| port.to_string());
            cluster.expect(0, &["CLUSTER", "MEET", "127.0.0.1", &port, &bus])?;
        }
        let all = format!("cluster_known_nodes:{}", cluster.nodes.len());
        cluster.all_say(&all)?;
        for number in primaries..cluster.nodes.len() {
            let of = cluster.id((number - primaries) % primaries)?;
            settles(cluster.nodes[number].port(), "it does not replicate", || {
                let answer = cluster.nodes[number].command(&["CLUSTER", "REPLICATE", &of])?;
                Ok(matches!(answer, Reply::SimpleString(_)))
            })?;
            cluster.nodes[number].follows()?;
        }
        cluster.all_say("cluster_state:ok")?;
        cluster.all_list_all()?;
        Ok(cluster)
    }

    /// A node, from 0: first those that are primaries to begin with.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn node(&self, number: usize) -> &RedisServer {
        &self.nodes[number]
    }

    /// The same, to be killed or started again.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn node_mut(&mut self, number: usize) -> &mut RedisServer {
        &mut self.nodes[number]
    }

    /// The ports of all nodes.
    pub fn ports(&self) -> Vec<u16> {
        self.nodes.iter().map(RedisServer::port).collect()
    }

    /// The ports of all nodes for encrypted connections.
    pub fn tls_ports(&self) -> Vec<u16> {
        self.nodes.iter().filter_map(RedisServer::tls_port).collect()
    }

    /// The name by which nodes know that one.
    ///
    /// # Errors
    /// If it does not tell.
    pub fn id(&self, number: usize) -> Result<String, ServerError> {
        let node = &self.nodes[number];
        match node.command(&["CLUSTER", "MYID"])? {
            Reply::BulkString(id) => Ok(String::from_utf8_lossy(&id).into_owned()),
            other => Err(unexpected(node, &other)),
        }
    }

    /// The slot of a key, as that node says which is asked.
    ///
    /// # Errors
    /// If it does not tell.
    pub fn slot(&self, key: &str, asked: usize) -> Result<i64, ServerError> {
        match self.nodes[asked].command(&["CLUSTER", "KEYSLOT", key])? {
            Reply::Integer(slot) => Ok(slot),
            other => Err(unexpected(&self.nodes[asked], &other)),
        }
    }

    /// The number of the node that keeps that key's slot, as that one says which is asked.
    ///
    /// # Errors
    /// If it does not tell, or nobody keeps it.
    pub fn owner(&self, key: &str, asked: usize) -> Result<usize, ServerError> {
        let (slot, node) = (self.slot(key, asked)?, &self.nodes[asked]);
        let answer = node.command(&["CLUSTER", "SLOTS"])?;
        let Reply::Array(ranges) = &answer else { return Err(unexpected(node, &answer)) };
        let keeps = |range: &Reply| match range {
            Reply::Array(range) => match &range[..] {
                [Reply::Integer(first), Reply::Integer(last), Reply::Array(owner), ..] => {
                    (*first..=*last).contains(&slot).then(|| owner.get(1).cloned())?
                }
                _ => None,
            },
            _ => None,
        };
        let port = ranges.iter().find_map(keeps);
        let of = |node: &RedisServer| port == Some(Reply::Integer(node.port().into()));
        self.nodes.iter().position(of).ok_or_else(|| unexpected(node, &answer))
    }

    /// Waits until another node than that keeps the key's slot, as the last primary says; its
    /// number.
    ///
    /// # Errors
    /// If that does not happen within 60 s.
    pub fn replaced(&self, key: &str, number: usize) -> Result<usize, ServerError> {
        let asked = (0..self.primaries).rev().find(|asked| *asked != number).unwrap_or_default();
        let mut found = number;
        settles(self.nodes[number].port(), "it is not replaced", || {
            found = self.owner(key, asked).unwrap_or(number);
            Ok(found != number)
        })?;
        Ok(found)
    }

    /// Waits until that node says that every slot has a primary which can be reached.
    ///
    /// # Errors
    /// If that does not happen within 60 s.
    pub fn is_whole(&self, number: usize) -> Result<(), ServerError> {
        Self::says(&self.nodes[number], "cluster_state:ok")
    }

    fn expect(&self, number: usize, args: &[&str]) -> Result<(), ServerError> {
        match self.nodes[number].command(args)? {
            Reply::SimpleString(_) => Ok(()),
            other => Err(unexpected(&self.nodes[number], &other)),
        }
    }

    /// Waits until every node says that of the cluster.
    fn all_say(&self, wanted: &str) -> Result<(), ServerError> {
        self.nodes.iter().try_for_each(|node| Self::says(node, wanted))
    }

    fn says(node: &RedisServer, wanted: &str) -> Result<(), ServerError> {
        settles(node.port(), "it is not of one mind with the others", || {
            let Reply::BulkString(info) = node.command(&["CLUSTER", "INFO"])? else {
                return Ok(false);
            };
            Ok(String::from_utf8_lossy(&info).contains(wanted))
        })
    }

    /// Waits until every node lists every primary with its slots.
    fn all_list_all(&self) -> Result<(), ServerError> {
        for node in &self.nodes {
            settles(node.port(), "it does not know who keeps what", || {
                let answer = node.command(&["CLUSTER", "SLOTS"])?;
                Ok(matches!(answer, Reply::Array(ranges) if ranges.len() == self.primaries))
            })?;
        }
        Ok(())
    }
}

fn unexpected(node: &RedisServer, answer: &Reply) -> ServerError {
    ServerError::Protocol { port: node.port(), detail: format!("{answer:?}") }
}
