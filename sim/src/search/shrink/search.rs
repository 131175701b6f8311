//! The smallest failing plan so far, and the plans that were tried.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_128;

use super::{Budget, Smallest};
use crate::plan::{Assumption, Plan};

/// The progress of shrinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of runs.
    pub runs: u64,
    /// The most runs that the budget allows.
    pub most: u64,
    /// The number of faults of the smallest failing plan.
    pub faults: usize,
    /// The number of its nodes.
    pub nodes: usize,
}

pub(super) struct Search<F, P> {
    best: Plan,
    /// The assumptions that the first plan breaks: a smaller one may break some of them, and no
    /// others.
    broken: Vec<Assumption>,
    /// The hashes of the tried plans. None is tried twice, so passes can neither waste runs nor
    /// loop forever.
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

/// A hash with so many bits that no two plans of one search share it.
fn hash(plan: &Plan) -> u128 {
    xxh3_128(plan.to_text().as_bytes())
}
