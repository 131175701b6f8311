//! One machine with a candidate's process on it.

use std::time::Duration;

use tenure_core::{Config, Instant};

use super::algorithm::{Algorithm, Input, Lead, Timers};
use super::link::Link;
use super::sink;
use super::world::Due;
use crate::plan::clock::Clock;
use crate::plan::draw::Draw;
use crate::plan::{FaultKind, NANOSECOND, Plan, SimTime};
use crate::trace::Who;

pub(super) struct Node<A: Algorithm> {
    pub(super) who: Who,
    pub(super) config: Config,
    pub(super) link: Link,
    pub(super) candidate: A,
    pub(super) boot: Clock,
    pub(super) monotonic: Clock,
    pub(super) work: Option<Work>,
    /// How many faults under way keep the process from running.
    pub(super) standing: u32,
    /// How many of them stop the clocks, and the monotonic one alone.
    pub(super) clock_stops: u32,
    pub(super) sleeps: u32,
    /// How many faults under way keep the process from existing.
    pub(super) down: u32,
    /// Its candidate has more to say.
    pub(super) speaks: bool,
    /// What the process finds when it resumes.
    pub(super) inbox: Vec<Input<A::Id, A::Reply>>,
    pub(super) unsent: Vec<(A::Id, A::Request)>,
    /// Which fault has last asked the candidate to step down.
    pub(super) asked_by: Option<FaultKind>,
    /// Messages in either direction that wait for a hold to be over.
    pub(super) held: Vec<Due<A>>,
    /// Requests on this connection that were not answered.
    pub(super) unanswered: Vec<A::Id>,
    /// Under which token it answered "I lead" when it was last asked.
    pub(super) leads: Option<u64>,
    /// When that ends by its clock alone.
    pub(super) lead_ends: SimTime,
    /// When its process has something to do.
    pub(super) next: SimTime,
}

/// What a virtual machine is put back to.
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
    /// When the last of its writes arrives.
    pub(super) lands: SimTime,
    /// How long it takes to tidy up, if it is let.
    tidies: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It checks its leadership then, and writes.
    Checks { at: Instant },
    /// It has checked, is paused, and writes when it resumes.
    Checked { then: SimTime, check: u64, meant: sink::Step },
    /// The tenure is over, and it ends then.
    Tidies { until: Instant, wanted: Instant },
}

impl<A: Algorithm> Node<A> {
    pub(super) fn new(index: usize, plan: &Plan, clock: Clock, config: Config) -> Self {
        let who = Who { node: index, life: 0 };
        Self {
            who,
            config,
            link: Link::new(index, plan),
            candidate: A::new(&config, seed(plan.seed, who)),
            boot: clock.clone(),
            monotonic: clock,
            work: None,
            standing: 0,
            clock_stops: 0,
            sleeps: 0,
            down: 0,
            speaks: false,
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

    pub(super) fn is_up(&self) -> bool {
        self.down == 0
    }

    pub(super) fn runs(&self) -> bool {
        self.down == 0 && self.standing == 0
    }

    /// The clock that the process counts by.
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
        if self.is_up() { self.candidate.leads(self.now(at)) } else { None }
    }

    /// Works out anew when the process has something to do.
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

    /// Another process, after the last one was gone.
    pub(super) fn restart(&mut self, run: u64) {
        self.who.life += 1;
        self.candidate = A::new(&self.config, seed(run, self.who));
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

    /// Puts the machine back. False if its process is another one by now.
    pub(super) fn restore(&mut self, at: SimTime, snapshot: Snapshot<A>) -> bool {
        if snapshot.who != self.who || !self.is_up() {
            return false;
        }
        self.boot.set(at, snapshot.boot);
        self.monotonic.set(at, snapshot.monotonic);
        self.forget();
        self.candidate = snapshot.candidate;
        self.work = snapshot.work;
        true
    }

    /// Nothing of the process is left.
    pub(super) fn forget(&mut self) {
        self.inbox.clear();
        self.unsent.clear();
        self.unanswered.clear();
        self.work = None;
    }
}

impl Work {
    pub(super) fn begin(run: u64, who: Who, token: u64, now: Instant, config: &Config) -> Self {
        // Often longer than it is let, whyever the tenure ends.
        let longest = config.drain_bound().max(config.stop_margin());
        let most = 2 * longest;
        let key = (who.node as u64) << 32 | u64::from(who.life);
        let tidies = Draw::new(run ^ token, "tidy", key).duration(Duration::ZERO..=most);
        Self { token, step: Step::Checks { at: now }, lands: SimTime::START, tidies }
    }

    /// The tenure is over: it may tidy up until then.
    pub(super) fn winds_up(&mut self, now: Instant, until: Instant, clock: &Clock) {
        let wanted = now + self.tidies;
        self.step = Step::Tidies { until, wanted };
        self.waits_for(self.lands, clock);
    }

    /// A write of it is under way: it ends no sooner than that, if it is let.
    pub(super) fn waits_for(&mut self, arrives: SimTime, clock: &Clock) {
        self.lands = self.lands.max(arrives);
        if let Step::Tidies { wanted, .. } = &mut self.step {
            *wanted = (*wanted).max(clock.read(self.lands + NANOSECOND));
        }
    }
}

/// No two lives of a run share one.
fn seed(run: u64, who: Who) -> u128 {
    let mut draw = Draw::new(run, "entropy", (who.node as u64) << 32 | u64::from(who.life));
    u128::from(draw.bits()) << 64 | u128::from(draw.bits())
}
