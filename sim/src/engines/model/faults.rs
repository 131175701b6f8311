//! Carries out the faults of a plan: at their times, or when their triggers fire.

use super::algorithm::{Algorithm, Input, Visit};
use super::world::{World, leader};
use crate::plan::{
    ClockFault, FaultKind, LinkFault, Point, ProcessFault, RequestKind, Step, Strike, What,
};
use crate::trace::Event;

impl<A: Algorithm> World<'_, A> {
    /// A node has reached a point: faults that waited for it begin.
    pub(super) fn fire(&mut self, point: Point, node: usize, of: Option<RequestKind>) {
        if self.schedule.reached(self.at, point, Some(node), of).is_some() {
            self.take_steps();
        }
    }

    /// Carries out the steps of the plan that are due.
    pub(super) fn take_steps(&mut self) {
        while let Some(step) = self.schedule.take_due(self.at, || leader(&self.nodes)) {
            match step {
                Step::Begin(strike) => self.begin(strike),
                Step::End(strike) => self.end(strike),
                Step::Calm => {
                    self.awaited.end_all();
                    self.record(Event::Calm);
                }
            }
        }
    }

    fn begin(&mut self, strike: Strike) {
        let Strike { kind, node, .. } = strike;
        self.record(Event::Fault { kind, node });
        self.awaited.ordered(kind, node);
        if self.is_left_out(kind) {
            return;
        }
        match (node, strike.what) {
            (Some(node), _) => self.begin_at(node, strike),
            (None, What::Store(fault)) => self.begin_at_store(kind, fault),
            // Refused before the run.
            (None, _) => {}
        }
    }

    fn is_left_out(&self, kind: FaultKind) -> bool {
        self.without == Some(kind)
    }

    fn end(&mut self, strike: Strike) {
        let Strike { kind, node, .. } = strike;
        self.record(Event::Healed { kind, node });
        if !self.is_left_out(kind) {
            match (node, strike.what) {
                (Some(node), _) => self.end_at(node, strike),
                (None, What::Store(fault)) => self.end_at_store(fault),
                (None, _) => {}
            }
        }
        self.awaited.over(kind, node);
    }

    fn begin_at(&mut self, node: usize, strike: Strike) {
        let before = self.state_of(node);
        self.strikes(node, strike);
        if before.differs(&self.state_of(node), strike.what) {
            self.took(strike.kind, Some(node));
        }
    }

    fn strikes(&mut self, node: usize, strike: Strike) {
        match strike.what {
            What::Link { fault: LinkFault::Cut, .. } => self.cut(node),
            What::Link { fault: LinkFault::OldPrimary, .. } => self.promote_beside(node),
            What::Link { .. } | What::Links(_) => {
                self.nodes[node].link.begin(strike.what);
                let is_cut_off = matches!(
                    strike.what,
                    What::Link { fault: LinkFault::Partition | LinkFault::Hold, .. }
                );
                if is_cut_off {
                    let session = self.session(node);
                    A::cut_off(&mut self.store.state, session);
                }
            }
            What::Process { fault, .. } => self.begin_at_process(node, fault, strike.index),
            What::Clock { fault: ClockFault::ClockStep { by_ms }, .. } => {
                self.nodes[node].boot.step(self.at, by_ms);
                self.nodes[node].plan_ahead();
            }
            What::Store(_) | What::Operator(_) => {}
        }
    }

    fn begin_at_process(&mut self, node: usize, fault: ProcessFault, index: usize) {
        match fault {
            ProcessFault::Pause => self.pause(node),
            ProcessFault::Suspend => {
                self.nodes[node].monotonic.stop(self.at);
                self.pause(node);
            }
            ProcessFault::VmStop => {
                self.nodes[node].boot.stop(self.at);
                self.nodes[node].monotonic.stop(self.at);
                self.pause(node);
            }
            ProcessFault::VmRestore => {
                let snapshot = self.nodes[node].snapshot(self.at);
                self.snapshots.push((index, snapshot));
            }
            ProcessFault::Crash { power } => self.crash(node, power),
            ProcessFault::Resign => self.resign(node),
            ProcessFault::HandOver { to } => self.hand_over(node, to),
            ProcessFault::Leave => {
                self.pass_input(node, Input::Resign { again_after: None });
            }
            // Refused before the run.
            _ => {}
        }
    }

    fn end_at(&mut self, node: usize, strike: Strike) {
        match strike.what {
            What::Link { fault: LinkFault::OldPrimary, .. } => self.remove_old_primary(node),
            What::Link { .. } | What::Links(_) => {
                self.nodes[node].link.end(strike.what);
                if !self.nodes[node].link.holds() {
                    self.release_held(node);
                }
            }
            What::Process { fault, .. } => self.end_at_process(node, fault, strike.index),
            What::Clock { .. } | What::Store(_) | What::Operator(_) => {}
        }
    }

    fn end_at_process(&mut self, node: usize, fault: ProcessFault, index: usize) {
        match fault {
            ProcessFault::Pause => self.resume(node),
            ProcessFault::Suspend | ProcessFault::VmStop => {
                self.restart_clocks(node);
                if fault == ProcessFault::Suspend {
                    self.nodes[node].was_suspended = true;
                    self.nodes[node].boot.step(self.at, self.plan.oversleeps_ms(node));
                }
                self.resume(node);
            }
            ProcessFault::VmRestore => self.restore(node, index),
            ProcessFault::Crash { .. } => self.start_again(node),
            ProcessFault::Leave => self.pass_input(node, Input::Campaign),
            _ => {}
        }
    }

    /// True if such a fault of a node's process is under way.
    fn has(&self, node: usize, fault: ProcessFault) -> bool {
        let is_it = |what| matches!(what, What::Process { fault: other, .. } if other == fault);
        self.schedule.at(Some(node)).any(is_it)
    }

    fn pause(&mut self, node: usize) {
        self.nodes[node].is_halted = true;
        self.nodes[node].plan_ahead();
    }

    fn resume(&mut self, node: usize) {
        self.nodes[node].is_halted =
            [ProcessFault::Pause, ProcessFault::Suspend, ProcessFault::VmStop]
                .into_iter()
                .any(|fault| self.has(node, fault));
        self.catch_up(node);
    }

    fn restart_clocks(&mut self, node: usize) {
        let stops = self.has(node, ProcessFault::VmStop);
        let sleeps = self.has(node, ProcessFault::Suspend);
        let (at, node) = (self.at, &mut self.nodes[node]);
        if !stops {
            node.boot.resume(at);
            if !sleeps {
                node.monotonic.resume(at);
            }
        }
        node.plan_ahead();
    }

    fn restore(&mut self, node: usize, index: usize) {
        let Some(place) = self.snapshots.iter().position(|(of, _)| *of == index) else { return };
        let (_, snapshot) = self.snapshots.swap_remove(place);
        let at = self.at;
        if self.nodes[node].restore(at, snapshot) {
            self.took(FaultKind::VmRestore, Some(node));
            self.outputs(node);
            self.nodes[node].plan_ahead();
        }
    }

    /// The connection breaks: no request on it will be answered, and another connection is opened.
    fn cut(&mut self, node: usize) {
        self.nodes[node].link.cut();
        for id in std::mem::take(&mut self.nodes[node].unanswered) {
            // The failure is known at once; the process reads it when it runs.
            self.nodes[node].unanswered.push(id);
            self.pass_input(node, Input::Reply { id, reply: None });
        }
        self.subscribe(node);
    }

    fn crash(&mut self, node: usize, power: bool) {
        let who = self.nodes[node].who;
        if !std::mem::take(&mut self.nodes[node].is_up) {
            return;
        }
        self.nodes[node].leads = None;
        self.nodes[node].forget();
        self.nodes[node].plan_ahead();
        self.record(Event::Crashed { who });
        if !power {
            self.disconnect(node);
        }
        self.nodes[node].link.cut();
    }

    fn start_again(&mut self, node: usize) {
        let is_down = self.schedule.at(Some(node)).any(What::is_a_crash);
        self.nodes[node].is_up = !is_down;
        if !is_down {
            self.nodes[node].restart(self.plan.seed);
            self.start(node);
        }
    }

    /// A leader that reaches the store notes there who should lead.
    fn hand_over(&mut self, node: usize, to: usize) {
        let leads = self.nodes[node].is_up && self.nodes[node].lead(self.at).is_some();
        if !leads {
            return;
        }
        self.steps += 1;
        let (number, session) = (self.steps, self.session(node));
        let trust_empty_store = self.plan.store.trust_empty_store;
        let server = &mut self.store;
        let visit = Visit {
            now: server.clock.read(self.at),
            server: server.number,
            trust_empty_store,
            session,
            first: false,
            number,
        };
        A::wish(&mut server.state, visit, to);
    }

    pub(super) fn resign(&mut self, node: usize) {
        if !self.nodes[node].is_up {
            return;
        }
        let again_after = Some(self.nodes[node].config.renew_interval());
        self.pass_input(node, Input::Resign { again_after });
    }
}
