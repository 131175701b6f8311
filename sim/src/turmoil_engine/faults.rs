//! Carries out what a plan says, when its time comes.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use turmoil::Sim;

use super::node::{Node, Point};
use super::store::Store;
use super::world::World;
use crate::clock::True;
use crate::plan::{Fault, FaultKind, Plan, Span};
use crate::trace::Event;

const MS: u64 = 1_000_000;

/// The faults of a run, in order of their beginnings and ends.
pub(super) struct Faults {
    /// By time in milliseconds; the faults that begin then, and those that end then.
    timeline: BTreeMap<u64, Vec<(Edge, Fault)>>,
    world: Rc<World>,
    nodes: Vec<Arc<Node>>,
    store: Store,
    calm_from: True,
    latency_most: Duration,
    links: Vec<Link>,
    /// How many of the faults under way keep a process from running.
    down: Vec<u32>,
    store_down: u32,
    stalls: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Begin,
    End,
}

/// What happens to messages between one node and the store: how many faults of each kind are under way.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    partitions: u32,
    to_store: u32,
    to_node: u32,
    holds: u32,
    state: Passing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Passing {
    #[default]
    Freely,
    Nothing,
    /// One way only: from the store, or from the node.
    NotToStore,
    NotToNode,
    Later,
}

impl Faults {
    pub(super) fn new(plan: &Plan, world: &Rc<World>, nodes: &[Arc<Node>], store: Store) -> Self {
        let mut timeline: BTreeMap<u64, Vec<(Edge, Fault)>> = BTreeMap::new();
        for fault in &plan.faults {
            let (begin, end) = edges(fault);
            timeline.entry(begin).or_default().push((Edge::Begin, *fault));
            if let Some(end) = end {
                timeline.entry(end).or_default().push((Edge::End, *fault));
            }
        }
        Self {
            timeline,
            world: Rc::clone(world),
            nodes: nodes.to_vec(),
            store,
            calm_from: plan.calm_from_ms * MS,
            latency_most: Duration::from_millis(plan.latency_ms.1),
            links: vec![Link::default(); nodes.len()],
            down: vec![0; nodes.len()],
            store_down: 0,
            stalls: 0,
        }
    }

    /// Notes which processes have come to a point where they stand still.
    pub(super) fn observe(&self) {
        for node in &self.nodes {
            while let Some(point) = node.stopped() {
                let kind = match point {
                    Point::Guard => FaultKind::PauseAtGuard,
                    Point::Send => FaultKind::PauseAtSend,
                    Point::Sent => FaultKind::PauseAfterSend,
                };
                self.world.record(Event::Fault { kind, node: Some(node.index) });
            }
        }
    }

    /// Does what is due, and lets go on whoever has stood still for long enough.
    pub(super) fn advance(&mut self, sim: &mut Sim<'_>, at_ms: u64) {
        while let Some(entry) = self.timeline.first_entry() {
            if *entry.key() > at_ms {
                break;
            }
            for (edge, fault) in entry.remove() {
                self.apply(sim, edge, fault);
            }
        }
        if at_ms * MS == self.calm_from {
            self.nodes.iter().for_each(|node| node.disarm());
            self.world.record(Event::Calm);
        }
        for node in &self.nodes {
            if node.thaw(at_ms * MS) {
                let healed = Event::Healed { kind: FaultKind::Pause, node: Some(node.index) };
                self.world.record(healed);
            }
        }
    }

    fn apply(&mut self, sim: &mut Sim<'_>, edge: Edge, fault: Fault) {
        let (kind, node) = (fault.kind(), node_of(&fault));
        match (edge, kind) {
            // Happens only once the process comes to that point.
            (_, FaultKind::PauseAtGuard | FaultKind::PauseAtSend | FaultKind::PauseAfterSend) => {}
            (Edge::Begin, _) => self.world.record(Event::Fault { kind, node }),
            (Edge::End, _) => self.world.record(Event::Healed { kind, node }),
        }
        match fault {
            Fault::Partition { node, .. } => {
                count(&mut self.links[node].partitions, edge);
                self.relink(sim, node);
            }
            Fault::OneWay { node, to_store: true, .. } => {
                count(&mut self.links[node].to_store, edge);
                self.relink(sim, node);
            }
            Fault::OneWay { node, to_store: false, .. } => {
                count(&mut self.links[node].to_node, edge);
                self.relink(sim, node);
            }
            Fault::Hold { node, .. } => {
                count(&mut self.links[node].holds, edge);
                self.relink(sim, node);
            }
            Fault::Latency { node, most_ms, .. } => {
                let most = match edge {
                    Edge::Begin => Duration::from_millis(most_ms),
                    Edge::End => self.latency_most,
                };
                sim.set_link_max_message_latency(name(node), "store", most);
            }
            Fault::Cut { node, .. } => self.nodes[node].cut(),
            Fault::Pause { node, span } => self.nodes[node].freeze(span.to_ms * MS),
            Fault::PauseAtGuard { node, for_ms, .. } => {
                self.nodes[node].arm(Point::Guard, for_ms * MS);
            }
            Fault::PauseAtSend { node, for_ms, .. } => {
                self.nodes[node].arm(Point::Send, for_ms * MS);
            }
            Fault::PauseAfterSend { node, for_ms, .. } => {
                self.nodes[node].arm(Point::Sent, for_ms * MS);
            }
            Fault::ClockStep { node, forward_ms, .. } => {
                let node = &self.nodes[node];
                node.clock.step(node.true_now(), forward_ms * MS);
                node.clock_stepped.notify_waiters();
            }
            Fault::Crash { node, power, .. } => self.crash(sim, edge, node, power),
            Fault::Resign { node, .. } => self.world.resign(node),
            Fault::StoreCrash { .. } => self.crash_store(sim, edge, true),
            Fault::StoreLoss { .. } => self.crash_store(sim, edge, false),
            Fault::StoreStall { .. } => {
                count(&mut self.stalls, edge);
                self.store.redis.stall(self.stalls > 0);
            }
        }
    }

