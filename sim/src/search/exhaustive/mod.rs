//! Exhaustive search: every order of everything that can happen, within [`Bounds`].
//!
//! A campaign draws; this leaves nothing out. The candidates are the shipped state machine and the store
//! is the store contract as code, two or three of them, with clocks at the ends of the drift bound. From
//! each state every thing that can happen is tried: any message arrives, or does not yet; a process
//! pauses, crashes or goes on; the store is replaced; a tick goes by. What must hold is checked in every
//! state and every step. If something does not, the shortest way to it is shown.
//!
//! # What is guaranteed
//!
//! A search that ends [`Complete`](Outcome::Complete) has seen every state that can be reached within its
//! bounds, but for fingerprints that two states share: of `n` states, with a probability of about
//! `n^2 / 2^65`, which is 1 in 30,000 for 30 million. Its figures are the same on any number of threads.
//!
//! # What is not
//!
//! Time goes by in whole ticks, so that what lies between them is not looked at; the settings are chosen
//! so that the ends that matter fall on ticks. There is one set of settings for each TTL and stop margin. Runs end
//! at the horizon, if there is one. The jitter that a candidate draws is one sample for each of its lives, not every value
//! (it is far below a tick). Not looked at: a store that comes back with *older* data, hints that nobody
//! gave cause for, restarts of a whole machine's clock.
//!
//! # How it is modelled
//!
//! - **Messages** on their way are a multiset. None has to arrive, so loss, lateness and reordering need
//!   no budget. At most [`Bounds::in_flight`] of one candidate are kept; of more, any one is lost.
//! - **Processes** that run do what is due before the next tick. One that pauses does nothing for as long
//!   as it likes while its clock goes on and messages pile up. A pause between deciding to send and
//!   sending is a message that takes longer. A pause between a check and its effect is the business of
//!   tokens: the newest tenure that could write is remembered, and no older one may lead after it.
//! - **Clocks** keep one rate, unless a change of rate is allowed. All of it is integers.
//! - **States** that differ in nothing that matters are one (`canonical.rs`): which candidate is which, how large
//!   ids and tokens are, how late it is. So there are finitely many without any horizon.
//! - **The store** is one atomic step for each request. Another server takes its place with all data or
//!   with none; requests on their way reach the new one, answers of the old one still arrive.
//!
//! # Why not stateright
//!
//! It was looked at. It brings 45 packages, an HTTP server among them, into every build of this crate; with
//! more than one thread its traces are not the shortest and differ from run to run; and its states are
//! kept whole as long as they wait. What is needed of it is a set of fingerprints and a queue:
//! `search.rs`. Its symmetry reduction asks for a permutation of states; candidates have seeds and draw from
//! them, so none maps one onto another. Here states are compared by what is left without all that.

mod action;
mod bounds;
mod canonical;
mod judge;
mod met;
mod packed;
mod search;
mod state;
mod step;
mod story;
mod subject;
mod words;

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};
use tenure_core::{Candidate, Config, ConfigError};

use action::Action;
pub use bounds::{Bounds, Faults, Rates, StopMargin, TICK, Ttl};
use judge::Broken;
use met::Seen;
use packed::{Packed, Parts};
use search::{End, Model};
use state::State;
use step::Step;
use subject::Subject;
use words::Anatomy;

/// What came of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// What was covered.
    pub bounds: Bounds,
    /// How many different states there were.
    pub states: u64,
    /// How many steps were tried: each from one of these states.
    pub transitions: u64,
    /// How many steps the furthest state is from the beginning, on the shortest way.
    pub depth: u32,
    /// The most states that are equally far.
    pub widest: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What happened on some way.
    pub met: Vec<String>,
    /// What never happened.
    pub unmet: Vec<String>,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Everything within the bounds was looked at, and all of it held.
    Complete,
    /// What was looked at held, and there is more.
    Cut,
    /// Something did not hold.
    Violated(Violation),
}

/// A shortest way to something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The property.
    pub property: String,
    /// What is wrong.
    pub what: String,
    /// Where it began: the rates of the clocks.
    pub from: String,
    /// What happened; the last step is the one that is wrong.
    pub steps: Vec<TraceStep>,
}

/// One step of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceStep {
    /// True time, in ticks.
    pub tick: u32,
    /// What happened.
    pub what: String,
    /// What came of it.
    pub notes: Vec<String>,
}

/// Searches all states within the bounds, or the first ones until there are `limit`, on that many threads.
///
/// # Errors
/// If the settings of the candidates can't hold.
pub fn run(bounds: &Bounds, limit: u64, jobs: usize) -> Result<Report, ConfigError> {
    run_as::<Candidate>(bounds, bounds.config()?, limit, jobs)
}

/// The same with another candidate or store, and with settings that the judge does not know of.
#[allow(clippy::unnecessary_wraps, reason = "as the other")]
pub(crate) fn run_as<S: Subject>(
    bounds: &Bounds,
    config: Config,
    limit: u64,
    jobs: usize,
) -> Result<Report, ConfigError> {
    let election = Election::<S>::new(*bounds, config);
    let found = search::search(&election, limit, jobs);
    let (met, unmet) = found.seen.split();
    let outcome = match found.end {
        End::Complete => Outcome::Complete,
        End::Cut => Outcome::Cut,
        End::Broken { from, actions, broken } => {
            Outcome::Violated(story::tell(&election, from, &actions, broken))
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

/// An election within bounds, as something that has states.
struct Election<S> {
    bounds: Bounds,
    config: Config,
    anatomy: Anatomy,
    subject: PhantomData<fn() -> S>,
}

impl<S: Subject> Election<S> {
    fn new(bounds: Bounds, config: Config) -> Self {
        Self { bounds, config, anatomy: Anatomy::of::<S>(config), subject: PhantomData }
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
        State::initial(&self.bounds, self.config, &self.anatomy)
    }

    fn fingerprint(&self, state: &State<S>) -> u64 {
        canonical::fingerprint(&self.bounds, state)
    }

    fn actions(&self, state: &State<S>) -> Vec<Action> {
        action::all(&self.bounds, state)
    }

    fn step(&self, from: &State<S>, action: Action, seen: &mut Seen) -> Result<State<S>, Broken> {
        let Self { bounds, config, anatomy, .. } = self;
        Step { bounds, config: *config, anatomy, state: from.clone(), seen }.take(from, action)
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
