//! The engine that runs the state machine alone, over a queue of events.
//!
//! One run is one loop. True time belongs to the engine and counts nanoseconds. Time jumps from one
//! event to the next, so the cost of a run depends on its events and not on its length. Every
//! candidate is the real state machine; the store is the store contract as the design states it
//! (section 4), not the scripts. At even seeds the real driver runs the candidate; at odd ones the
//! engine does: it sends requests, wakes the machine at its deadline, and hands it late answers,
//! which a driver drops. It also runs leader-only work.
//!
//! `is_leader()` is evaluated on every node after every event and at every end of a claim, so the
//! beginning and the end of each lead are exact to the nanosecond.

mod algorithm;
pub(crate) mod baselines;
mod driven;
mod due;
mod effects;
mod faults;
mod link;
mod messages;
mod node;
mod outages;
mod process;
mod server;
pub mod store;
pub(crate) mod tenure;
mod world;

use std::time::Duration;

use crate::engines::EngineError;
use crate::engines::sink::{Sink, TwinSinks};
use crate::judge::{Judging, Outcome};
use crate::plan::{Ending, Fault, FaultKind, Manner, Plan, PlanError, Program, Scope, SimTime};
use algorithm::Algorithm;
use driven::Driven;
use due::Due;
use messages::of_reply;
use node::Node;
use world::World;

/// The length of its step. It has no ticks: each event has its own nanosecond.
pub const TICK: Duration = Duration::from_nanos(1);

/// The most events at one nanosecond; more are an endless loop.
const STEPS_AT_ONCE_MOST: u32 = 100_000;

/// Carries out a plan.
///
/// # Errors
/// If the plan's settings contradict each other, or a candidate loops.
pub fn run(plan: &Plan, judging: Judging<'_>) -> Result<Outcome, EngineError> {
    run_own(plan, judging, &mut TwinSinks::default(), None)
}

/// Carries out a plan whose leaders write to `sink`.
pub(crate) fn run_beside(
    plan: &Plan,
    judging: Judging<'_>,
    sink: &mut dyn Sink,
) -> Result<Outcome, EngineError> {
    run_own(plan, judging, sink, None)
}

/// Carries out a plan with candidates and a store of that algorithm.
pub(crate) fn run_as<A: Algorithm>(
    plan: &Plan,
    judging: Judging<'_>,
) -> Result<Outcome, EngineError> {
    run_with::<A>(plan, judging, &mut TwinSinks::default())
}

/// Carries out a plan with that algorithm, whose leaders write to `sink`.
pub(crate) fn run_with<A: Algorithm>(
    plan: &Plan,
    judging: Judging<'_>,
    sink: &mut dyn Sink,
) -> Result<Outcome, EngineError> {
    run_plan::<A>(plan, judging, sink, None)
}

/// Carries out a plan, but orders faults of that kind without carrying them out: their effects must
/// be missing.
///
/// # Errors
/// As those of [`run`].
pub fn run_without(
    plan: &Plan,
    judging: Judging<'_>,
    kind: FaultKind,
) -> Result<Outcome, EngineError> {
    run_own(plan, judging, &mut TwinSinks::default(), Some(kind))
}

fn run_own(
    plan: &Plan,
    judging: Judging<'_>,
    sink: &mut dyn Sink,
    without: Option<FaultKind>,
) -> Result<Outcome, EngineError> {
    let run =
        if plan.seed.is_multiple_of(2) { run_plan::<Driven> } else { run_plan::<tenure::Tenure> };
    run(plan, judging, sink, without)
}

fn run_plan<A: Algorithm>(
    plan: &Plan,
    judging: Judging<'_>,
    sink: &mut dyn Sink,
    without: Option<FaultKind>,
) -> Result<Outcome, EngineError> {
    refuse(plan)?;
    let configs = plan.configs()?;
    let outcome = Outcome::of(judging.judge(plan, &configs, TICK));
    let world = World::<A>::new(plan, &configs, outcome, sink, without);
    let mut run = Run { world, ending: Ending::of(plan, &configs, 1) };
    (0..plan.nodes.len()).for_each(|node| run.world.start(node));
    run.world.probe();
    run.run_to_end(judging.stops_at_first())?;
    run.world.check_drift();
    let World { at, mut outcome, sink, .. } = run.world;
    outcome.finish(at);
    if let Err(accusation) = sink.finish() {
        outcome.judge.accuse(at, accusation.property, accusation.what.into());
    }
    Ok(outcome)
}