    fn crash(&mut self, sim: &mut Sim<'_>, edge: Edge, index: usize, power: bool) {
        let was_down = self.down[index] > 0;
        count(&mut self.down[index], edge);
        if power {
            // Nothing on the wire says that the machine is gone.
            count(&mut self.links[index].partitions, edge);
            self.relink(sim, index);
        }
        let (node, is_down) = (&self.nodes[index], self.down[index] > 0);
        if is_down && !was_down {
            node.die();
            self.world.left(node);
            sim.crash(name(index));
        } else if was_down && !is_down {
            node.revive();
            sim.bounce(name(index));
        }
    }

    fn crash_store(&mut self, sim: &mut Sim<'_>, edge: Edge, keeps_data: bool) {
        count(&mut self.store_down, edge);
        if edge == Edge::Begin {
            self.store.crash(keeps_data);
            self.world.record(Event::StoreCrashed { keeps_data });
            sim.crash("store");
        } else if self.store_down == 0 {
            sim.bounce("store");
        }
    }

    fn relink(&mut self, sim: &Sim<'_>, index: usize) {
        let link = &mut self.links[index];
        let wanted = link.wanted();
        if wanted == link.state {
            return;
        }
        let node = name(index);
        match link.state {
            Passing::Freely => {}
            Passing::Nothing => sim.repair(&*node, "store"),
            Passing::NotToStore => sim.repair_oneway(&*node, "store"),
            Passing::NotToNode => sim.repair_oneway("store", &*node),
            Passing::Later => sim.release(&*node, "store"),
        }
        match wanted {
            Passing::Freely => {}
            Passing::Nothing => sim.partition(&*node, "store"),
            Passing::NotToStore => sim.partition_oneway(&*node, "store"),
            Passing::NotToNode => sim.partition_oneway("store", &*node),
            Passing::Later => sim.hold(&*node, "store"),
        }
        link.state = wanted;
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
}

/// The name of a node's machine.
pub(super) fn name(node: usize) -> String {
    format!("node-{node}")
}

fn count(under_way: &mut u32, edge: Edge) {
    match edge {
        Edge::Begin => *under_way += 1,
        Edge::End => *under_way -= 1,
    }
}

fn edges(fault: &Fault) -> (u64, Option<u64>) {
    match *fault {
        Fault::Partition { span, .. }
        | Fault::OneWay { span, .. }
        | Fault::Hold { span, .. }
        | Fault::Latency { span, .. }
        | Fault::Crash { span, .. }
        | Fault::StoreCrash { span }
        | Fault::StoreLoss { span }
        | Fault::StoreStall { span } => (span.from_ms, Some(span.to_ms.max(span.from_ms + 1))),
        // Its end is seen when the process goes on.
        Fault::Pause { span: Span { from_ms, .. }, .. } => (from_ms, None),
        Fault::Cut { at_ms, .. } | Fault::ClockStep { at_ms, .. } | Fault::Resign { at_ms, .. } => {
            (at_ms, None)
        }
        Fault::PauseAtGuard { from_ms, .. }
        | Fault::PauseAtSend { from_ms, .. }
        | Fault::PauseAfterSend { from_ms, .. } => (from_ms, None),
    }
}

fn node_of(fault: &Fault) -> Option<usize> {
    match *fault {
        Fault::Partition { node, .. }
        | Fault::OneWay { node, .. }
        | Fault::Hold { node, .. }
        | Fault::Latency { node, .. }
        | Fault::Cut { node, .. }
        | Fault::Pause { node, .. }
        | Fault::PauseAtGuard { node, .. }
        | Fault::PauseAtSend { node, .. }
        | Fault::PauseAfterSend { node, .. }
        | Fault::ClockStep { node, .. }
        | Fault::Crash { node, .. }
        | Fault::Resign { node, .. } => Some(node),
        Fault::StoreCrash { .. } | Fault::StoreLoss { .. } | Fault::StoreStall { .. } => None,
    }
}
