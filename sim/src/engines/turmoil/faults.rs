//! Carries out what a plan says, when its time comes or its trigger fires.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use turmoil::Sim;

use super::journal::Of;
use super::links::{Link, Links};
use super::name;
use super::node::Node;
use super::store::Store;
use super::triggers::{Fired, Triggers};
use super::wires::Wires;
use super::world::World;
use crate::plan::{Fault, FaultKind, Plan, What, When, swizzled};
use crate::trace::Event;

const MS: i64 = 1_000_000;

pub(super) struct Faults {
    /// What will be done when, in milliseconds.
    timeline: BTreeMap<u64, Vec<Due>>,
    triggers: Arc<Triggers>,
    world: Rc<World>,
    nodes: Vec<Arc<Node>>,
    store: Store,
    links: Links,
    wires: Arc<Wires>,
    calm_from_ms: u64,
    /// How many of the faults under way keep each process from running.
    down: Vec<u32>,
    starved: Vec<u32>,
    store_down: u32,
    stalls: u32,
    /// Faults of that kind are ordered, and not carried out.
    without: Option<FaultKind>,
}

#[derive(Clone, Copy, Debug)]
enum Due {
    Strikes(Fault),
    Begins(Effect),
    Ends(Effect),
    /// Says so in the trace.
    Healed(Effect),
}

/// A fault that has found the node that it happens to, if it is one that does.
#[derive(Clone, Copy, Debug)]
struct Effect {
    kind: FaultKind,
    what: What,
    node: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Begin,
    End,
}

impl Faults {
    pub(super) fn new(
        plan: &Plan,
        world: &Rc<World>,
        nodes: &[Arc<Node>],
        store: Store,
        triggers: &Arc<Triggers>,
        without: Option<FaultKind>,
    ) -> Self {
        if plan.has(FaultKind::Drift) {
            world.journal().ordered(FaultKind::Drift, None);
        }
        let mut timeline: BTreeMap<u64, Vec<Due>> = BTreeMap::new();
        for fault in &plan.faults {
            if let When::AtMs(at_ms) = fault.when {
                timeline.entry(at_ms).or_default().push(Due::Strikes(*fault));
            }
        }
        Self {
            timeline,
            triggers: Arc::clone(triggers),
            world: Rc::clone(world),
            nodes: nodes.to_vec(),
            store,
            links: Links::new(nodes.len(), Duration::from_micros(plan.latency_us.1)),
            wires: Arc::clone(&nodes[0].wires),
            calm_from_ms: plan.calm_from_ms,
            down: vec![0; nodes.len()],
            starved: vec![0; nodes.len()],
            store_down: 0,
            stalls: 0,
            without,
        }
    }

    /// Does what is due, before anybody else does anything in this tick.
    pub(super) fn advance(&mut self, sim: &mut Sim<'_>, at_ms: u64) {
        while let Some(entry) = self.timeline.first_entry() {
            if *entry.key() > at_ms {
                break;
            }
            for due in entry.remove() {
                match due {
                    Due::Strikes(fault) => self.strike(sim, at_ms, fault, None),
                    Due::Begins(effect) => self.begin(sim, effect),
                    Due::Ends(effect) => self.apply(sim, Edge::End, effect),
                    Due::Healed(effect) => self.healed(effect),
                }
            }
        }
        if at_ms == self.calm_from_ms {
            self.triggers.disarm();
            self.world.journal().calm();
            self.world.record(Of::All, Event::Calm);
        }
    }

    /// Carries out those whose triggers have fired in this tick, and lets go on who has waited for it.
    pub(super) fn catch_up(&mut self, sim: &mut Sim<'_>, at_ms: u64) {
        let fired = self.triggers.take_fired();
        if fired.is_empty() {
            return;
        }
        for Fired { fault, node } in fired {
            self.strike(sim, at_ms, fault, node);
        }
        self.nodes.iter().filter(|node| !node.is_paused()).for_each(|node| node.go_on());
        if self.store.waits_no_more() {
            self.store.redis.stall(self.stalls > 0);
        }
    }

