//! The process of a node: it passes inputs to its candidate, carries out the candidate's outputs,
//! and runs leader-only work.

use std::time::Duration;

use tenure_core::Instant;

use super::algorithm::{Algorithm, Input, Lead, Output};
use super::due::Due;
use super::node::{Step, Work};
use super::world::World;
use crate::engines::sink::{self, Write};
use crate::judge::properties::Leader;
use crate::plan::draw::Draw;
use crate::plan::{FaultKind, Point, nanos};
use crate::trace::{Event, Reason};

impl<A: Algorithm> World<'_, A> {
    /// Passes an input to a process, which reads it now, or once it resumes.
    pub(super) fn pass_input(&mut self, node: usize, input: Input<A::Id, A::Reply>) {
        if self.nodes[node].runs() && !self.nodes[node].has_outputs {
            self.handle(node, input);
        } else if self.nodes[node].is_up {
            self.nodes[node].inbox.push(input);
        }
    }

    /// A process resumes: it completes its next action, then reads its inputs and handles its
    /// timers.
    pub(super) fn catch_up(&mut self, node: usize) {
        if !self.nodes[node].runs() {
            return;
        }
        for (id, request) in std::mem::take(&mut self.nodes[node].unsent) {
            if self.nodes[node].runs() {
                self.transmit(node, id, request);
            } else {
                // The next fault began at the previous request.
                self.nodes[node].unsent.push((id, request));
            }
        }
        if let Some(Work { token, step: Step::Checked { then, check, meant }, .. }) =
            self.nodes[node].work
        {
            let by = self.as_leader(node, token);
            self.write(node, Write { by, step: meant, checked: then, check });
        }
        if std::mem::take(&mut self.nodes[node].was_suspended) {
            self.pass_input(node, Input::Resumed);
        }
        self.resumed += 1;
        if Draw::new(self.plan.seed, "timers first", self.resumed).chance(1, 2) {
            self.run_due(node);
        }
        for input in std::mem::take(&mut self.nodes[node].inbox) {
            self.pass_input(node, input);
        }
        self.nodes[node].plan_ahead();
    }

    /// Carries out the actions of a process that are due.
    pub(super) fn run_due(&mut self, index: usize) {
        let now = self.nodes[index].now(self.at);
        if self.nodes[index].candidate.deadline().is_some_and(|deadline| deadline <= now) {
            self.pass_input(index, Input::Wake);
        }
        let node = &mut self.nodes[index];
        match node.work {
            Some(Work { token, step: Step::Checks { at }, .. }) if at <= now && node.runs() => {
                self.check(index, token, now);
            }
            Some(Work { token, step: Step::Tidies { until, wanted }, .. })
                if until.min(wanted) <= now && node.runs() =>
            {
                node.work = None;
                let (who, polled) = (node.who, (until > now).then_some(self.at));
                self.record(Event::WorkEnded { who, token, polled });
                self.pass_input(index, Input::Drained);
            }
            _ => {}
        }
        self.nodes[index].plan_ahead();
    }

    /// Checks, then reads, then writes; or takes over the resource.
    fn check(&mut self, index: usize, token: u64, now: Instant) {
        let leads = self.nodes[index].lead(self.at).is_some_and(|lead| lead.token == token);
        self.set_work(index, Step::Checks { at: now + self.work_every() });
        if !leads {
            return;
        }
        self.checks += 1;
        let (checked, check) = (self.at, self.checks);
        let by = self.as_leader(index, token);
        let meant = sink::step(self.sink.fence(), token, self.plan.work.reads_first);
        if self.nodes[index].work.is_some_and(|work| work.lands <= checked) {
            self.sink.intends(check, by);
        }
        self.fire(Point::Guard, index, None);
        if self.nodes[index].runs() {
            self.write(index, Write { by, step: meant, checked, check });
        } else {
            self.set_work(index, Step::Checked { then: checked, check, meant });
        }
    }

    fn as_leader(&self, index: usize, token: u64) -> Leader {
        Leader { who: self.nodes[index].who, token }
    }

    fn write(&mut self, index: usize, write: Write) {
        self.writes += 1;
        let mut draw = Draw::new(self.plan.seed, "write", self.writes);
        let most = Duration::from_micros(self.plan.work.takes_us);
        let least = draw.pick(&[Duration::ZERO, most]);
        let arrives = self.at + draw.duration(least..=most);
        let node = &mut self.nodes[index];
        if let Some(mut work) = node.work {
            work.waits_for(arrives, node.clock());
            node.work = Some(work);
        }
        self.queue.put(arrives, Due::Write(write));
        let at = self.nodes[index].now(self.at) + self.work_every();
        self.set_work(index, Step::Checks { at });
    }

    pub(super) fn wrote(&mut self, write: Write) {
        let accepted_by_fenced = self.sink.lands(self.at, write);
        let Write { by: Leader { who, token }, step, checked, .. } = write;
        let takes_over = step == sink::Step::TakesOver;
        self.record(Event::Wrote { who, token, checked, takes_over, accepted_by_fenced });
        if let Err(accusation) = self.sink.verify() {
            self.outcome.judge.accuse(self.at, accusation.property, accusation.what.into());
        }
    }

    fn work_every(&self) -> Duration {
        Duration::from_millis(self.plan.work.every_ms)
    }

    /// Sets the next step of work, unless the work is ending.
    fn set_work(&mut self, index: usize, step: Step) {
        if let Some(work) = &mut self.nodes[index].work
            && !matches!(work.step, Step::Tidies { .. })
        {
            work.step = step;
        }
    }

    fn handle(&mut self, index: usize, input: Input<A::Id, A::Reply>) {
        match input {
            Input::Reply { id, reply } => self.answered(index, id, reply),
            Input::Hint => self.record(Event::Hinted { who: self.nodes[index].who }),
            // The process learns of it at this moment. Until then it may continue as if it had not
            // been asked.
            Input::Resign { again_after } => {
                let by = again_after.map_or(FaultKind::Leave, |_| FaultKind::Resign);
                self.nodes[index].asked_by = Some(by);
                let hold_off = again_after.map(nanos);
                self.record(Event::ResignAsked { who: self.nodes[index].who, hold_off });
            }
            Input::Campaign => self.record(Event::CampaignAsked { who: self.nodes[index].who }),
            Input::Drained | Input::Resumed | Input::Wake => {}
        }
        let now = self.nodes[index].now(self.at);
        self.nodes[index].candidate.handle(now, input);
        self.outputs(index);
        self.nodes[index].plan_ahead();
    }

    /// Counts only the first answer to a request; a candidate also sees the others.
    fn answered(&mut self, index: usize, id: A::Id, reply: Option<A::Reply>) {
        let node = &mut self.nodes[index];
        if let Some(place) = node.unanswered.iter().position(|other| *other == id) {
            node.unanswered.swap_remove(place);
            let (who, answer) = (node.who, reply.and_then(A::answered));
            self.record(Event::Answered { who, id: A::number(id), answer });
        }
    }

    /// Carries out a candidate's outputs until there are no more. The inputs that they cause are
    /// read afterwards.
    pub(super) fn outputs(&mut self, index: usize) {
        self.nodes[index].has_outputs = true;
        while self.nodes[index].is_up
            && let Some(output) = self.nodes[index].candidate.poll()
        {
            self.output(index, output);
        }
        self.nodes[index].has_outputs = false;
        if self.nodes[index].runs() {
            for input in std::mem::take(&mut self.nodes[index].inbox) {
                self.pass_input(index, input);
            }
        }
    }

    fn output(&mut self, index: usize, output: Output<A::Id, A::Request>) {
        let (who, now) = (self.nodes[index].who, self.nodes[index].now(self.at));
        match output {
            Output::Send { id, request } => self.send(index, id, request),
            Output::Cancel { id } => self.nodes[index].unanswered.retain(|other| *other != id),
            Output::Elected(Lead { token, until }) => {
                let claim_ends = self.nodes[index].clock().when(until);
                self.record(Event::Elected { who, token, claim_ends });
                let config = self.nodes[index].config;
                let work = Work::begin(self.plan.seed, who, token, now, &config);
                self.nodes[index].work = Some(work);
                self.record(Event::WorkBegan { who, token });
            }
            Output::Renewed(Lead { token, until }) => {
                let claim_ends = self.nodes[index].clock().when(until);
                self.record(Event::Renewed { who, token, claim_ends });
            }
            Output::SteppedDown { token, reason, drain_until } => {
                let drain_ends = self.nodes[index].clock().when(drain_until);
                self.record(Event::SteppedDown { who, token, reason, drain_ends });
                match (reason, self.nodes[index].asked_by) {
                    (Reason::Resigned, Some(by)) => self.took(by, Some(index)),
                    (Reason::HandedOver, _) => self.took(FaultKind::HandOver, Some(index)),
                    _ => {}
                }
                let node = &mut self.nodes[index];
                if let Some(mut work) = node.work {
                    work.winds_up(now, drain_until, node.clock());
                    node.work = Some(work);
                }
            }
            Output::DrainUntil { token, until: moved } => {
                let drain_ends = self.nodes[index].clock().when(moved);
                self.record(Event::DrainMoved { who, token, drain_ends });
                if let Some(Work { token: of, step: Step::Tidies { until, .. }, .. }) =
                    &mut self.nodes[index].work
                    && *of == token
                {
                    *until = moved;
                }
            }
            Output::Watches => self.record(Event::Watches { who }),
            Output::Withdrawn => self.record(Event::Withdrawn { who, done: true }),
        }
    }
}
