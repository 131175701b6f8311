//! Carries out the plan of one seed, once or twice, and shrinks it after a failure.

use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::variables::{RUNS, SEED};
use super::{Failed, Page, Simulation};
use crate::engines::EngineError;
use crate::engines::panics::{message, quietly};
use crate::plan::Plan;
use crate::report::{RunPage, run_page};
use crate::search::campaign::{Failure, Run};
use crate::search::shrink::{Budget, shrink_by};
use crate::trace::{Digest, Hasher};

/// Every run whose seed is a multiple of this is carried out twice.
const TWICE_EVERY: u64 = 32;

/// The budget for a plan whose run panics: to catch a panic takes a while.
const PANICS: Budget = Budget { runs: 100 };

impl Simulation {
    pub(super) fn one(&self, seed: u64) -> Run {
        let plan = self.subject.plan(seed, &self.faults);
        let once = if seed.is_multiple_of(TWICE_EVERY) {
            self.attempt_twice(&plan)
        } else {
            self.attempt(&plan).map(|(run, _)| run)
        };
        once.unwrap_or_else(|failure| Run::failed(seed, failure))
    }

    fn attempt(&self, plan: &Plan) -> Result<(Run, Digest), Failure> {
        let carry_out = || {
            let (outcome, digest) = self.subject.carry_out(plan)?;
            Ok((Run::of(plan, &outcome), digest))
        };
        match quietly(|| catch_unwind(AssertUnwindSafe(carry_out))) {
            Ok(Ok(run)) => Ok(run),
            Ok(Err(EngineError::Plan(why))) => Err(Failure::Refused { what: why.to_string() }),
            Ok(Err(error)) => Err(Failure::Broke { what: error.to_string() }),
            Err(panic) => Err(Failure::Broke { what: format!("panicked: {}", message(&*panic)) }),
        }
    }

    /// Carries a plan out twice. Different traces are reported before any other failure, because
    /// such a failure could not be reproduced.
    pub(super) fn attempt_twice(&self, plan: &Plan) -> Result<Run, Failure> {
        let (first, again) = (self.attempt(plan), self.attempt(plan));
        let digest = |attempt: &Result<(Run, Digest), Failure>| {
            attempt.as_ref().map_or_else(of_failure, |(run, digest)| {
                let mut digest = *digest;
                digest.add(run.failure.as_ref().map_or_else(Digest::default, of_failure));
                digest
            })
        };
        let (first, digest_again) = (digest(&first), digest(&again));
        if first == digest_again {
            again.map(|(run, _)| run)
        } else {
            Err(Failure::Nondeterministic { first, again: digest_again })
        }
    }

    /// Shrinks the plan of a failed seed, and describes the failure.
    pub(super) fn failed(&self, seed: u64, failure: Failure) -> Failed {
        let plan = self.subject.plan(seed, &self.faults);
        match self.attempt_twice(&plan) {
            Err(failure @ Failure::Nondeterministic { .. }) => {
                return Failed { seed, plan, failure, page: None };
            }
            Ok(Run { failure: None, hash, .. }) => {
                let failure =
                    Failure::Nondeterministic { first: of_failure(&failure), again: hash };
                return Failed { seed, plan, failure, page: None };
            }
            Ok(_) | Err(_) => {}
        }
        if let Failure::Nondeterministic { .. } | Failure::Refused { .. } = failure {
            return Failed { seed, plan, failure, page: None };
        }
        let plan = self.smallest(&plan, &failure);
        let failure = self.failure_of(&plan).unwrap_or(failure);
        self.repeat_panic(&plan, &failure);
        let page = self.page(&plan, Some(seed));
        Failed { seed, plan, failure, page }
    }

    /// Repeats a run that panics, with the message, and a backtrace if that is configured.
    pub(super) fn repeat_panic(&self, plan: &Plan, failure: &Failure) {
        if let Failure::Broke { .. } = failure {
            let _ = catch_unwind(AssertUnwindSafe(|| self.subject.carry_out(plan)));
        }
    }

    fn failure_of(&self, plan: &Plan) -> Option<Failure> {
        self.attempt(plan).map_or_else(Some, |(run, _)| run.failure)
    }

    /// A smaller plan with the same kind of failure.
    fn smallest(&self, plan: &Plan, failure: &Failure) -> Plan {
        let budget = match failure {
            Failure::Broke { .. } => PANICS,
            _ => self.subject.budget(),
        };
        let fails_alike = |smaller: &Plan| {
            self.failure_of(smaller).is_some_and(|other| is_alike(&other, failure))
        };
        shrink_by(plan, budget, fails_alike, |_| {}).plan
    }

    /// The page of the run of a plan, with the seed that it was found by; `None` if it has no trace.
    pub(super) fn page(&self, plan: &Plan, found_by: Option<u64>) -> Option<Page> {
        let run = quietly(|| catch_unwind(AssertUnwindSafe(|| self.subject.carry_out(plan))));
        let (outcome, _) = run.ok()?.ok()?;
        let mut page = RunPage::of(self.subject.engine().name(), plan, &outcome);
        "Simulation::replay, with the plan below".clone_into(&mut page.again);
        if let Some(seed) = found_by {
            page.seed = seed;
            page.again = format!("{SEED}={seed} {RUNS}=1, or {}", page.again);
        }
        Some(Page(run_page(&page)))
    }
}

/// True if two failures are of the same kind.
fn is_alike(one: &Failure, other: &Failure) -> bool {
    match (one, other) {
        (Failure::Violated { property, .. }, Failure::Violated { property: other, .. }) => {
            property == other
        }
        (Failure::Broke { .. }, Failure::Broke { .. }) => true,
        _ => false,
    }
}

fn of_failure(failure: &Failure) -> Digest {
    let mut hasher = Hasher::default();
    match failure {
        Failure::Violated { property, at_ns, what, .. } => {
            (property, at_ns, what).hash(&mut hasher);
        }
        Failure::Refused { what } | Failure::Broke { what } => what.hash(&mut hasher),
        Failure::Nondeterministic { first, again } => (first, again).hash(&mut hasher),
    }
    hasher.digest()
}
