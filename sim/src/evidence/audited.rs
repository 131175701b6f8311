//! Runs of the model engine, judged as an audit judges real logs: each process writes what
//! `tenure::trace` would have written, by its own clock, and nothing else is known.
//!
//! Within the assumptions an audit must find nothing, and planted bugs show what it can find.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::Duration;

use serde::Serialize;
use tenure_core::Instant;

use crate::audit::log::{self, Claim, End, Header, Line, Outcome, Write};
use crate::audit::{Audit, Compared, Report, Settings, Violation};
use crate::engines::Engine;
use crate::judge::{Judging, Which};
use crate::plan::clock::Clock;
use crate::plan::draw::Draw;
use crate::plan::{Assumption, FaultKind, NANOSECOND, Plan, Scope, SimTime, swarm};
use crate::search::campaign::{Failure, attempt};
use crate::search::pool;
use crate::trace::{Entry, Event, Reason, Trace, Who};

/// The largest error of each machine's wall clock.
const UNCERTAINTY: Duration = Duration::from_millis(1);
/// The interval of clock comparisons.
const CLOCK_EVERY: Duration = Duration::from_secs(10);
/// The wall clock's reading at the beginning of a run: some day in 2026.
const WALL: u64 = 1_764_000_000_000_000_000;
/// The election of every run.
const KEY: &str = "job";
/// The resource that leaders write to.
const RESOURCE: &str = "sink";

/// True if an audit of such a run must find nothing: all that single leaders, tokens and fences
/// rest on is kept, and the clocks stay within their bounds in both directions.
pub fn is_within_assumptions(plan: &Plan) -> bool {
    const OTHERS: [Assumption; 2] = [Assumption::PromptEffects, Assumption::TakeOverFirst];
    let bound = |node| i64::from(plan.settings_of(node).drift_ppm);
    let mut nodes = plan.nodes.iter().enumerate();
    plan.broken().iter().all(|broken| OTHERS.contains(broken))
        && nodes.all(|(node, of)| of.clock_rate_ppm.abs() <= bound(node))
}

/// The plan of a seed, with the kinds of faults that an audit's assumptions permit whatever else is
/// drawn.
pub fn plan(seed: u64) -> Plan {
    let permitted =
        |kind: &FaultKind| !kind.is_beyond_the_assumptions() && *kind != FaultKind::StoreClockBack;
    let kinds: Vec<_> = Scope::Model.kinds().into_iter().filter(permitted).collect();
    swarm(seed, &kinds, Scope::Model)
}

/// The audit of the logs of a plan's run.
///
/// # Errors
/// If the run fails.
pub fn audited(plan: &Plan) -> Result<Report, Failure> {
    let judging = Judging::KeepJudging(Which::Named(&[]));
    let outcome = attempt(Engine::Model, plan, judging)?;
    let broke = |what: String| Failure::Broke { what };
    let mut audit = Audit::new(Settings { uncertainty: Some(UNCERTAINTY), ..Settings::default() });
    for (name, text) in logs(plan, &outcome.trace) {
        audit.read(&name, text.as_bytes()).map_err(|error| broke(error.to_string()))?;
    }
    audit.judge().map_err(|error| broke(error.to_string()))
}

/// The log of each process, with its name.
pub fn logs(plan: &Plan, trace: &Trace) -> Vec<(String, String)> {
    let mut processes: BTreeMap<Who, Process> = BTreeMap::new();
    let mut dead: BTreeSet<Who> = BTreeSet::new();
    for Entry { at, event } in trace.entries() {
        let Some(who) = writer(event) else { continue };
        if let Event::Crashed { who } = event {
            dead.insert(*who);
        } else if !dead.contains(&who) {
            let process = processes.entry(who).or_insert_with(|| Process::new(plan, who));
            process.writes(*at, event);
        }
    }
    processes.into_iter().map(|(who, process)| (format!("{who:?}"), process.text)).collect()
}

/// The process whose log an event is for.
const fn writer(event: &Event) -> Option<Who> {
    match event {
        Event::Elected { who, .. }
        | Event::Renewed { who, .. }
        | Event::SteppedDown { who, .. }
        | Event::Wrote { who, .. }
        | Event::Crashed { who } => Some(*who),
        _ => None,
    }
}

/// A process that writes a log.
struct Process {
    who: Who,
    clock: Clock,
    drift_ppm: u32,
    /// The wall clock's error.
    ahead: u64,
    clock_due: u64,
    text: String,
}

impl Process {
    fn new(plan: &Plan, who: Who) -> Self {
        let node = plan.nodes[who.node];
        let most = 2 * UNCERTAINTY.subsec_nanos();
        let ahead = Draw::new(plan.seed, "wall clock", who.node as u64).within(0..=most.into());
        Self {
            who,
            clock: Clock::new(Duration::from_millis(node.clock_offset_ms), node.clock_rate_ppm),
            drift_ppm: plan.settings_of(who.node).drift_ppm,
            ahead,
            clock_due: 0,
            text: String::new(),
        }
    }