    /// A fault's time has come, at a node or not. It happens to the node that it names, to that one, or
    /// to whoever leads.
    fn strike(&mut self, sim: &mut Sim<'_>, at_ms: u64, fault: Fault, at_node: Option<usize>) {
        let Fault { what, for_ms, .. } = fault;
        let mut effect = Effect { kind: fault.kind(), what, node: None };
        if what.is_of_a_node() {
            effect.node = fault.node().or(at_node).or_else(|| self.world.leader());
            if effect.node.is_none_or(|node| self.down[node] > 0 && is_of_a_process(what)) {
                return;
            }
        }
        if let What::Swizzle { step_ms, shift } = what {
            for (node, begins, ends) in swizzled(self.nodes.len(), step_ms, shift, for_ms) {
                let effect = Effect { node: Some(node), ..effect };
                if at_ms + begins < self.calm_from_ms {
                    self.schedule(at_ms + begins, Due::Begins(effect));
                    self.schedule_end(at_ms + ends, effect);
                }
            }
            return;
        }
        self.begin(sim, effect);
        if what.lasts() {
            self.schedule_end(at_ms + for_ms.max(1), effect);
        }
    }

    fn begin(&mut self, sim: &mut Sim<'_>, effect: Effect) {
        let Effect { kind, node, .. } = effect;
        self.world.record(Of::All, Event::Fault { kind, node });
        self.world.journal().ordered(kind, node);
        self.apply(sim, Edge::Begin, effect);
    }

    fn schedule_end(&mut self, at_ms: u64, effect: Effect) {
        self.schedule(at_ms, Due::Ends(effect));
        self.schedule(at_ms, Due::Healed(effect));
    }

    /// Nothing is due after the calm has begun.
    fn schedule(&mut self, at_ms: u64, due: Due) {
        self.timeline.entry(at_ms.min(self.calm_from_ms)).or_default().push(due);
    }

    /// The run is over: says so if some clock has counted too much or too little.
    pub(super) fn look_at_clocks(&self) {
        let at = self.world.true_now();
        let drifted = self.nodes.iter().any(|node| node.clock.has_drifted(at));
        if drifted || self.store.has_drifted(at) {
            self.world.journal().took(FaultKind::Drift, None);
        }
    }

    fn healed(&self, Effect { kind, node, .. }: Effect) {
        self.world.record(Of::All, Event::Healed { kind, node });
        self.world.journal().over(kind, node);
    }

    fn apply(&mut self, sim: &mut Sim<'_>, edge: Edge, Effect { kind, what, node }: Effect) {
        if let Some(node) = node {
            match edge {
                Edge::Begin => self.wires.begins(node, kind, what),
                Edge::End => self.wires.ends(node, kind, what),
            }
        }
        if self.without == Some(kind) {
            return;
        }
        match (what, node) {
            (What::Partition { .. } | What::Swizzle { .. }, Some(node)) => {
                self.relink(sim, edge, node, |link| &mut link.partitions);
            }
            (What::OneWay { to_store: true, .. }, Some(node)) => {
                self.relink(sim, edge, node, |link| &mut link.to_store);
            }
            (What::OneWay { to_store: false, .. }, Some(node)) => {
                self.relink(sim, edge, node, |link| &mut link.to_node);
            }
            (What::Hold { .. }, Some(node)) => {
                self.relink(sim, edge, node, |link| &mut link.holds);
            }
            (What::Latency { most_ms, .. }, Some(node)) => {
                let most = Duration::from_millis(most_ms);
                match edge {
                    Edge::Begin => self.links.slow_down(sim, node, most),
                    Edge::End => self.links.speed_up(sim, node, most),
                }
            }
            (What::Cut { .. }, Some(node)) => self.nodes[node].cut(),
            (What::Pause { .. }, Some(node)) => match edge {
                Edge::Begin => self.nodes[node].pause(kind),
                Edge::End => self.nodes[node].unpause(kind),
            },
            (What::ClockStep { by_ms, .. }, Some(node)) => {
                self.nodes[node].step_clock(kind, by_ms * MS);
            }
            (What::Crash { power, .. }, Some(node)) => self.crash(sim, edge, node, power),
            (What::Resign { .. }, Some(node)) => self.world.resign(node),
            (What::Leave { .. }, Some(node)) => match edge {
                Edge::Begin => self.world.leave(node),
                Edge::End => self.world.come_back(node),
            },
            (What::Starve { .. }, Some(node)) => {
                count(&mut self.starved[node], edge);
                self.nodes[node].starve(self.starved[node] > 0);
            }
            (What::StoreCrash | What::StoreLoss, _) => self.crash_store(sim, edge, kind),
            (What::StoreStall, _) => {
                if edge == Edge::End && self.store.redis.has_kept_waiting() {
                    self.world.journal().took(kind, None);
                }
                count(&mut self.stalls, edge);
                self.store.redis.stall(self.stalls > 0);
            }
            (What::StoreClockStep { by_ms }, _) => {
                let has_moved = self.store.step_clock(self.world.true_now(), by_ms * MS);
                if has_moved {
                    self.world.journal().took(kind, None);
                }
            }
            // Refused before the run, or happening to nobody.
            _ => {}
        }
    }

