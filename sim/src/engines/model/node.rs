//! One machine with a candidate's process on it.

use std::time::Duration;

use tenure_core::{Config, Instant};

use super::algorithm::{Algorithm, Input, Lead, Timers};
use super::due::Due;
use super::link::Link;
use crate::engines::sink;
use crate::plan::clock::Clock;
use crate::plan::draw::Draw;
use crate::plan::{FaultKind, NANOSECOND, Plan, SimTime};
use crate::trace::Who;

#[allow(clippy::struct_excessive_bools, reason = "each is a circumstance of its own")]
pub(super) struct Node<A: Algorithm> {
    pub(super) who: Who,
    pub(super) config: Config,
    pub(super) link: Link,
    pub(super) candidate: A,
    pub(super) boot: Clock,
    pub(super) monotonic: Clock,
    pub(super) work: Option<Work>,
    /// True if the process exists, and if a fault keeps it from running.
    pub(super) is_up: bool,
    pub(super) is_halted: bool,
    /// True if the machine was suspended, which its clocks show, and the process has not noticed
    /// yet.
    pub(super) was_suspended: bool,
    /// True if its candidate has more outputs.
    pub(super) has_outputs: bool,
    /// The inputs that the process reads when it resumes.
    pub(super) inbox: Vec<Input<A::Id, A::Reply>>,
    pub(super) unsent: Vec<(A::Id, A::Request)>,
    /// The fault that has last asked the candidate to step down.
    pub(super) asked_by: Option<FaultKind>,
    /// Messages in either direction that wait until a hold ends.
    pub(super) held: Vec<Due<A>>,
    /// Requests on this connection without an answer.
    pub(super) unanswered: Vec<A::Id>,
    /// The token under which it answered "I lead" at the last probe.
    pub(super) leads: Option<u64>,
    /// The end of that lead by its clock alone.
    pub(super) lead_ends: SimTime,
    /// The time of the process's next action.
    pub(super) next: SimTime,
}

/// The state to which a virtual machine is restored.
pub(super) struct Snapshot<A: Algorithm> {
    who: Who,
    candidate: A,
    work: Option<Work>,
    boot: Instant,
    monotonic: Instant,
}

/// Leader-only work of one tenure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) token: u64,
    pub(super) step: Step,
    /// The arrival of the last of its writes.
    pub(super) lands: SimTime,
    /// The duration of its cleanup, if it is not dropped before.
    tidies: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It checks its leadership at that time, and writes.
    Checks { at: Instant },
    /// It has checked, is paused, and writes when it resumes.
    Checked { then: SimTime, check: u64, meant: sink::Step },
    /// The tenure is over, and the work ends at that time.
    Tidies { until: Instant, wanted: Instant },
}

impl<A: Algorithm> Node<A> {
    pub(super) fn new(index: usize, plan: &Plan, clock: Clock, config: Config) -> Self {
        let who = Who { node: index, life: 0 };
        Self {
            who,
            config,
            link: Link::new(index, plan),
            candidate: A::new(&config, index, seed(plan.seed, who)),
            boot: clock.clone(),
            monotonic: clock,
            work: None,
            is_up: true,
            is_halted: false,
            was_suspended: false,
            has_outputs: false,
            inbox: Vec::new(),
            unsent: Vec::new(),
            asked_by: None,
            held: Vec::new(),
            unanswered: Vec::new(),
            leads: None,
            lead_ends: SimTime::NEVER,
            next: SimTime::NEVER,
        }
    }

    pub(super) fn runs(&self) -> bool {
        self.is_up && !self.is_halted
    }

    /// The clock by which the process counts.
    pub(super) fn clock(&self) -> &Clock {
        match A::TIMERS {
            Timers::Boot => &self.boot,
            Timers::Monotonic => &self.monotonic,
        }
    }

    pub(super) fn now(&self, at: SimTime) -> Instant {
        self.clock().read(at)
    }

    pub(super) fn lead(&self, at: SimTime) -> Option<Lead> {
        if self.is_up { self.candidate.leads(self.now(at)) } else { None }
    }

    /// Updates the time of the process's next action.
    pub(super) fn plan_ahead(&mut self) {
        if !self.runs() {
            self.next = SimTime::NEVER;
            return;
        }
        let work = self.work.and_then(|work| match work.step {
            Step::Checks { at } => Some(at),
            Step::Checked { .. } => None,
            Step::Tidies { until, wanted } => Some(until.min(wanted)),
        });
        let due = self.candidate.deadline().into_iter().chain(work).min();
        self.next = due.map_or(SimTime::NEVER, |due| self.clock().when(due));
    }

    /// Starts another process after the last one crashed.
    pub(super) fn restart(&mut self, run: u64) {
        self.who.life += 1;
        self.candidate = A::new(&self.config, self.who.node, seed(run, self.who));
        self.work = None;
    }

    pub(super) fn snapshot(&self, at: SimTime) -> Snapshot<A> {
        Snapshot {
            who: self.who,
            candidate: self.candidate.clone(),
            work: self.work,
            boot: self.boot.read(at),
            monotonic: self.monotonic.read(at),
        }
    }

    /// Restores the machine. False if its process is another one by now.
    pub(super) fn restore(&mut self, at: SimTime, snapshot: Snapshot<A>) -> bool {
        if snapshot.who != self.who || !self.is_up {
            return false;
        }
        self.boot.set(at, snapshot.boot);
        self.monotonic.set(at, snapshot.monotonic);
        self.forget();
        self.candidate = snapshot.candidate;
        self.work = snapshot.work;
        true
    }

    /// Drops all state of the process.
    pub(super) fn forget(&mut self) {
        self.inbox.clear();
        self.unsent.clear();
        self.unanswered.clear();
        self.was_suspended = false;
        self.work = None;
    }
}

impl Work {
    pub(super) fn begin(run: u64, who: Who, token: u64, now: Instant, config: &Config) -> Self {
        // Often longer than the longest drain.
        let longest = config.drain_bound().max(config.stop_margin());
        let most = 2 * longest;
        let key = (who.node as u64) << 32 | u64::from(who.life);
        let tidies = Draw::new(run ^ token, "tidy", key).duration(Duration::ZERO..=most);
        Self { token, step: Step::Checks { at: now }, lands: SimTime::START, tidies }
    }

    /// The tenure is over: the work may clean up until then.
    pub(super) fn winds_up(&mut self, now: Instant, until: Instant, clock: &Clock) {
        let wanted = now + self.tidies;
        self.step = Step::Tidies { until, wanted };
        self.waits_for(self.lands, clock);
    }

    /// A write of the work is under way: the work does not end before it arrives, unless it is
    /// dropped.
    pub(super) fn waits_for(&mut self, arrives: SimTime, clock: &Clock) {
        self.lands = self.lands.max(arrives);
        if let Step::Tidies { wanted, .. } = &mut self.step {
            *wanted = (*wanted).max(clock.read(self.lands + NANOSECOND));
        }
    }
}

/// No two lives in a run have the same one.
fn seed(run: u64, who: Who) -> u128 {
    let mut draw = Draw::new(run, "entropy", (who.node as u64) << 32 | u64::from(who.life));
    u128::from(draw.bits()) << 64 | u128::from(draw.bits())
}