/// Refuses a plan that this engine can't carry out.
fn refuse(plan: &Plan) -> Result<(), PlanError> {
    let Program { elections, manner, cancels, log_panics } = plan.program;
    let out_of_bounds = |field: &str, value, bound: &str| PlanError::OutOfBounds {
        field: field.into(),
        value,
        bound: format!(
            "{bound} in the model engine: its processes have one election, and no handles"
        ),
    };
    if elections != 1 {
        return Err(out_of_bounds("program.elections", elections.to_string(), "1"));
    }
    if manner != Manner::default() {
        let value = format!("{manner:?}");
        return Err(out_of_bounds("program.manner", value, "\"while-leader\""));
    }
    if cancels {
        return Err(out_of_bounds("program.cancels", "true".to_owned(), "false"));
    }
    if log_panics {
        return Err(out_of_bounds("program.log_panics", "true".to_owned(), "false"));
    }
    let refused = |(index, fault): (usize, &Fault)| {
        let kind = fault.kind();
        let why = Scope::Model.why_not(kind)?;
        Some(PlanError::Unsupported { index, kind, engine: "model", why })
    };
    plan.faults.iter().enumerate().find_map(refused).map_or(Ok(()), Err)
}

struct Run<'a, A: Algorithm> {
    world: World<'a, A>,
    ending: Ending,
}

/// The next event: a step of the plan, a process of a node, a lead's end, or an event of the queue.
enum Next {
    Step,
    Process(usize),
    LeadEnds,
    Due,
}

impl<A: Algorithm> Run<'_, A> {
    fn run_to_end(&mut self, stops_at_a_violation: bool) -> Result<(), EngineError> {
        let mut steps_at_once = 0;
        loop {
            let (at, next) = self.next();
            let ends = self.ending.at();
            if at > ends {
                self.world.at = ends.max(self.world.at);
                return Ok(());
            }
            steps_at_once = if at > self.world.at { 0 } else { steps_at_once + 1 };
            if steps_at_once > STEPS_AT_ONCE_MOST {
                let why = format!("a candidate makes no progress at {} ns", at.as_nanos());
                return Err(EngineError::Simulation(why));
            }
            self.world.at = at.max(self.world.at);
            match next {
                Next::Process(node) => self.world.run_due(node),
                // The probe observes it.
                Next::LeadEnds => {}
                Next::Step => self.world.take_steps(),
                Next::Due => self.due(),
            }
            self.world.probe();
            self.check_end();
            if stops_at_a_violation && self.world.outcome.judge.violation().is_some() {
                return Ok(());
            }
        }
    }

    fn next(&self) -> (SimTime, Next) {
        let mut first = (self.world.schedule.next().unwrap_or(SimTime::NEVER), Next::Step);
        let due = self.world.queue.next();
        if due < first.0 {
            first = (due, Next::Due);
        }
        for (index, node) in self.world.nodes.iter().enumerate() {
            // The properties judge a lead that should have ended, but has not.
            if node.lead_ends < first.0 && node.lead_ends > self.world.at {
                first = (node.lead_ends, Next::LeadEnds);
            }
            if node.next < first.0 {
                first = (node.next, Next::Process(index));
            }
        }
        first
    }

    fn due(&mut self) {
        let world = &mut self.world;
        match world.queue.take() {
            Some(Due::Request(request)) => world.arrives(request),
            Some(Due::Answer { session, id, reply }) => {
                world.reply_arrives(session, id, reply, of_reply::<A>(reply));
            }
            Some(Due::Hint(session)) => world.hinted(session),
            Some(Due::Write(write)) => world.wrote(write),
            None => {}
        }
    }

    fn check_end(&mut self) {
        let World { at, nodes, .. } = &self.world;
        let leads = |node: &Node<A>| node.leads.map(|token| (node.who.node, token));
        if let Some(leader) = self.ending.observe(*at, 0, nodes.iter().filter_map(leads)) {
            self.world.resign(leader);
            self.world.probe();
        }
    }
}