    fn writes(&mut self, at: SimTime, event: &Event) {
        self.compares_clocks(at);
        let (id, key, now) = (0, KEY.into(), self.read(at));
        let name = || format!("{:?}", self.who).into();
        let line = match *event {
            Event::Elected { token, claim_ends, .. } => {
                let left = self.left(at, claim_ends);
                Line::Elected(Claim { at: now, id, key, name: name(), token, left })
            }
            Event::Renewed { token, claim_ends, .. } => {
                let left = self.left(at, claim_ends);
                Line::Renewed(Claim { at: now, id, key, name: name(), token, left })
            }
            Event::SteppedDown { token, reason, .. } => {
                let reason = in_words(reason).into();
                Line::SteppedDown(End { at: now, id, key, token, reason })
            }
            Event::Wrote { token, checked, accepted_by_fenced, .. } => {
                let outcome = if accepted_by_fenced { Outcome::Accepted } else { Outcome::Refused };
                let (began, resource) = (self.read(checked), RESOURCE.into());
                Line::Write(Write { began, at: now, id, key, token, resource, outcome })
            }
            _ => return,
        };
        self.line(&line);
    }

    /// The header, and a line about the clocks now and then.
    fn compares_clocks(&mut self, at: SimTime) {
        let now = self.read(at);
        if now < self.clock_due {
            return;
        }
        let is_first = self.clock_due == 0;
        self.clock_due = now + u64::try_from(CLOCK_EVERY.as_nanos()).unwrap_or(u64::MAX);
        let error = u64::from(UNCERTAINTY.subsec_nanos());
        let (at, within, wall) = (now, 0, WALL + at.as_nanos() + self.ahead - error);
        let (drift_ppm, node) = (self.drift_ppm, self.who.node);
        if is_first {
            let boot = Some(format!("boot-{node}").into());
            let (format, host, pid) = (log::FORMAT, format!("host-{node}").into(), self.who.life);
            let header = Header { format, boot, host, pid, drift_ppm, at, within, wall };
            self.line(&Line::Header(header));
        } else {
            self.line(&Line::Clock(log::Clock { at, within, wall, drift_ppm }));
        }
    }

    fn read(&self, at: SimTime) -> u64 {
        self.clock.read(at).as_nanos()
    }

    /// The validity that remains, by the process's clock: the first reading at which the claim is
    /// over is one above the last one before.
    fn left(&self, at: SimTime, claim_ends: SimTime) -> u64 {
        let last = self.clock.read(claim_ends - NANOSECOND);
        let until = last + NANOSECOND;
        let left = until.since(Instant::from_nanos(self.read(at)));
        u64::try_from(left.as_nanos()).unwrap_or(u64::MAX)
    }

    fn line(&mut self, line: &Line<'_>) {
        // Such a line has no maps with other keys than texts, and writing to a string does not
        // fail.
        if let Ok(text) = serde_json::to_string(line) {
            let _ = writeln!(self.text, "{text}");
        }
    }
}

const fn in_words(reason: Reason) -> &'static str {
    match reason {
        Reason::Expired => "expired",
        Reason::Superseded => "superseded",
        Reason::Resigned => "resigned",
        Reason::RenewFailed => "renew-failed",
        Reason::HandedOver => "handed-over",
        Reason::Other => "other",
    }
}

/// The audits of many runs.
#[derive(Debug, Default, Serialize)]
pub struct Audits {
    /// The number of runs that were audited.
    pub runs: u64,
    /// Seeds whose plans break an assumption, and were left out.
    pub left_out: u64,
    /// Runs that failed.
    pub broke: u64,
    /// Lines of all logs.
    pub lines: u64,
    /// Tenures of all runs.
    pub tenures: u64,
    /// Each property's comparisons.
    pub properties: BTreeMap<&'static str, Compared>,
    /// The lowest seed in which each property was violated, the number of such runs, and the
    /// violation.
    pub violated: BTreeMap<&'static str, (u64, u64, Violation)>,
}

impl Audits {
    /// Audits the runs of that many seeds, from 1 on.
    pub fn of_seeds(count: u64, jobs: usize) -> Self {
        let one = |sum: &mut Self, number: u64| {
            sum.seed(number + 1);
            ControlFlow::Continue(())
        };
        pool::fold(jobs, count, Self::default, one, Self::merge)
    }

    fn seed(&mut self, seed: u64) {
        let plan = plan(seed);
        if !is_within_assumptions(&plan) {
            self.left_out += 1;
            return;
        }
        let Ok(report) = audited(&plan) else {
            self.broke += 1;
            return;
        };
        let mut one = Self {
            runs: 1,
            lines: report.lines,
            tenures: report.tenures,
            properties: report.properties,
            ..Self::default()
        };
        for violation in report.violations {
            one.violated.entry(violation.property).or_insert((seed, 1, violation));
        }
        self.merge(one);
    }

    fn merge(&mut self, more: Self) {
        self.runs += more.runs;
        self.left_out += more.left_out;
        self.broke += more.broke;
        self.lines += more.lines;
        self.tenures += more.tenures;
        for (property, counts) in more.properties {
            let all = self.properties.entry(property).or_default();
            all.compared += counts.compared;
            all.undecided += counts.undecided;
        }
        for (property, (seed, runs, violation)) in more.violated {
            let all = self.violated.entry(property).or_insert((seed, 0, violation.clone()));
            all.1 += runs;
            if seed < all.0 {
                (all.0, all.2) = (seed, violation);
            }
        }
    }
}
