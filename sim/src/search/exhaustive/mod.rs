//! Exhaustive search: does any order of events, within [`Bounds`], break a promise?
//!
//! A campaign draws events at random; this search tries all of them. Two or three candidates run
//! the shipped state machine, the store is the store contract as code, and the candidates' clocks
//! run at the ends of the drift bound. From each state the search tries every possible action: a
//! message arrives, a process pauses, resumes or crashes, another server takes the store's place, a
//! tick elapses. It checks the properties in every state and every step. If one does not hold, it
//! shows a shortest sequence of actions that leads there.
//!
//! # Guaranteed
//!
//! A search that ends [`Complete`](Outcome::Complete) has examined every state that can be reached
//! within its bounds, except states that share their fingerprint with another one. Among `n` states
//! the probability of such a pair is about `n^2 / 2^65`: 1 in 30,000 for 30 million states. The
//! figures are the same on any number of threads.
//!
//! # Not guaranteed
//!
//! - Moments between ticks are not examined. The settings are chosen so that the ends of claims and
//!   of watches fall on ticks.
//! - There is one set of settings for each TTL and stop margin.
//! - Runs end at the horizon, if there is one.
//! - The jitter that a candidate draws is one sample for each of its lives, far below a tick.
//! - Not examined: a store that comes back with *older* data, hints without a cause, machines that
//!   were suspended, restarts of a machine's clock, and purges.
//!
//! # The model
//!
//! - **Messages** in flight are a multiset. No message has to arrive, so loss, delay and reordering
//!   need no budget. At most [`Bounds::in_flight`] messages of one candidate are kept; if there are
//!   more, any one of them is lost.
//! - **Processes** that run act on a deadline before the next tick. A paused process does nothing,
//!   for any length of time, while its clock advances and messages queue up. A pause between
//!   deciding to send and sending is the same as a message that takes longer. A pause between a
//!   check and its effect is what tokens are for: the state keeps the newest tenure that could
//!   write, and no older one may lead after it.
//! - **Clocks** of candidates keep one rate, unless a change of rate is allowed. The store's clock
//!   is exact: only tokens and the times of looks depend on it. All arithmetic is in integers.
//! - **States** that differ only in irrelevant details count as one (`canonical.rs`): the order of
//!   candidates, the size of ids, tokens and stamps, the absolute time. So the number of states is
//!   finite even without a horizon.
//! - **The store** is one atomic step for each request. Another server takes its place with all
//!   data or with none; requests in flight reach the new server, and answers of the old one still
//!   arrive.
//! - **Wishes** of operators reach the store at once: one that arrives later is noted later, or not
//!   at all. Each wish for a candidate, for anybody and its withdrawal is tried. Candidates then
//!   know each other's names, so fewer states count as one.
//!
//! # Why not stateright
//!
//! Stateright brings 45 packages, an HTTP server among them, into every build of this crate. With
//! more than one thread its traces are not the shortest and differ from run to run. It keeps every
//! waiting state whole. This search needs only a set of fingerprints and a queue (`search.rs`).
//! Stateright's symmetry reduction asks for a permutation of states; candidates have seeds and draw
//! from them, so no permutation maps one candidate onto another. Here a fingerprint leaves out the
//! irrelevant details instead.

mod action;
mod bounds;
mod canonical;
mod judge;
mod met;
mod packed;
mod state;
mod step;
mod subject;
mod violation;
mod words;

use std::marker::PhantomData;

use serde::Serialize;
use tenure_core::{Candidate, Config, ConfigError};

use crate::judge::properties::PropertyName;
use crate::search::breadth_first::{self, End, Model};
use action::Action;
pub use bounds::{Bounds, Faults, Rates, StopMargin, TICK, Ttl};
use judge::Broken;
use met::Seen;
use packed::{Packed, Parts};
use state::State;
use step::Step;
use subject::Subject;
use words::Layout;

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The bounds of the search.
    pub bounds: Bounds,
    /// The number of different states.
    pub states: u64,
    /// The number of steps that were tried, each from one of these states.
    pub transitions: u64,
    /// The number of steps on a shortest path from an initial state to the furthest state.
    pub depth: u32,
    /// The most states at the same distance from the initial states.
    pub widest: u64,
    /// The end of the search.
    pub outcome: Outcome,
    /// The conditions that were met on some path.
    pub met: Vec<String>,
    /// The conditions that were never met.
    pub unmet: Vec<String>,
}

