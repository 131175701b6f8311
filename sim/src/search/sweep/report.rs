//! What a sweep comes to.

use std::time::Duration;

use serde::Serialize;

use super::{Stopped, Sweep};
use crate::judge::Outcome;
use crate::judge::margin::Margin;
use crate::plan::{Fault, Plan};
use crate::search::campaign::{Failure, Verdict, milliseconds};
use crate::trace::{Digest, Event};

/// What came of all runs of a sweep.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The points that the plan's run comes to, with all seeds together.
    pub points: usize,
    /// How many runs there were, the plan's own included.
    pub runs: u64,
    /// Runs in which the last stop did not come about: the point was there, and the run took another way.
    pub missed: u64,
    /// Runs that the bound left out.
    pub left_out: u64,
    /// Runs that failed.
    pub violations: u64,
    /// The first one of them.
    pub found: Option<Found>,
    /// The least time between two tenures' permitted writes, in milliseconds.
    pub margin_ms: Option<f64>,
    /// The stops of the first run that came so close.
    pub margin_at: Vec<Fault>,
    /// A hash of all traces: equal ones mean that the same happened in every run.
    pub hash: Digest,
}

/// A run that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// Its stops.
    pub stops: Vec<Fault>,
    /// Why it failed.
    pub failure: Failure,
    /// Its plan.
    pub plan: Plan,
}

impl Report {
    /// How it ended. Inconclusive, if there was nowhere to stop, or runs were left out.
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

/// The place of a run in a sweep: of its first stop, and of its second. Without any, the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(pub(super) u64, pub(super) u64);

/// What some runs come to. Parts can be put together in any order.
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

    /// Takes in a run that came to its end.
    pub(super) fn add(&mut self, key: Key, plan: &Plan, last: Option<&Stopped>, outcome: &Outcome) {
        self.runs += 1;
        let mut margin = Margin::default();
        let mut is_hit = last.is_none();
        for entry in outcome.trace.entries() {
            margin.observe(entry.at, &entry.event);
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
            let failure = Failure::Violated {
                property: violation.property.to_owned(),
                at_ns: violation.at,
                what: violation.what.clone(),
                entries: Vec::new(),
            };
            self.fails(key, plan, failure);
        }
        if let Some(least) = margin.least() {
            self.comes_close(least, key, plan);
        }
    }

    /// Takes in a run that did not.
    pub(super) fn add_failed(&mut self, key: Key, plan: &Plan, failure: Failure) {
        self.runs += 1;
        self.fails(key, plan, failure);
    }

    /// Takes in what another one has taken in.
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
            self.comes_close(least, key, &plan);
        }
    }

    fn fails(&mut self, key: Key, plan: &Plan, failure: Failure) {
        self.violations += 1;
        if self.found.as_ref().is_none_or(|mine| key < mine.0) {
            self.found = Some((key, plan.clone(), failure));
        }
    }

    fn comes_close(&mut self, least: Duration, key: Key, plan: &Plan) {
        if self.margin.as_ref().is_none_or(|mine| (least, key) < (mine.0, mine.1)) {
            self.margin = Some((least, key, plan.clone()));
        }
    }
}
