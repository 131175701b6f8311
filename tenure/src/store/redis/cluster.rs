//! Clusters: which node keeps the prefix's slot.
//!
//! All elections of a prefix and its past have one hash tag and so one slot, which one node keeps
//! at a time. It alone is sent requests. A node that does not keep the slot refuses them, which
//! proves that it has carried out nothing.

use std::sync::Arc;

use redis::{RedisError, Value};

use super::config::{Address, Servers};
use super::member::Members;
use super::session::Live;
use crate::store::{StoreError, StoreErrorKind};

/// The most times that a request is sent elsewhere, once without the past among them. Each
/// redirection is by a node that knows better, so more never happen.
pub(super) const REDIRECTIONS: usize = 5;

/// The way of a request that a node has refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Elsewhere {
    /// To the node that keeps the slot by now. The node that refused has one vote in finding it.
    Moved,
    /// To that node, to which the slot is being moved, and which has this key already.
    Asked {
        to: Address,
        /// Only a port was named: the host is the one that was asked.
        is_same_host: bool,
    },
}

/// Asks one node which node keeps the slot.
pub(super) async fn ask(live: Arc<Live>, past: String) -> Result<Address, StoreError> {
    let (mut which, mut whose) = (redis::cmd("CLUSTER"), redis::cmd("CLUSTER"));
    which.arg("KEYSLOT").arg(past);
    whose.arg("SLOTS");
    let (slot, slots) = futures_util::try_join!(live.ask(&which), live.ask(&whose))?;
    let Value::Int(slot) = slot else { return Err(unexpected()) };
    let Value::Array(ranges) = slots else { return Err(unexpected()) };
    for range in &ranges {
        let Value::Array(range) = range else { return Err(unexpected()) };
        let [Value::Int(first), Value::Int(last), Value::Array(owner), ..] = &range[..] else {
            return Err(unexpected());
        };
        if (*first..=*last).contains(&slot) {
            return owner_of(owner, &live.at);
        }
    }
    let node = &live.at;
    let detail = format!("according to {node}, no node keeps the slot {slot} of the prefix");
    Err(StoreError::new(StoreErrorKind::NoLeader, detail))
}

/// Reads a node of the answer: its host, its port, and parts that do not matter here.
fn owner_of(listed: &[Value], by: &Address) -> Result<Address, StoreError> {
    let [host, Value::Int(port), ..] = listed else { return Err(unexpected()) };
    let Ok(port) = u16::try_from(*port) else { return Err(unexpected()) };
    match host {
        Value::BulkString(host) => {
            let owner = Address::named(host, port).ok_or_else(unexpected)?;
            Ok(named(&owner.host, port, by))
        }
        // "Whatever you have connected to".
        Value::Nil => Ok(named("", port, by)),
        _ => Err(unexpected()),
    }
}

/// The way of a request, if that error says that it is elsewhere in a cluster.
pub(super) fn elsewhere(servers: &Servers, error: &RedisError, by: &Address) -> Option<Elsewhere> {
    let Servers::Cluster { .. } = servers else { return None };
    match error.code() {
        Some("MOVED") => Some(Elsewhere::Moved),
        Some("ASK") => {
            let (to, _) = error.redirect_node()?;
            let (host, port) = to.rsplit_once(':')?;
            Address::named(host.as_bytes(), 0)?;
            let is_same_host = matches!(host, "" | "?");
            Some(Elsewhere::Asked { to: named(host, port.parse().ok()?, by), is_same_host })
        }
        _ => None,
    }
}

/// True if a call was not carried out because its slot is being moved, and some of its keys are at
/// the other node.
pub(super) fn is_split(error: &RedisError) -> bool {
    error.code() == Some("TRYAGAIN")
}

/// Confirms by more than half of the listed nodes that this is a primary of the cluster, which has
/// not failed.
///
/// # Errors
/// If it is not, or that is not known.
pub(super) async fn is_node(
    members: &Arc<Members>,
    to: &Address,
    is_same_host: bool,
) -> Result<(), StoreError> {
    let Servers::Cluster { listed } = &members.connector.config.servers else { return Ok(()) };
    let asked = to.clone();
    let knows = move |live| knows(live, asked.clone(), is_same_host);
    let named = members.majority(listed, knows).await;
    named.map(drop).map_err(|error| {
        let detail = format!("a request was sent on to {to}, which more than half must know");
        StoreError::new(error.kind(), detail).with_source(error)
    })
}

