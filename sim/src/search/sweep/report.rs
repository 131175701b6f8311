//! The result of a sweep.

use std::time::Duration;

use serde::Serialize;

use super::{Stopped, Sweep};
use crate::judge::Outcome;
use crate::plan::{Fault, Plan};
use crate::search::campaign::{Failure, Verdict, milliseconds};
use crate::trace::{Digest, Event};

/// The sum of all runs of a sweep.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The number of points of the plan's runs with all seeds.
    pub points: usize,
    /// The number of runs, the plan's own included.
    pub runs: u64,
    /// The number of runs that did not reach their last stop, because an earlier one changed their
    /// course.
    pub missed: u64,
    /// The number of runs beyond the bound, which were not carried out.
    pub left_out: u64,
    /// The number of runs that failed.
    pub violations: u64,
    /// The first failed run.
    pub found: Option<Found>,
    /// The least time between two tenures' permitted writes, in milliseconds.
    pub margin_ms: Option<f64>,
    /// The stops of the first run with that margin.
    pub margin_at: Vec<Fault>,
    /// A hash of all traces: two sweeps with equal hashes had equal runs.
    pub hash: Digest,
}

/// A run that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The stops of the run.
    pub stops: Vec<Fault>,
    /// The failure.
    pub failure: Failure,
    /// The plan of the run.
    pub plan: Plan,
}

impl Report {
    /// The verdict. Inconclusive if there were no points, or if runs were omitted.
    pub const fn verdict(&self) -> Verdict {
        if self.violations > 0 {
            Verdict::Violated
        } else if self.points == 0 || self.left_out > 0 {
            Verdict::Inconclusive
        } else {
            Verdict::Held
        }
    }
}

/// The place of a run in a sweep: the numbers of its first and its second stop. Without stops, the
/// seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(pub(super) u64, pub(super) u64);

/// The sum of some runs. Parts can be added in any order.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) runs: u64,
    pub(super) missed: u64,
    pub(super) left_out: u64,
    pub(super) violations: u64,
    found: Option<(Key, Plan, Failure)>,
    margin: Option<(Duration, Key, Plan)>,
    hash: Digest,
}

impl Part {
    pub(super) fn report(self, points: usize, of: &Sweep) -> Report {
        let stops = |plan: &Plan| plan.faults[of.plan.faults.len()..].to_vec();
        let found =
            self.found.map(|(_, plan, failure)| Found { stops: stops(&plan), failure, plan });
        let margin = self.margin.as_ref();
        Report {
            points,
            runs: self.runs,
            missed: self.missed,
            left_out: self.left_out,
            violations: self.violations,
            found,
            margin_ms: margin.map(|(least, ..)| milliseconds(*least)),
            margin_at: margin.map_or_else(Vec::new, |(_, _, plan)| stops(plan)),
            hash: self.hash,
        }
    }

    /// Adds a run that completed.
    pub(super) fn add(&mut self, key: Key, plan: &Plan, last: Option<&Stopped>, outcome: &Outcome) {
        self.runs += 1;
        let mut is_hit = last.is_none();
        for entry in outcome.trace.entries() {
            is_hit |= last.is_some_and(|last| {
                let Event::Fault { kind, .. } = entry.event else { return false };
                kind == last.fault.kind() && entry.at == last.spot.at
            });
        }
        self.missed += u64::from(!is_hit);
        let mut hash = Digest::default();
        hash.add_run(key.1, outcome.trace.hash());
        self.hash.add_run(key.0, hash);
        if let Some(violation) = outcome.judge.violation() {
            self.fails(key, plan, Failure::of(violation, Vec::new()));
        }
        if let Some(least) = outcome.margin.least() {
            self.note_margin(least, key, plan);
        }
    }

    /// Adds a run that did not complete.
    pub(super) fn add_failed(&mut self, key: Key, plan: &Plan, failure: Failure) {
        self.runs += 1;
        self.fails(key, plan, failure);
    }

    /// Adds another part.
    pub(super) fn absorb(&mut self, other: Self) {
        self.runs += other.runs;
        self.missed += other.missed;
        self.left_out += other.left_out;
        self.violations += other.violations;
        self.hash.add(other.hash);
        if let Some(found) = other.found
            && self.found.as_ref().is_none_or(|mine| found.0 < mine.0)
        {
            self.found = Some(found);
        }
        if let Some((least, key, plan)) = other.margin {
            self.note_margin(least, key, &plan);
        }
    }

    fn fails(&mut self, key: Key, plan: &Plan, failure: Failure) {
        self.violations += 1;
        if self.found.as_ref().is_none_or(|mine| key < mine.0) {
            self.found = Some((key, plan.clone(), failure));
        }
    }

    fn note_margin(&mut self, least: Duration, key: Key, plan: &Plan) {
        if self.margin.as_ref().is_none_or(|mine| (least, key) < (mine.0, mine.1)) {
            self.margin = Some((least, key, plan.clone()));
        }
    }
}
