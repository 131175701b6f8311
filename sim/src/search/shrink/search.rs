//! The smallest failing plan found so far, and what may still be tried.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_128;

use super::{Budget, Smallest};
use crate::plan::{Assumption, Plan};

/// How far shrinking has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many plans were run.
    pub runs: u64,
    /// How many may be run at most.
    pub most: u64,
    /// The faults of the smallest plan that fails.
    pub faults: usize,
    /// Its nodes.
    pub nodes: usize,
}

pub(super) struct Search<F, P> {
    best: Plan,
    /// What the first plan breaks: a smaller one may break less, and never anything else.
    broken: Vec<Assumption>,
    /// By their hash. None is tried twice, so that passes can neither waste runs nor go in circles.
    tried: BTreeSet<u128>,
    fails: F,
    progress: P,
    runs: u64,
    most: u64,
}

impl<F: FnMut(&Plan) -> bool, P: FnMut(Progress)> Search<F, P> {
    pub(super) fn new(plan: &Plan, budget: Budget, fails: F, progress: P) -> Self {
        Self {
            best: plan.clone(),
            broken: plan.broken(),
            tried: BTreeSet::from([hash(plan)]),
            fails,
            progress,
            runs: 0,
            most: budget.runs,
        }
    }

    pub(super) const fn best(&self) -> &Plan {
        &self.best
    }

    pub(super) const fn is_spent(&self) -> bool {
        self.runs >= self.most
    }

    pub(super) fn ended(self) -> Smallest {
        let done = !self.is_spent();
        Smallest { plan: self.best, runs: self.runs, done }
    }

    /// Tries the plan with a change. Keeps it if it still fails.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Plan)) -> bool {
        let mut smaller = self.best.clone();
        change(&mut smaller);
        self.take(smaller)
    }

    /// Tries a plan. Keeps it if it fails.
    pub(super) fn take(&mut self, smaller: Plan) -> bool {
        if self.is_spent() || !self.may_be(&smaller) || !self.tried.insert(hash(&smaller)) {
            return false;
        }
        self.runs += 1;
        let fails = (self.fails)(&smaller);
        if fails {
            self.best = smaller;
        }
        (self.progress)(Progress {
            runs: self.runs,
            most: self.most,
            faults: self.best.faults.len(),
            nodes: self.best.nodes.len(),
        });
        fails
    }

    fn may_be(&self, smaller: &Plan) -> bool {
        smaller.check().is_ok() && smaller.broken().iter().all(|one| self.broken.contains(one))
    }
}

/// With so many bits no two plans of one search share one.
fn hash(plan: &Plan) -> u128 {
    xxh3_128(plan.to_text().as_bytes())
}
