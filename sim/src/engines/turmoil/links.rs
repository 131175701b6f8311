//! The links between each node and the store, and their faults.

use std::time::Duration;

use turmoil::Sim;

use super::name;
use crate::plan::{LinkFault, LinksFault, ProcessFault, What};

const STORE: &str = "store";

/// One link for each node.
pub(super) struct Links {
    links: Vec<Link>,
    /// The largest latency without faults.
    latency_most: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    passing: Passing,
    latency_most: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passing {
    Freely,
    Nothing,
    /// Only one direction: from the store, or from the node.
    NotToStore,
    NotToNode,
    Later,
}

impl Links {
    pub(super) fn new(nodes: usize, latency_most: Duration) -> Self {
        let link = Link { passing: Passing::Freely, latency_most };
        Self { links: vec![link; nodes], latency_most }
    }

    /// Those faults, and no others, are under way at that node.
    pub(super) fn set(&mut self, sim: &mut Sim<'_>, node: usize, faults: &[What]) {
        let wanted = Link {
            passing: Passing::under(faults),
            latency_most: faults.iter().filter_map(latency).fold(self.latency_most, Duration::max),
        };
        let before = std::mem::replace(&mut self.links[node], wanted);
        let node = &*name(node);
        if before.latency_most != wanted.latency_most {
            sim.set_link_max_message_latency(node, STORE, wanted.latency_most);
        }
        if before.passing == wanted.passing {
            return;
        }
        match before.passing {
            Passing::Freely => {}
            Passing::Nothing => sim.repair(node, STORE),
            Passing::NotToStore => sim.repair_oneway(node, STORE),
            Passing::NotToNode => sim.repair_oneway(STORE, node),
            Passing::Later => sim.release(node, STORE),
        }
        match wanted.passing {
            Passing::Freely => {}
            Passing::Nothing => sim.partition(node, STORE),
            Passing::NotToStore => sim.partition_oneway(node, STORE),
            Passing::NotToNode => sim.partition_oneway(STORE, node),
            Passing::Later => sim.hold(node, STORE),
        }
    }
}

impl Passing {
    fn under(faults: &[What]) -> Self {
        let has = |fault| {
            faults
                .iter()
                .any(|what| matches!(what, What::Link { fault: other, .. } if *other == fault))
        };
        let to_store = has(LinkFault::OneWay { to_store: true });
        let to_node = has(LinkFault::OneWay { to_store: false });
        if faults.iter().any(parts) || (to_store && to_node) {
            Self::Nothing
        } else if to_store {
            Self::NotToStore
        } else if to_node {
            Self::NotToNode
        } else if has(LinkFault::Hold) {
            Self::Later
        } else {
            Self::Freely
        }
    }
}

const fn parts(what: &What) -> bool {
    matches!(
        what,
        What::Link { fault: LinkFault::Partition, .. }
            | What::Links(LinksFault::Swizzle { .. })
            | What::Process { fault: ProcessFault::Crash { power: true }, .. }
    )
}

const fn latency(what: &What) -> Option<Duration> {
    match what {
        What::Link { fault: LinkFault::Latency { most_ms }, .. } => {
            Some(Duration::from_millis(*most_ms))
        }
        _ => None,
    }
}
