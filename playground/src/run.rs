//! Runs, and what the page says of them.

use serde::Serialize;
use serde_json::json;
use tenure_sim::evidence::compare::{Contender, Overlap, overlaps};
use tenure_sim::judge::finding::Finding;
use tenure_sim::judge::properties::{PropertyName, Violation};
use tenure_sim::judge::{Judging, Which};
use tenure_sim::plan::{FaultKind, Place, Plan, SimTime, When};
use tenure_sim::report::{RunPage, run_json};
use tenure_sim::search::shrink::{Budget, shrink_by};

use crate::request::Refusal;

/// The most overlaps that a lane shows.
const OVERLAPS_MOST: usize = 100;

/// A fault of the plan, for the page's list.
#[derive(Serialize)]
struct Row {
    kind: FaultKind,
    about: &'static str,
    node: Option<usize>,
    of_store: bool,
    at_ms: u64,
    for_ms: u64,
    lasts: bool,
    /// False if it waits for a point that the run reaches.
    is_timed: bool,
}

/// Runs a plan, and describes the run.
pub(crate) fn run(plan: &Plan, contender: Contender) -> Result<String, Refusal> {
    let outcome = contender.outcome(plan, judging(contender)).map_err(Refusal::of)?;
    let overlaps = overlaps(outcome.trace.entries());
    let mut violations = outcome.judge.violations().to_vec();
    violations.extend(overlaps.iter().take(OVERLAPS_MOST).map(violation));
    let page = RunPage { violations: &violations, ..RunPage::of("model", plan, &outcome) };
    let rows: Vec<Row> = plan
        .faults
        .iter()
        .map(|fault| Row {
            kind: fault.kind(),
            about: fault.kind().about(),
            node: fault.node(),
            of_store: fault.kind().place() == Place::Store,
            at_ms: fault.from_ms(),
            for_ms: fault.for_ms,
            lasts: fault.what.lasts(),
            is_timed: matches!(fault.when, When::AtMs(_)),
        })
        .collect();
    let took = |one: &&Overlap| one.until.since(one.from);
    let longest = overlaps.iter().max_by_key(took);
    let lines = json!({
        "label": label(contender),
        "about": contender.about(),
        "hash": outcome.trace.hash(),
        "overlaps": overlaps.iter().take(OVERLAPS_MOST).map(times).collect::<Vec<_>>(),
        "longest": longest.as_ref().map_or(0, |one| took(one).as_nanos()),
        "two": longest.map(|one| two_leaders(one, overlaps.len())),
        "why": longest.map(|_| why(contender)),
        "faults": rows,
        "ttl_ms": plan.settings.ttl_ms,
        "renew_ms": plan.settings.renew_interval_ms,
        "members": plan.nodes.len(),
        "seed": plan.seed.to_string(),
        "length_ms": plan.calm_from_ms,
    });
    // The run is JSON already.
    Ok(format!("{{\"lines\":{lines},\"run\":{}}}", run_json(&page)))
}

/// Tenure is judged as by the command; the others promise nothing.
fn judging(contender: Contender) -> Judging<'static> {
    match contender {
        Contender::Tenure => Judging::default(),
        _ => Judging::StopAtFirst(Which::Named(&[])),
    }
}

fn violation(overlap: &Overlap) -> Violation {
    let Overlap { from: at, leaders: [one, other], .. } = *overlap;
    let finding = Finding::TwoLeaders { one, other, at };
    Violation { property: PropertyName::SINGLE_LEADER, at, finding }
}

/// The longest of so many overlaps in a sentence.
fn two_leaders(overlap: &Overlap, count: usize) -> String {
    let Overlap { from, until, leaders: [one, other] } = *overlap;
    let [from, until] = [from, until].map(|at| at.since(SimTime::START).as_secs_f64());
    let longest = if count > 1 { format!(", the longest of {count} times") } else { String::new() };
    format!("{:?} and {:?} both lead from {from:.3} s to {until:.3} s{longest}", one.who, other.who)
}

fn times(overlap: &Overlap) -> [SimTime; 2] {
    [overlap.from, overlap.until]
}

/// Searches a small plan in which two members lead as well.
pub(crate) fn shrink(plan: &Plan, contender: Contender, runs: u64) -> Result<Plan, Refusal> {
    let fails = |plan: &Plan| {
        let run = contender.outcome(plan, Judging::StopAtFirst(Which::Named(&[])));
        run.is_ok_and(|run| !overlaps(run.trace.entries()).is_empty())
    };
    if !fails(plan) {
        return Err(Refusal::OneLeader);
    }
    Ok(shrink_by(plan, Budget { runs }, fails, |_| {}).plan)
}

/// The name of an algorithm on the page.
pub(crate) const fn label(contender: Contender) -> &'static str {
    match contender {
        Contender::Tenure => "tenure",
        Contender::KeyFlag => "key with a TTL",
        Contender::KeyFlagOneTimer => "key with a TTL, one timer",
        Contender::ExpiringRow => "expiring row",
        Contender::SessionLock => "session lock",
        Contender::SessionLockEnded => "session lock, ended",
        Contender::HeartbeatRow => "heartbeat row",
        Contender::RenewDeadline => "renew deadline",
    }
}

/// The reason why two members can lead at once.
const fn why(contender: Contender) -> &'static str {
    match contender {
        Contender::Tenure => "The plan breaks an assumption of the promise.",
        Contender::KeyFlag | Contender::KeyFlagOneTimer => {
            "A member leads from one reply to the next, and no clock ends that. The store ends the \
             key by its TTL, and gives it to another member."
        }
        Contender::ExpiringRow => {
            "A member leads from one reply to the next, and no clock ends that. A job deletes the \
             expired row, and another member inserts its own."
        }
        Contender::SessionLock | Contender::SessionLockEnded => {
            "A member leads until it notices that its session has ended. The server ends the \
             session earlier, and gives the lock to another member."
        }
        Contender::HeartbeatRow => {
            "A member leads from one reply to the next, and no clock ends that. Another member \
             takes the row once its heartbeat is old."
        }
        Contender::RenewDeadline => {
            "A store without history grants at once, while the old leader's deadline has not \
             passed."
        }
    }
}