/// The end of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every state within the bounds was examined, and every property held.
    Complete,
    /// Every property held in the examined states, but there are more states.
    Cut,
    /// A property did not hold.
    Violated(Violation),
}

/// A shortest sequence of steps to a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The name of the violated property.
    pub property: PropertyName,
    /// A description of the violation.
    pub what: String,
    /// The initial state: the rates of the clocks.
    pub from: String,
    /// The steps; the last one violates the property.
    pub steps: Vec<TraceStep>,
}

/// One step of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceStep {
    /// True time, in ticks.
    pub tick: u32,
    /// A description of the action.
    pub what: String,
    /// The effects of the action, one line each.
    pub notes: Vec<String>,
}

/// Searches all states within the bounds on `jobs` threads, and stops early once there are `limit`
/// states.
///
/// # Errors
/// If the settings of the candidates are invalid.
pub fn run(bounds: &Bounds, limit: u64, jobs: usize) -> Result<Report, ConfigError> {
    run_as::<Candidate>(bounds, bounds.config()?, limit, jobs)
}

/// Like [`run`], with another candidate or store, and with settings that may differ from those that
/// the judge assumes.
#[allow(clippy::unnecessary_wraps, reason = "the same signature as `run`")]
pub(crate) fn run_as<S: Subject>(
    bounds: &Bounds,
    config: Config,
    limit: u64,
    jobs: usize,
) -> Result<Report, ConfigError> {
    let election = Election::<S>::new(*bounds, config);
    let found = breadth_first::search(&election, u32::MAX, limit, jobs);
    let (met, unmet) = found.seen.split(bounds.allowed());
    let outcome = match found.end {
        End::Complete => Outcome::Complete,
        End::Cut => Outcome::Cut,
        End::Broken { from, actions, broken } => {
            Outcome::Violated(violation::describe(&election, from, &actions, broken))
        }
    };
    Ok(Report {
        bounds: *bounds,
        states: found.states,
        transitions: found.transitions,
        depth: found.depth,
        widest: found.widest,
        outcome,
        met,
        unmet,
    })
}

/// An election within bounds, as a [`Model`] to search.
struct Election<S> {
    bounds: Bounds,
    config: Config,
    layout: Layout,
    subject: PhantomData<fn() -> S>,
}

impl<S: Subject> Election<S> {
    fn new(bounds: Bounds, config: Config) -> Self {
        Self { bounds, config, layout: Layout::of::<S>(config), subject: PhantomData }
    }
}

impl<S: Subject> Model for Election<S> {
    type State = State<S>;
    type Packed = Packed<S>;
    type Action = Action;
    type Broken = Broken;
    type Seen = Seen;
    type Common = Parts<S>;

    fn initial(&self) -> Vec<State<S>> {
        State::initial(&self.bounds, self.config, &self.layout)
    }

    fn fingerprint(&self, state: &State<S>) -> u64 {
        canonical::fingerprint(&self.bounds, state)
    }

    fn actions(&self, state: &State<S>) -> Vec<Action> {
        action::all(&self.bounds, state)
    }

    fn step(&self, from: &State<S>, action: Action, seen: &mut Seen) -> Result<State<S>, Broken> {
        let Self { bounds, config, layout, .. } = self;
        Step { bounds, config: *config, layout, state: from.clone(), seen }.take(from, action)
    }

    fn add(all: &mut Seen, more: Seen) {
        all.add(&more);
    }

    fn pack(state: State<S>, common: &mut Parts<S>) -> Packed<S> {
        Packed::new(state, common)
    }

    fn unpack(packed: &Packed<S>) -> State<S> {
        packed.unpack()
    }
}

#[cfg(test)]
mod tests;