/// Asks one node whether `to` is a primary of the cluster, and returns it then.
async fn knows(live: Arc<Live>, to: Address, is_same_host: bool) -> Result<Address, StoreError> {
    let node = &live.at;
    let mut question = redis::cmd("CLUSTER");
    question.arg("NODES");
    let nodes = match live.ask(&question).await? {
        Value::BulkString(text) => String::from_utf8_lossy(&text).into_owned(),
        Value::VerbatimString { text, .. } => text,
        _ => return Err(unexpected()),
    };
    if nodes.lines().any(|line| is_primary_at(line, &to, is_same_host, node)) {
        return Ok(to);
    }
    let detail = format!("{node} knows no primary at {to}");
    Err(StoreError::new(StoreErrorKind::NoLeader, detail))
}

/// Reads `<id> <address>:<port>@<bus port>[,<name>..] <flags> ..`.
fn is_primary_at(line: &str, to: &Address, is_same_host: bool, by: &Address) -> bool {
    let mut words = line.split(' ').skip(1);
    let (Some(at), Some(flags)) = (words.next(), words.next()) else { return false };
    let flagged = |flag| flags.split(',').any(|word| word == flag);
    // A node that has failed keeps its flag when a replica has taken its place, until it is heard
    // of again.
    if !flagged("master") || ["fail", "handshake", "noaddr"].into_iter().any(flagged) {
        return false;
    }
    let (at, more) = at.split_once(',').unwrap_or((at, ""));
    let at = at.split_once('@').map_or(at, |(at, _)| at);
    let Some((address, port)) = at.rsplit_once(':') else { return false };
    let name = more.split(',').next().unwrap_or_default();
    let is_at = |host: &str| named(host, to.port, by).host == to.host;
    port.parse() == Ok(to.port)
        && (is_same_host || is_at(address) || (!name.is_empty() && is_at(name)))
}

/// The address of a node. A node that does not know its own host leaves it empty: it is the host
/// that was asked.
fn named(host: &str, port: u16, by: &Address) -> Address {
    let host = if matches!(host, "" | "?") { &by.host } else { host };
    Address::new(host.trim_matches(['[', ']']), port)
}

fn unexpected() -> StoreError {
    StoreError::new(StoreErrorKind::UnexpectedReply, "to the question which node keeps the slot")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_known_by_address_or_name() {
        let by = Address::new("10.0.0.9", 1);
        let is = |line: &str, host: &str, is_same_host| {
            is_primary_at(line, &Address::new(host, 7000), is_same_host, &by)
        };
        let line = "07c3 10.0.0.1:7000@17000,host-1,shard-id=1 master - 0 1 4 connected 0-5";
        assert!(is(line, "10.0.0.1", false) && is(line, "host-1", false) && is(line, "h", true));
        assert!(!is(line, "10.0.0.2", false) && !is(line, "shard-id=1", false));
        assert!(is("07c3 10.0.0.1:7000@17000 master,fail? - 0 0 1 connected", "10.0.0.1", false));
        assert!(is("07c3 ::1:7000@17000 myself,master - 0 0 1 connected", "::1", false));
        assert!(is("07c3 :7000@17000 myself,master - 0 0 1 connected", "10.0.0.9", false));
        for other in [
            "07c3 10.0.0.1:7001@17001 master - 0 0 1 connected",
            "07c3 10.0.0.1:7000@17000 slave 07c4 0 0 1 connected",
            "07c3 10.0.0.1:7000@17000 handshake,master - 0 0 1 connected",
            "07c3 10.0.0.1:7000@17000 master,fail - 0 0 1 connected",
            "07c3 10.0.0.1 master",
            "",
        ] {
            assert!(!is(other, "10.0.0.1", false), "{other}");
        }
    }
}
