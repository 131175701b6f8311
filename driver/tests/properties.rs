//! The properties of every run; the checks themselves are in `world`.

use tenure_driver::InCall;

use crate::world::{Draw, Plan, Seen, Shell, World};

fn plan(seed: u64) -> Plan {
    let mut draw = Draw::new(seed ^ 0x706c_616e);
    let several = usize::try_from(1 + draw.below(4)).unwrap();
    Plan {
        seed,
        processes: 2,
        keys: u8::try_from(1 + draw.below(6)).unwrap(),
        elections: 1 + draw.below(12),
        in_call: InCall { renewals: several, looks: several, acquires: several },
        faults: 6,
        pauses_ms: 3_000,
        ahead_ms: 3_000,
        slow_one_in: 40,
        shell: Shell::Right,
        hashes: false,
    }
}

/// Inputs are not lost, ends are reported once, deadlines follow from the state, turns end, calls
/// are cancelled only if nothing in them is wanted, and one candidate leads at most.
#[test]
fn every_run_keeps_the_properties() {
    let mut all = Seen::default();
    for seed in 0..150 {
        let plan = plan(seed);
        let (seen, two_led, _) = World::run(plan);
        assert!(!two_led, "{plan:?}");
        all.add(seen);
    }
    // A check that nothing has reached says nothing.
    let counts = [
        all.elected,
        all.cancelled,
        all.answered_in_part,
        all.batches,
        all.described,
        all.unanswered_questions,
        all.silent,
        all.work_lost,
        all.ran_out,
    ];
    assert!(counts.iter().all(|count| *count > 20), "{all:?}");
}

#[test]
fn equal_inputs_give_equal_actions() {
    for seed in 0..20 {
        let plan = Plan { hashes: true, ..plan(seed) };
        assert_eq!(World::run(plan), World::run(plan));
    }
}

/// One candidate of each process, which are often paused.
fn contest(seed: u64) -> Plan {
    let plan = plan(seed);
    Plan { keys: 1, elections: 1, faults: 12, pauses_ms: 7_000, slow_one_in: 3, ..plan }
}

/// Some seed shows that the shell is wrong; up to it, the right one shows nothing.
fn lets_two_lead(shell: Shell) {
    let wrong = |seed: &u64| World::run(Plan { shell, ..contest(*seed) }).1;
    let first = (0..10_000).find(wrong).expect("some seed shows it");
    assert!((0..=first).all(|seed| !World::run(contest(seed)).1));
}

/// The dangerous line: a shell that reads its clock before it takes an answer stamps the answer too
/// early, so that its candidate's watch is too short.
#[test]
fn a_clock_that_is_read_too_early_lets_two_lead() {
    lets_two_lead(Shell::ReadsOnce);
}

/// The time of a suspend counts as watched, if the clock was set ahead in it.
#[test]
fn a_suspend_that_is_reported_late_lets_two_lead() {
    lets_two_lead(Shell::ResumesLate);
}
