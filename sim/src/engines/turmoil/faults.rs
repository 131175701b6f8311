//! Carries out the faults of a plan, at their times or when their triggers fire.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use turmoil::Sim;

use super::journal::Of;
use super::links::Links;
use super::name;
use super::node::Node;
use super::schedule::SharedSchedule;
use super::store::Store;
use super::world::World;
use crate::plan::{
    ClockFault, FaultKind, LinkFault, Plan, ProcessFault, SimTime, Step, StoreFault, Strike, What,
};
use crate::trace::Event;

/// The time after which a supervisor restarts a process that has returned.
const RESTARTS_AFTER: Duration = Duration::from_secs(1);

pub(super) struct Faults {
    schedule: Arc<SharedSchedule>,
    world: Rc<World>,
    nodes: Vec<Arc<Node>>,
    store: Store,
    links: Links,
    /// By how much the clock of each node is ahead after a suspend, in milliseconds.
    oversleeps_ms: Vec<i64>,
    /// The processes that have returned, and the times at which they are restarted.
    returned: Vec<(SimTime, usize)>,
    /// Faults of that kind are ordered, but not carried out.
    without: Option<FaultKind>,
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
        schedule: &Arc<SharedSchedule>,
        without: Option<FaultKind>,
    ) -> Self {
        if plan.has(FaultKind::Drift) {
            world.journal().ordered(FaultKind::Drift, None);
        }
        Self {
            schedule: Arc::clone(schedule),
            world: Rc::clone(world),
            nodes: nodes.to_vec(),
            store,
            links: Links::new(nodes.len(), Duration::from_micros(plan.latency_us.1)),
            oversleeps_ms: (0..nodes.len()).map(|node| plan.oversleeps_ms(node)).collect(),
            returned: Vec::new(),
            without,
        }
    }

    /// Carries out the steps that are due, before any process runs in this tick.
    pub(super) fn advance(&mut self, sim: &mut Sim<'_>) {
        let now = self.world.true_now();
        for (_, node) in self.returned.extract_if(.., |(at, _)| *at <= now).collect::<Vec<_>>() {
            self.settle(sim, node);
        }
        while let Some(step) = self.schedule.take_due(now, || self.world.leader()) {
            match step {
                Step::Begin(strike) => self.begin(sim, strike),
                Step::End(strike) => self.end(sim, strike),
                Step::Calm => {
                    self.world.journal().end_all();
                    self.world.record(Of::All, Event::Calm);
                }
            }
        }
    }

    /// Carries out the faults whose triggers have fired in this tick; the processes that waited for
    /// them resume.
    pub(super) fn catch_up(&mut self, sim: &mut Sim<'_>) {
        self.advance(sim);
        self.nodes.iter().filter(|node| !node.is_paused()).for_each(|node| node.resume());
        if self.store.take_wait() {
            self.store.redis.stall(self.is_stalled());
        }
    }

    /// Processes that have returned are gone until they are restarted.
    pub(super) fn supervise(&mut self, sim: &mut Sim<'_>) {
        let Some(hosting) = &self.world.hosting else { return };
        for node in hosting.returned() {
            self.returned.push((self.world.true_now() + RESTARTS_AFTER, node));
            self.settle(sim, node);
        }
    }

    fn begin(&mut self, sim: &mut Sim<'_>, strike: Strike) {
        let Strike { kind, node, .. } = strike;
        self.world.record(Of::All, Event::Fault { kind, node });
        self.world.journal().ordered(kind, node);
        self.apply(sim, Edge::Begin, strike);
    }

    fn end(&mut self, sim: &mut Sim<'_>, strike: Strike) {
        let Strike { kind, node, .. } = strike;
        self.apply(sim, Edge::End, strike);
        self.world.record(Of::All, Event::Healed { kind, node });
        self.world.journal().over(kind, node);
    }

    /// The run has ended: reports drift if a clock has counted too much or too little.
    pub(super) fn check_drift(&self) {
        let at = self.world.true_now();
        let drifted = self.nodes.iter().any(|node| node.clock.has_drifted(at));
        if drifted || self.store.has_drifted(at) {
            self.world.journal().took(FaultKind::Drift, None);
        }
    }

    fn apply(&mut self, sim: &mut Sim<'_>, edge: Edge, strike: Strike) {
        let Strike { kind, what, node, .. } = strike;
        if self.without == Some(kind) {
            return;
        }
        match (what, node) {
            (What::Link { fault: LinkFault::Cut, .. }, Some(node)) => self.nodes[node].cut(),
            (What::Link { .. } | What::Links(_), Some(node)) => self.relink(sim, node),
            (What::Process { fault, .. }, Some(node)) => {
                self.apply_to_process(sim, edge, node, fault, kind);
            }
            (What::Clock { fault: ClockFault::ClockStep { by_ms }, .. }, Some(node)) => {
                self.nodes[node].step_clock(kind, by_ms);
            }
            (What::Store(fault), _) => self.apply_to_store(sim, edge, fault, kind),
            // Refused before the run.
            (_, None) | (What::Operator(_), _) => {}
        }
    }

    fn apply_to_process(
        &mut self,
        sim: &mut Sim<'_>,
        edge: Edge,
        node: usize,
        fault: ProcessFault,
        kind: FaultKind,
    ) {
        match fault {
            ProcessFault::Pause => match edge {
                Edge::Begin => self.nodes[node].pause(kind),
                Edge::End => self.nodes[node].unpause(kind),
            },
            ProcessFault::Suspend => match edge {
                Edge::Begin => self.nodes[node].pause(kind),
                Edge::End => {
                    self.nodes[node].wakes_up(self.oversleeps_ms[node]);
                    self.nodes[node].unpause(kind);
                }
            },
            ProcessFault::Starve => {
                let is_it =
                    |what: &What| matches!(what, What::Process { fault: ProcessFault::Starve, .. });
                self.nodes[node].starve(self.schedule.at(Some(node)).iter().any(is_it));
            }
            ProcessFault::Crash { .. } => {
                // No packet reports that a machine has lost power.
                self.relink(sim, node);
                self.settle(sim, node);
            }
            ProcessFault::Resign => self.world.resign(node),
            ProcessFault::HandOver { to } => self.world.hand_over(node, to),
            ProcessFault::Leave => self.leave(sim, edge, node),
            // Refused before the run.
            _ => {}
        }
    }

    fn apply_to_store(
        &mut self,
        sim: &mut Sim<'_>,
        edge: Edge,
        fault: StoreFault,
        kind: FaultKind,
    ) {
        match fault {
            StoreFault::StoreCrash | StoreFault::StoreLoss => self.crash_store(sim, edge, kind),
            StoreFault::StoreStall => {
                if edge == Edge::End && self.store.redis.has_waiting_input() {
                    self.world.journal().took(kind, None);
                }
                self.store.redis.stall(self.is_stalled());
            }
            StoreFault::StoreClockStep { by_ms } => {
                let has_moved = self.store.step_clock(self.world.true_now(), by_ms);
                if has_moved {
                    self.world.journal().took(kind, None);
                }
            }
            // Refused before the run.
            _ => {}
        }
    }

    fn relink(&mut self, sim: &mut Sim<'_>, node: usize) {
        self.links.set(sim, node, &self.schedule.at(Some(node)));
    }

    /// A candidate leaves for a while; or a service is asked to end, and killed if it has not by
    /// the end of the fault.
    fn leave(&mut self, sim: &mut Sim<'_>, edge: Edge, node: usize) {
        match (&self.world.hosting, edge) {
            (None, Edge::Begin) => self.world.leave(node),
            (None, Edge::End) => self.world.rejoin(node),
            (Some(hosting), Edge::Begin) => {
                if hosting.shut_down(node) {
                    self.nodes[node].took(FaultKind::Leave);
                }
            }
            (Some(hosting), Edge::End) => {
                if hosting.is_shutting_down(node) {
                    self.kill(sim, node);
                    self.settle(sim, node);
                }
            }
        }
    }

    /// A process runs unless a crash keeps it down, or it has returned.
    fn settle(&mut self, sim: &mut Sim<'_>, index: usize) {
        let has_returned = self.returned.iter().any(|(_, node)| *node == index);
        let is_down =
            has_returned || self.schedule.at(Some(index)).into_iter().any(What::is_a_crash);
        if is_down && self.nodes[index].is_alive() {
            self.kill(sim, index);
        } else if !is_down && !self.nodes[index].is_alive() {
            self.nodes[index].revive();
            sim.bounce(name(index));
        }
    }

    fn kill(&self, sim: &mut Sim<'_>, index: usize) {
        self.nodes[index].die();
        self.world.left(&self.nodes[index]);
        sim.crash(name(index));
    }

    fn crash_store(&mut self, sim: &mut Sim<'_>, edge: Edge, kind: FaultKind) {
        let keeps_data = kind == FaultKind::StoreCrash;
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
        } else if !self.schedule.at(None).into_iter().any(What::is_a_store_crash) {
            sim.bounce("store");
        }
    }

    fn is_stalled(&self) -> bool {
        self.schedule.at(None).contains(&What::Store(StoreFault::StoreStall))
    }
}
