//! The overload engine: its runs hold, compare something, and are the same each time.

use std::thread;

use tenure_sim::engines::overload::{Plan, properties, run};

/// Few enough that a renewal takes the slow store 40 ms.
const ELECTIONS: u32 = 400;

#[test]
fn overload_costs_no_lead_that_is_held() {
    for seed in 1..=4 {
        let outcome = run(&Plan::drawn(seed, ELECTIONS)).unwrap();
        let violations: Vec<_> =
            outcome.violations.iter().map(|one| (one.property, one.finding.to_string())).collect();
        assert_eq!(violations, [], "seed {seed}");
        assert_eq!(outcome.never_compared().collect::<Vec<_>>(), [], "seed {seed}");
        assert_eq!(outcome.compared.len(), properties::names().count());
        assert!(outcome.leaders >= 400, "all elections have a leader once the store is quick");
    }
}

#[test]
fn a_plan_has_one_trace() {
    let hash = |seed| run(&Plan::drawn(seed, ELECTIONS)).unwrap().hash;
    let first = hash(5);
    assert_eq!(hash(5), first);
    assert_eq!(thread::spawn(move || hash(5)).join().unwrap(), first);
    assert_ne!(hash(6), first);
}
