//! The engine of many elections: its runs hold, compare something, and are the same each time.

use std::collections::BTreeMap;
use std::thread;

use tenure_sim::engines::overload::{FaultKind, Plan, Shell, properties, run};
use tenure_sim::judge::properties::PropertyName;

/// Few enough that a renewal takes the slow store 40 ms.
const ELECTIONS: u32 = 400;

#[test]
fn overload_costs_no_lead_that_is_held() {
    let (mut stuck, mut handed_over) = (0, 0);
    for seed in 1..=4 {
        let plan = Plan::drawn(seed, ELECTIONS);
        let outcome = run(&plan);
        stuck += plan.stuck;
        handed_over += outcome.handed_over;
        let violations: Vec<_> =
            outcome.violations.iter().map(|one| (one.property, one.finding.to_string())).collect();
        assert_eq!(violations, [], "seed {seed}");
        assert_eq!(outcome.never_compared().collect::<Vec<_>>(), [], "seed {seed}");
        assert_eq!(outcome.compared.len(), properties::names(&plan).count());
        let compared = |name| outcome.compared.iter().find(|(of, _)| *of == name).unwrap().1;
        let joined = u64::from(plan.elections + plan.standbys + plan.commanded);
        assert!(compared(PropertyName::DRIVER_RUNS_ON) > joined, "candidates stop and join again");
        let answered = usize::try_from(ELECTIONS - plan.stuck).unwrap();
        assert!(outcome.leaders >= answered, "all have a leader once the store is quick");
    }
    assert!(stuck > 0 && handed_over > 0, "{stuck} stuck elections, {handed_over} handovers");
}

#[test]
fn a_plan_has_one_trace() {
    let hash = |seed| run(&Plan::drawn(seed, ELECTIONS)).hash;
    let first = hash(5);
    assert_eq!(hash(5), first);
    assert_eq!(thread::spawn(move || hash(5)).join().unwrap(), first);
    assert_ne!(hash(6), first);
}

/// With faults of process and store, a driver loses nothing, tells nothing twice, cancels nothing
/// that is wanted; and of each election one candidate leads at most.
#[test]
fn faults_break_nothing() {
    let mut compared = BTreeMap::new();
    for seed in 1..=60 {
        let plan = Plan::faulty(seed);
        let outcome = run(&plan);
        let violations: Vec<_> =
            outcome.violations.iter().map(|one| (one.property, one.finding.to_string())).collect();
        assert_eq!(violations, [], "seed {seed}");
        for (name, times) in outcome.compared {
            *compared.entry(name).or_insert(0) += times;
        }
    }
    assert_eq!(compared.len(), properties::names(&Plan::faulty(1)).count());
    assert!(compared.values().all(|times| *times > 500), "{compared:?}");
}

/// One candidate of each process, in a contest of pauses and slow requests.
fn contest(seed: u64, shell: Shell) -> Plan {
    let mut plan = Plan { shell, ..Plan::faulty(seed) };
    (plan.elections, plan.commanded, plan.standbys) = (1, 0, 1);
    for fault in &mut plan.faults {
        fault.kind = match (fault.kind.stops(), shell) {
            (true, Shell::ResumesLate) => fault.kind,
            (true, Shell::Right | Shell::ReadsEarly) => FaultKind::Paused,
            (false, _) => FaultKind::Slow,
        };
    }
    plan
}

/// Some seed shows that the shell is wrong; up to it, the right one shows nothing.
fn lets_two_lead(shell: Shell) {
    let two_lead = |plan: &Plan| {
        run(plan).violations.iter().any(|one| one.property == PropertyName::SINGLE_LEADER)
    };
    let shows = (1..2_000).find(|seed| {
        let wrong = contest(*seed, shell);
        let right = Plan { shell: Shell::Right, ..wrong.clone() };
        assert!(!two_lead(&right), "seed {seed}");
        two_lead(&wrong)
    });
    assert!(shows.is_some(), "no seed shows it");
}

/// The dangerous line: a shell that reads its clock before it takes an answer stamps the answer too
/// early, so that its candidate's watch is too short.
#[test]
fn a_clock_that_is_read_too_early_lets_two_lead() {
    lets_two_lead(Shell::ReadsEarly);
}

/// The time of a suspend counts as watched, if the clock was set ahead in it.
#[test]
fn a_suspend_that_is_reported_late_lets_two_lead() {
    lets_two_lead(Shell::ResumesLate);
}
