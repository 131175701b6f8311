//! The overload engine: its runs hold, compare something, and are the same each time.

use std::thread;

use tenure_sim::engines::overload::{Plan, properties, run};
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
        assert_eq!(outcome.compared.len(), properties::names().count());
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
