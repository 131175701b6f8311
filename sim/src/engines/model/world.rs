//! The state of one run: the nodes, the store, the queue of events, and the trace.

use std::time::Duration;

use tenure_core::Config;

use super::algorithm::{Algorithm, Input};
use super::due::Due;
use super::node::{Node, Snapshot};
use super::server::Server;
use crate::engines::Awaited;
use crate::engines::queue::Queue;
use crate::engines::sink::Sink;
use crate::judge::Outcome;
use crate::plan::clock::Clock;
use crate::plan::{FaultKind, NodePlan, Plan, Point, Schedule, SimTime};
use crate::trace::Event;

/// 2026-01-01 since 1970: the reading of the store's clock at the beginning of a run.
const EPOCH: Duration = Duration::from_secs(1_767_225_600);

pub(super) struct World<'a, A: Algorithm> {
    pub(super) plan: &'a Plan,
    pub(super) at: SimTime,
    pub(super) queue: Queue<Due<A>>,
    pub(super) nodes: Vec<Node<A>>,
    pub(super) store: Server<A>,
    /// A primary that was replaced, and still serves one node.
    pub(super) old: Option<(usize, Server<A>)>,
    /// The schedule of the faults.
    pub(super) schedule: Schedule,
    pub(super) snapshots: Vec<(usize, Snapshot<A>)>,
    pub(super) outcome: Outcome,
    /// Faults that have not had an effect yet.
    pub(super) awaited: Awaited,
    /// Faults of that kind are ordered, but not carried out.
    pub(super) without: Option<FaultKind>,
    /// The sink to which leaders write.
    pub(super) sink: &'a mut dyn Sink,
    /// True if a fault will need the store's earlier data.
    pub(super) remembers: bool,
    /// The number of steps of all servers.
    pub(super) steps: u64,
    pub(super) resumed: u64,
    pub(super) checks: u64,
    pub(super) writes: u64,
}

impl<'a, A: Algorithm> World<'a, A> {
    pub(super) fn new(
        plan: &'a Plan,
        configs: &[Config],
        outcome: Outcome,
        sink: &'a mut dyn Sink,
        without: Option<FaultKind>,
    ) -> Self {
        let nodes = plan.nodes.iter().zip(configs).enumerate();
        let drifts = without != Some(FaultKind::Drift);
        let rate = |rate_ppm| if drifts { rate_ppm } else { 0 };
        let node = |(index, (of, config)): (usize, (&NodePlan, &Config))| {
            let clock =
                Clock::new(Duration::from_millis(of.clock_offset_ms), rate(of.clock_rate_ppm));
            Node::new(index, plan, clock, *config)
        };
        let past = [FaultKind::StoreRollback, FaultKind::Failover];
        let mut awaited = Awaited::default();
        if plan.has(FaultKind::Drift) {
            awaited.ordered(FaultKind::Drift, None);
        }
        Self {
            plan,
            at: SimTime::START,
            queue: Queue::new(),
            nodes: nodes.map(node).collect(),
            store: Server::new(
                Clock::new(EPOCH, rate(plan.store.clock_rate_ppm)),
                configs.iter().map(Config::drift_ppm).max().unwrap_or_default(),
            ),
            old: None,
            schedule: Schedule::of(plan, without),
            snapshots: Vec::new(),
            outcome,
            awaited,
            without,
            sink,
            remembers: past.into_iter().any(|kind| plan.has(kind)),
            steps: 0,
            resumed: 0,
            checks: 0,
            writes: 0,
        }
    }

    pub(super) fn record(&mut self, event: Event) {
        self.outcome.record(self.at, event);
    }

    /// A process begins: its candidate campaigns, and a fresh subscription counts as a hint.
    pub(super) fn start(&mut self, node: usize) {
        self.record(Event::Started { who: self.nodes[node].who });
        self.pass_input(node, Input::Campaign);
        self.subscribe(node);
    }

    /// Evaluates `is_leader()` of every candidate at this moment, independently of its reports.
    pub(super) fn probe(&mut self) {
        for index in 0..self.nodes.len() {
            let lead = self.nodes[index].lead(self.at);
            let node = &mut self.nodes[index];
            node.lead_ends = lead.map_or(SimTime::NEVER, |lead| node.clock().when(lead.until));
            let token = lead.map(|lead| lead.token);
            let before = std::mem::replace(&mut node.leads, token);
            if before == token {
                continue;
            }
            let who = node.who;
            if before.is_some() {
                self.record(Event::LeadsNoMore { who });
            }
            if let Some(token) = token {
                self.record(Event::Leads { who, token });
                self.fire(Point::Leads, index, None);
            }
        }
    }
}

/// The node that leads, by the last probe.
pub(super) fn leader<A: Algorithm>(nodes: &[Node<A>]) -> Option<usize> {
    nodes.iter().position(|node| node.leads.is_some())
}
