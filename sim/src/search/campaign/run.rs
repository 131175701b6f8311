//! One run of a campaign.

use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engines::{Engine, EngineError};
use crate::judge::properties::{PropertyName, Violation};
use crate::judge::turnover::Interval;
use crate::judge::{Judging, Outcome};
use crate::plan::{FaultKind, Plan, SimTime};
use crate::trace::{Digest, Entry, Event, Who};

const KINDS: usize = FaultKind::ALL.len();

/// The figures of one run.
#[derive(Debug)]
pub struct Run {
    /// The run's seed.
    pub seed: u64,
    /// The hash of its trace.
    pub hash: Digest,
    /// The simulated time.
    pub simulated: Duration,
    /// The number of events.
    pub events: u64,
    /// The number of tenures.
    pub elections: u64,
    /// The judged properties, with the number of comparisons.
    pub judged: Vec<(PropertyName, u64)>,
    /// The conditions that it met, with the number of times.
    pub sometimes: Vec<(&'static str, u64)>,
    /// The least time between two tenures' permitted writes.
    pub margin: Option<Duration>,
    /// The times between leads.
    pub turnover: Vec<(Interval, Duration)>,
    /// Its failure, if any.
    pub failure: Option<Failure>,
    /// The counts of each kind of fault, by the number of the kind.
    faults: [Ordered; KINDS],
}

/// The number of faults of a kind that were ordered, and of those that had an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "described above")]
pub struct Ordered {
    pub ordered: u64,
    pub effects: u64,
}

/// A run's failure.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Failure {
    /// A property did not hold.
    Violated {
        /// The name of the property.
        property: String,
        /// The time at which it was found.
        at_ns: SimTime,
        /// A description.
        what: String,
        /// The candidates and tokens that it names.
        #[serde(flatten)]
        names: Box<Named>,
        /// All events up to then; empty if this was read from a file.
        #[serde(skip)]
        entries: Vec<Entry>,
    },
    /// The engine can't carry out the plan.
    Refused {
        /// The reason.
        what: String,
    },
    /// The run did not complete.
    Broke {
        /// The reason.
        what: String,
    },
    /// The same plan gave two traces.
    Nondeterministic {
        /// The hash of the first one.
        first: Digest,
        /// The hash of the second one.
        again: Digest,
    },
}

/// The candidates and tokens that the description of a violation names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Named {
    /// The candidates, in the order in which they are named.
    pub candidates: Vec<Who>,
    /// The fencing tokens, likewise.
    pub tokens: Vec<u64>,
}

impl Failure {
    /// A violation, with the events up to then.
    pub(crate) fn of(violation: &Violation, entries: Vec<Entry>) -> Self {
        Self::Violated {
            property: violation.property.to_string(),
            at_ns: violation.at,
            what: violation.finding.to_string(),
            names: Box::new(Named {
                candidates: violation.finding.candidates(),
                tokens: violation.finding.tokens(),
            }),
            entries,
        }
    }
}

impl Run {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            hash: Digest::default(),
            simulated: Duration::ZERO,
            events: 0,
            elections: 0,
            judged: Vec::new(),
            sometimes: Vec::new(),
            margin: None,
            turnover: Vec::new(),
            failure: None,
            faults: [Ordered::default(); KINDS],
        }
    }

    /// A run that did not complete.
    pub fn failed(seed: u64, failure: Failure) -> Self {
        Self { failure: Some(failure), ..Self::new(seed) }
    }

    /// The figures of an outcome.
    pub fn of(plan: &Plan, outcome: &Outcome) -> Self {
        let mut run = Self::new(plan.seed);
        for Entry { event, .. } in outcome.trace.entries() {
            match event {
                Event::Elected { .. } => run.elections += 1,
                Event::Fault { kind, .. } => run.faults[*kind as usize].ordered += 1,
                Event::Effect { kind, .. } => run.faults[*kind as usize].effects += 1,
                _ => {}
            }
        }
        if plan.has(FaultKind::Drift) {
            run.faults[FaultKind::Drift as usize].ordered = 1;
        }
        run.hash = outcome.trace.hash();
        run.simulated = outcome.simulated;
        run.events = outcome.trace.entries().len() as u64;
        run.judged = outcome.judge.judged().collect();
        run.sometimes = outcome.sometimes.counts().into_iter().filter(|met| met.1 > 0).collect();
        run.margin = outcome.margin.least();
        run.turnover = outcome.turnover.measured(plan);
        run.failure = outcome
            .judge
            .violation()
            .map(|violation| Failure::of(violation, up_to(violation.at, outcome.trace.entries())));
        run
    }

    /// The kinds of faults that were ordered in it, with their counts.
    pub fn faults(&self) -> impl Iterator<Item = (FaultKind, Ordered)> + '_ {
        FaultKind::ALL.into_iter().zip(self.faults).filter(|(_, count)| count.ordered > 0)
    }
}

fn up_to(at: SimTime, entries: &[Entry]) -> Vec<Entry> {
    entries[..entries.partition_point(|entry| entry.at <= at)].to_vec()
}

/// Carries out one plan. A panic is a failure like any other: it must not end a campaign.
///
/// # Errors
/// If the plan can't be carried out, or the engine itself breaks down.
pub fn attempt(engine: Engine, plan: &Plan, judging: Judging<'_>) -> Result<Outcome, Failure> {
    let carried_out = std::panic::catch_unwind(AssertUnwindSafe(|| engine.run(plan, judging)));
    match carried_out {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(EngineError::Plan(why))) => Err(Failure::Refused { what: why.to_string() }),
        Ok(Err(error)) => Err(Failure::Broke { what: with_causes(&error) }),
        Err(_) => Err(Failure::Broke { what: "the engine panicked".to_owned() }),
    }
}

/// The text of an error and of its causes.
fn with_causes(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", with_causes(cause)),
        None => error.to_string(),
    }
}

/// The outcome of a plan whose run has failed, or has not. A simulation is carried out once more;
/// of a real run, which does not repeat itself, the events up to the violation are judged again.
///
/// # Errors
/// As for [`attempt`], and the failure itself if it is no violation.
pub fn again(
    engine: Engine,
    plan: &Plan,
    judging: Judging<'_>,
    failure: Option<&Failure>,
) -> Result<Outcome, Failure> {
    match failure {
        Some(Failure::Violated { entries, .. }) if !engine.simulates() => {
            let configs = plan.configs();
            let configs = configs.map_err(|why| Failure::Refused { what: why.to_string() })?;
            let mut outcome = Outcome::of(judging.judge(plan, &configs, engine.tick()));
            for Entry { at, event } in entries {
                outcome.record(*at, event.clone());
            }
            outcome.finish(entries.last().map_or(SimTime::START, |last| last.at));
            Ok(outcome)
        }
        Some(Failure::Violated { .. }) | None => attempt(engine, plan, judging),
        Some(other) => Err(other.clone()),
    }
}

/// Carries out one plan twice. Different traces count for more than the findings of the properties:
/// a failure that can't be reproduced can't be investigated.
///
/// # Errors
/// As for [`attempt`], and if the hashes of the traces differ.
pub fn attempt_twice(
    engine: Engine,
    plan: &Plan,
    judging: Judging<'_>,
) -> Result<Outcome, Failure> {
    let first = attempt(engine, plan, judging)?.trace.hash();
    let outcome = attempt(engine, plan, judging)?;
    let again = outcome.trace.hash();
    if first == again { Ok(outcome) } else { Err(Failure::Nondeterministic { first, again }) }
}
