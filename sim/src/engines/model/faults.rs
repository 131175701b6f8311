//! Carries out what a plan says goes wrong: at its time, or when something happens.

use super::algorithm::{Algorithm, Input};
use super::world::{Due, MS, World};
use crate::plan::clock::True;
use crate::plan::{Asking, Fault, FaultKind, Point, What, When, swizzled};
use crate::trace::Event;

/// A fault that waits for something to happen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Armed {
    /// Its place in the plan.
    index: usize,
    /// How often it has yet to happen.
    left: u32,
}

/// A fault that has begun and will end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active {
    index: usize,
    node: Option<usize>,
}

impl<A: Algorithm> World<'_, A> {
    /// Puts all faults in their places.
    pub(super) fn arm(&mut self) {
        for (index, fault) in self.plan.faults.iter().enumerate() {
            match fault.when {
                When::AtMs(at_ms) => self.queue.put(at_ms * MS, Due::Begin(index)),
                When::On(trigger) => self.armed.push(Armed { index, left: trigger.nth }),
            }
        }
        if self.plan.has(FaultKind::Drift) {
            self.awaited.ordered(FaultKind::Drift, None);
        }
        self.queue.put(self.calm_from(), Due::Calm);
    }

    pub(super) fn calm_from(&self) -> True {
        self.plan.calm_from_ms * MS
    }

    /// Something happens at a node: faults that waited for it begin.
    pub(super) fn fire(&mut self, point: Point, node: usize, of: Option<Asking>) {
        if self.armed.is_empty() {
            return;
        }
        let (plan, at) = (self.plan, self.at);
        let mut fired = Vec::new();
        self.armed.retain_mut(|armed| {
            let When::On(trigger) = plan.faults[armed.index].when else { return false };
            let is_it = trigger.point == point
                && at >= trigger.after_ms * MS
                && trigger.node.is_none_or(|wanted| wanted == node)
                && (trigger.of.is_none() || trigger.of == of);
            if !is_it {
                return true;
            }
            armed.left -= 1;
            if armed.left == 0 {
                fired.push(armed.index);
            }
            armed.left > 0
        });
        for index in fired {
            self.begin(index, Some(node));
        }
    }

    /// A fault begins, at the node that it names, or where its trigger fired, or at the leader.
    pub(super) fn begin(&mut self, index: usize, at_node: Option<usize>) {
        let fault = self.plan.faults[index];
        let node = if fault.what.is_of_a_node() {
            fault.node().or(at_node).or_else(|| self.leader())
        } else {
            None
        };
        // What begins with the calm would last no time: a store that is replaced within one microsecond
        // may grant the same token twice.
        let is_too_late = fault.what.lasts() && self.at + MS > self.calm_from();
        if fault.what.is_of_a_node() && node.is_none() || is_too_late {
            return;
        }
        if let What::Swizzle { step_ms, shift } = fault.what {
            return self.plan_swizzle(step_ms, shift, fault.for_ms);
        }
        self.order(fault.kind(), node);
        if fault.what.lasts() {
            let ends = (self.at + fault.for_ms * MS).min(self.calm_from() - 1).max(self.at);
            self.queue.put(ends, Due::End(Active { index, node }));
        }
        if self.is_left_out(fault.kind()) {
            return;
        }
        match node {
            Some(node) => self.begin_at(node, index, fault),
            None => self.begin_at_store(fault),
        }
    }

    fn order(&mut self, kind: FaultKind, node: Option<usize>) {
        self.record(Event::Fault { kind, node });
        self.awaited.ordered(kind, node);
    }

    fn is_left_out(&self, kind: FaultKind) -> bool {
        self.without == Some(kind)
    }

    pub(super) fn end(&mut self, active: Active) {
        let fault = self.plan.faults[active.index];
        let (kind, node) = (fault.kind(), active.node);
        self.record(Event::Healed { kind, node });
        if !self.is_left_out(kind) {
            match node {
                Some(node) => self.end_at(node, active.index, fault),
                None => self.end_at_store(fault),
            }
        }
        self.awaited.over(kind, node);
    }

    fn begin_at(&mut self, node: usize, index: usize, fault: Fault) {
        let before = self.state_of(node);
        self.carry_out(node, index, fault);
        if before.differs(&self.state_of(node), fault.what) {
            self.took(fault.kind(), Some(node));
        }
    }

    fn carry_out(&mut self, node: usize, index: usize, fault: Fault) {
        match fault.what {
            What::Pause { .. } => self.stand_still(node),
            What::Suspend { .. } => {
                self.nodes[node].sleeps += 1;
                self.nodes[node].monotonic.stop(self.at);
                self.stand_still(node);
            }
            What::VmStop { .. } => {
                self.nodes[node].clock_stops += 1;
                self.nodes[node].boot.stop(self.at);
                self.nodes[node].monotonic.stop(self.at);
                self.stand_still(node);
            }
            What::VmRestore { .. } => {
                let snapshot = self.nodes[node].snapshot(self.at);
                self.snapshots.push((index, snapshot));
            }
            What::ClockStep { by_ms, .. } => {
                self.nodes[node].boot.step(self.at, by_ms * MS.cast_signed());
                self.nodes[node].plan_ahead();
            }
            What::Cut { .. } => self.cut(node),
            What::Crash { power, .. } => self.crash(node, power),
            What::Resign { .. } => self.resign(node),
            What::Leave { .. } => {
                self.give(node, Input::Resign { again_after: None });
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

    fn end_at(&mut self, node: usize, index: usize, fault: Fault) {
        match fault.what {
            What::Pause { .. } => self.go_on(node),
            What::Suspend { .. } => {
                self.nodes[node].sleeps -= 1;
                self.restart_clocks(node);
                self.go_on(node);
            }
            What::VmStop { .. } => {
                self.nodes[node].clock_stops -= 1;
                self.restart_clocks(node);
                self.go_on(node);
            }
            What::VmRestore { .. } => self.restore(node, index),
            What::Crash { .. } => self.come_back(node),
            What::Leave { .. } => self.give(node, Input::Campaign),
            What::OldPrimary { .. } => self.old_primary_is_gone(node),
            what => {
                self.nodes[node].link.end(what);
                if !self.nodes[node].link.holds() {
                    self.let_go(node);
                }
            }
        }
    }

    fn stand_still(&mut self, node: usize) {
        self.nodes[node].standing += 1;
        self.nodes[node].plan_ahead();
    }

    fn go_on(&mut self, node: usize) {
        self.nodes[node].standing -= 1;
        self.goes_on(node);
    }

    fn restart_clocks(&mut self, node: usize) {
        let (at, node) = (self.at, &mut self.nodes[node]);
        if node.clock_stops == 0 {
            node.boot.go_on(at);
            if node.sleeps == 0 {
                node.monotonic.go_on(at);
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

    /// The connection breaks: whatever was asked on it will not be answered, and the next one begins.
    fn cut(&mut self, node: usize) {
        self.nodes[node].link.cut();
        for id in std::mem::take(&mut self.nodes[node].unanswered) {
            // Known at once, and read once the process runs.
            self.nodes[node].unanswered.push(id);
            self.give(node, Input::Reply { id, reply: None });
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

    fn come_back(&mut self, node: usize) {
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
        self.give(node, Input::Resign { again_after });
    }

    pub(super) fn swizzle(&mut self, node: usize, begins: bool) {
        let what = What::Swizzle { step_ms: 0, shift: 0 };
        let (kind, node_of) = (FaultKind::Swizzle, Some(node));
        let is_left_out = self.is_left_out(kind);
        let link = &mut self.nodes[node].link;
        match (begins, is_left_out) {
            (true, false) => link.begin(what),
            (false, false) => link.end(what),
            (_, true) => {}
        }
        if begins {
            self.order(kind, node_of);
        } else {
            self.record(Event::Healed { kind, node: node_of });
            self.awaited.over(kind, node_of);
        }
    }

    fn plan_swizzle(&mut self, step_ms: u64, shift: usize, for_ms: u64) {
        let last = self.calm_from() - 1;
        for (node, begins, ends) in swizzled(self.nodes.len(), step_ms, shift, for_ms) {
            let (begins, ends) = (self.at + begins * MS, self.at + ends * MS);
            if begins < last {
                self.queue.put(begins, Due::Swizzle { node, begins: true });
                self.queue.put(ends.min(last), Due::Swizzle { node, begins: false });
            }
        }
    }
}
