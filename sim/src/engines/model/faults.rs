//! Carries out the faults of a plan: at their times, or when their triggers fire.

use super::algorithm::{Algorithm, Input};
use super::world::{World, leader};
use crate::plan::{Asking, FaultKind, Point, Step, Strike, What};
use crate::trace::Event;

impl<A: Algorithm> World<'_, A> {
    /// A node has reached a point: faults that waited for it begin.
    pub(super) fn fire(&mut self, point: Point, node: usize, of: Option<Asking>) {
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
        match node {
            Some(node) => self.begin_at(node, strike),
            None => self.begin_at_store(strike),
        }
    }

    fn is_left_out(&self, kind: FaultKind) -> bool {
        self.without == Some(kind)
    }

    fn end(&mut self, strike: Strike) {
        let Strike { kind, node, .. } = strike;
        self.record(Event::Healed { kind, node });
        if !self.is_left_out(kind) {
            match node {
                Some(node) => self.end_at(node, strike),
                None => self.end_at_store(strike.what),
            }
        }
        self.awaited.over(kind, node);
    }

    fn begin_at(&mut self, node: usize, strike: Strike) {
        let before = self.state_of(node);
        self.carry_out(node, strike);
        if before.differs(&self.state_of(node), strike.what) {
            self.took(strike.kind, Some(node));
        }
    }

    fn carry_out(&mut self, node: usize, strike: Strike) {
        match strike.what {
            What::Pause { .. } => self.pause(node),
            What::Suspend { .. } => {
                self.nodes[node].sleeps += 1;
                self.nodes[node].monotonic.stop(self.at);
                self.pause(node);
            }
            What::VmStop { .. } => {
                self.nodes[node].clock_stops += 1;
                self.nodes[node].boot.stop(self.at);
                self.nodes[node].monotonic.stop(self.at);
                self.pause(node);
            }
            What::VmRestore { .. } => {
                let snapshot = self.nodes[node].snapshot(self.at);
                self.snapshots.push((strike.index, snapshot));
            }
            What::ClockStep { by_ms, .. } => {
                self.nodes[node].boot.step(self.at, by_ms);
                self.nodes[node].plan_ahead();
            }
            What::Cut { .. } => self.cut(node),
            What::Crash { power, .. } => self.crash(node, power),
            What::Resign { .. } => self.resign(node),
            What::Leave { .. } => {
                self.pass_input(node, Input::Resign { again_after: None });
            }
            What::OldPrimary { .. } => self.promote_beside(node),
            what => {
                self.nodes[node].link.begin(what);
                if let What::Partition { .. } | What::Hold { .. } = what {
                    let session = self.session(node);
                    A::cut_off(&mut self.store.state, session);
                }
            }
        }
    }

    fn end_at(&mut self, node: usize, strike: Strike) {
        match strike.what {
            What::Pause { .. } => self.resume(node),
            What::Suspend { .. } => {
                self.nodes[node].sleeps -= 1;
                self.restart_clocks(node);
                self.resume(node);
            }
            What::VmStop { .. } => {
                self.nodes[node].clock_stops -= 1;
                self.restart_clocks(node);
                self.resume(node);
            }
            What::VmRestore { .. } => self.restore(node, strike.index),
            What::Crash { .. } => self.start_again(node),
            What::Leave { .. } => self.pass_input(node, Input::Campaign),
            What::OldPrimary { .. } => self.remove_old_primary(node),
            what => {
                self.nodes[node].link.end(what);
                if !self.nodes[node].link.holds() {
                    self.release_held(node);
                }
            }
        }
    }

    fn pause(&mut self, node: usize) {
        self.nodes[node].pauses += 1;
        self.nodes[node].plan_ahead();
    }

    fn resume(&mut self, node: usize) {
        self.nodes[node].pauses -= 1;
        self.catch_up(node);
    }

    fn restart_clocks(&mut self, node: usize) {
        let (at, node) = (self.at, &mut self.nodes[node]);
        if node.clock_stops == 0 {
            node.boot.resume(at);
            if node.sleeps == 0 {
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
        self.nodes[node].down += 1;
        if self.nodes[node].down > 1 {
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
        self.nodes[node].down -= 1;
        if self.nodes[node].is_up() {
            self.nodes[node].restart(self.plan.seed);
            self.start(node);
        }
    }

    pub(super) fn resign(&mut self, node: usize) {
        if !self.nodes[node].is_up() {
            return;
        }
        let again_after = Some(self.nodes[node].config.renew_interval());
        self.pass_input(node, Input::Resign { again_after });
    }
}
