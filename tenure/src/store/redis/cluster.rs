//! Clusters: which node keeps the prefix's slot.
//!
//! All elections of a prefix and its history have one hash tag and so one slot, which one node keeps at
//! a time. It alone is sent requests. A node that does not keep the slot refuses them, which proves that
//! it has carried out nothing.

use redis::{RedisError, Value};

use super::config::{Address, Servers};
use super::link::Link;
use crate::store::{StoreError, StoreErrorKind};

/// How often a request is sent on. Each time the node that was asked knows better, so this is more than
/// ever happens.
pub(super) const REDIRECTIONS: usize = 3;

/// Where a request belongs that was refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Elsewhere {
    /// At whichever node keeps the slot by now. The one that refused has a word in that, and no more.
    Moved,
    /// At that node, where the slot is about to be kept, and this key is already.
    Asked(Address),
}

/// The node that keeps the slot, by one node.
pub(super) async fn ask(link: &Link, node: &Address) -> Result<Address, StoreError> {
    let live = link.knowing(node, &link.config.login).await?;
    let (mut which, mut whose) = (redis::cmd("CLUSTER"), redis::cmd("CLUSTER"));
    which.arg("KEYSLOT").arg(link.config.history());
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
            return owner_of(owner, node);
        }
    }
    let detail = format!("by {node}, nobody keeps the slot {slot} of the prefix");
    Err(StoreError::new(StoreErrorKind::NoLeader, detail))
}

/// A node as it is listed: host, port, and what does not matter here.
fn owner_of(listed: &[Value], by: &Address) -> Result<Address, StoreError> {
    let [host, Value::Int(port), ..] = listed else { return Err(unexpected()) };
    let Ok(port) = u16::try_from(*port) else { return Err(unexpected()) };
    match host {
        Value::BulkString(host) => {
            let host = std::str::from_utf8(host).map_err(|_| unexpected())?;
            Ok(named(host, port, by))
        }
        // "Whatever you have connected to".
        Value::Nil => Ok(named("", port, by)),
        _ => Err(unexpected()),
    }
}

/// Where a request belongs, if that error says that it is elsewhere in a cluster.
pub(super) fn elsewhere(link: &Link, error: &RedisError, by: &Address) -> Option<Elsewhere> {
    let Servers::Cluster { .. } = &link.config.servers else { return None };
    match error.code() {
        Some("MOVED") => Some(Elsewhere::Moved),
        Some("ASK") => {
            let (to, _) = error.redirect_node()?;
            let (host, port) = to.rsplit_once(':')?;
            Some(Elsewhere::Asked(named(host, port.parse().ok()?, by)))
        }
        _ => None,
    }
}

/// A node that does not know its own name has none for others.
fn named(host: &str, port: u16, by: &Address) -> Address {
    let host = if matches!(host, "" | "?") { &by.host } else { host };
    Address::new(host.trim_matches(['[', ']']), port)
}

fn unexpected() -> StoreError {
    StoreError::new(StoreErrorKind::UnexpectedReply, "to the question who keeps the slot")
}