    fn relink(
        &mut self,
        sim: &Sim<'_>,
        edge: Edge,
        node: usize,
        of: impl FnOnce(&mut Link) -> &mut u32,
    ) {
        self.links.change(sim, node, |link| count(of(link), edge));
    }

    fn crash(&mut self, sim: &mut Sim<'_>, edge: Edge, index: usize, power: bool) {
        let was_down = self.down[index] > 0;
        count(&mut self.down[index], edge);
        if power {
            // Nothing on the wire says that the machine is gone.
            self.relink(sim, edge, index, |link| &mut link.partitions);
        }
        let (node, is_down) = (Arc::clone(&self.nodes[index]), self.down[index] > 0);
        if is_down && !was_down {
            node.die();
            self.world.left(&node);
            self.forget_pauses(index);
            sim.crash(name(index));
        } else if was_down && !is_down {
            node.revive();
            sim.bounce(name(index));
        }
    }

    /// Pauses are of a process, and over with it.
    fn forget_pauses(&mut self, of: usize) {
        let mut over = Vec::new();
        for dues in self.timeline.values_mut() {
            dues.retain(|due| match *due {
                Due::Ends(effect) | Due::Healed(effect) if effect.is_pause_of(of) => {
                    over.push(*due);
                    false
                }
                _ => true,
            });
        }
        for due in over {
            if let Due::Healed(effect) = due {
                self.healed(effect);
            }
        }
    }

    fn crash_store(&mut self, sim: &mut Sim<'_>, edge: Edge, kind: FaultKind) {
        let keeps_data = kind == FaultKind::StoreCrash;
        count(&mut self.store_down, edge);
        if edge == Edge::Begin {
            let before = (self.store.processes_gone(), self.store.has_a_record());
            self.store.crash(keeps_data);
            self.world.record(Of::All, Event::StoreCrashed { keeps_data });
            sim.crash("store");
            let has_effect = if keeps_data {
                self.store.processes_gone() != before.0
            } else {
                self.store.has_a_record() != before.1
            };
            if has_effect {
                self.world.journal().took(kind, None);
            }
        } else if self.store_down == 0 {
            sim.bounce("store");
        }
    }
}

impl Effect {
    fn is_pause_of(&self, node: usize) -> bool {
        matches!(self.what, What::Pause { .. }) && self.node == Some(node)
    }
}

/// Whether it needs a process that runs.
const fn is_of_a_process(what: What) -> bool {
    matches!(
        what,
        What::Pause { .. }
            | What::Starve { .. }
            | What::Cut { .. }
            | What::Resign { .. }
            | What::Leave { .. }
    )
}

fn count(under_way: &mut u32, edge: Edge) {
    match edge {
        Edge::Begin => *under_way += 1,
        Edge::End => *under_way -= 1,
    }
}
