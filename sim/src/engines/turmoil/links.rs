//! The links between each node and the store, and their faults.

use std::time::Duration;

use turmoil::Sim;

use super::name;

const STORE: &str = "store";

/// One link for each node.
pub(super) struct Links {
    links: Vec<Link>,
    /// The largest latency without faults.
    latency_most: Duration,
}

/// The number of active faults of each kind on one link.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    pub(super) partitions: u32,
    pub(super) to_store: u32,
    pub(super) to_node: u32,
    pub(super) holds: u32,
    latencies: Vec<Duration>,
    state: Passing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Passing {
    #[default]
    Freely,
    Nothing,
    /// Only one direction: from the store, or from the node.
    NotToStore,
    NotToNode,
    Later,
}

impl Links {
    pub(super) fn new(nodes: usize, latency_most: Duration) -> Self {
        Self { links: vec![Link::default(); nodes], latency_most }
    }

    pub(super) fn change(&mut self, sim: &Sim<'_>, node: usize, change: impl FnOnce(&mut Link)) {
        let link = &mut self.links[node];
        change(link);
        link.pass(sim, &name(node));
    }

    pub(super) fn slow_down(&mut self, sim: &mut Sim<'_>, node: usize, most: Duration) {
        self.links[node].latencies.push(most);
        self.set_latency(sim, node);
    }

    pub(super) fn speed_up(&mut self, sim: &mut Sim<'_>, node: usize, most: Duration) {
        let latencies = &mut self.links[node].latencies;
        if let Some(index) = latencies.iter().position(|other| *other == most) {
            latencies.swap_remove(index);
        }
        self.set_latency(sim, node);
    }

    fn set_latency(&self, sim: &mut Sim<'_>, node: usize) {
        let latencies = self.links[node].latencies.iter().copied();
        let most = latencies.fold(self.latency_most, Duration::max);
        sim.set_link_max_message_latency(name(node), STORE, most);
    }
}

impl Link {
    fn wanted(&self) -> Passing {
        match self {
            Self { partitions: 1.., .. } | Self { to_store: 1.., to_node: 1.., .. } => {
                Passing::Nothing
            }
            Self { to_store: 1.., .. } => Passing::NotToStore,
            Self { to_node: 1.., .. } => Passing::NotToNode,
            Self { holds: 1.., .. } => Passing::Later,
            _ => Passing::Freely,
        }
    }

    fn pass(&mut self, sim: &Sim<'_>, node: &str) {
        let wanted = self.wanted();
        if wanted == self.state {
            return;
        }
        match self.state {
            Passing::Freely => {}
            Passing::Nothing => sim.repair(node, STORE),
            Passing::NotToStore => sim.repair_oneway(node, STORE),
            Passing::NotToNode => sim.repair_oneway(STORE, node),
            Passing::Later => sim.release(node, STORE),
        }
        match wanted {
            Passing::Freely => {}
            Passing::Nothing => sim.partition(node, STORE),
            Passing::NotToStore => sim.partition_oneway(node, STORE),
            Passing::NotToNode => sim.partition_oneway(STORE, node),
            Passing::Later => sim.hold(node, STORE),
        }
        self.state = wanted;
    }
}
