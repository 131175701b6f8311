//! Whole runs: their work, their requests, their settings, and their determinism.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_sim::engines::turmoil::{TICK, run};
use tenure_sim::judge::Judging;
use tenure_sim::plan::{
    FaultKind, LinkFault, Plan, ProcessFault, Scope, Settings, SimTime, Work, swarm,
};
use tenure_sim::trace::{Answer, Entry, Event, StoreStep};

use super::{CALM_MS, at, began, carry_out, healed, ms, places, plan, the_one, time};

#[test]
fn a_write_lands_even_after_a_crash() {
    let mut slow = plan(vec![at(4_000, 100, ProcessFault::Crash { power: false }.at(None))]);
    slow.work = Work { every_ms: 30, takes_us: 29_100, reads_first: false };
    let outcome = run(&slow, Judging::default()).unwrap();
    assert_eq!(outcome.judge.violation(), None);
    let crashed = the_one(&outcome, |event| matches!(event, Event::Crashed { .. }));
    let lands = |entry: &Entry| match entry.event {
        Event::Wrote { checked, .. } => Some(entry.at.since(checked)),
        _ => None,
    };
    let entries = outcome.trace.entries();
    assert!(entries.iter().filter_map(lands).all(|took| took == Duration::from_millis(30)));
    let Event::Crashed { who: gone } = entries[crashed].event else { panic!("no crash") };
    let afterwards = |entry: &Entry| matches!(entry.event, Event::Wrote { who, .. } if who == gone);
    assert_eq!(entries[crashed..].iter().filter(|entry| afterwards(entry)).count(), 1);
}

#[test]
fn a_leader_hands_over_in_the_recovery_phase() {
    let handed = Plan { handover: true, ..plan(vec![]) };
    let outcome = carry_out(&handed);
    let asked = the_one(&outcome, |event| matches!(event, Event::ResignAsked { .. }));
    assert!(time(&outcome, asked) > ms(CALM_MS));
    let later = |event: &Event| matches!(event, Event::Leads { .. });
    let leads = places(&outcome, later);
    let successor = *leads.iter().find(|place| **place > asked).unwrap();
    let renewals = Duration::from_millis(3 * handed.settings.renew_interval_ms);
    assert_eq!(time(&outcome, successor) + renewals, SimTime::START + outcome.simulated);
}

#[test]
fn every_call_is_answered_once_or_dropped() {
    let outcome = carry_out(&plan(vec![at(3_000, 1_000, LinkFault::Hold.at(Some(0)))]));
    let mut open = std::collections::BTreeMap::new();
    let mut answered = 0;
    for Entry { event, .. } in outcome.trace.entries() {
        match *event {
            Event::Sent { who, id, request } => {
                let last = open.insert((who, id), request);
                assert!(last.is_none() && id >= 1);
            }
            Event::Answered { who, id, .. } => {
                answered += 1;
                assert!(open.remove(&(who, id)).is_some());
            }
            _ => {}
        }
    }
    assert!(answered > 20 && !open.is_empty(), "{answered} answered, {} not", open.len());
}

#[test]
fn nodes_have_settings_of_their_own() {
    let mut differ = plan(vec![]);
    let longer = Settings::of_ttl(Duration::from_secs(3)).unwrap();
    differ.nodes[1].settings = Some(longer);
    differ.settings.quarantine_ms = longer.quarantine_ms;
    let outcome = carry_out(&differ);
    let granted = |entry: &Entry| match &entry.event {
        Event::Store(StoreStep { answer: Answer::Granted { .. }, after, .. }) => {
            after.map(|kept| kept.lease_ends.since(entry.at).as_millis())
        }
        _ => None,
    };
    let watches: BTreeSet<u128> = outcome.trace.entries().iter().filter_map(granted).collect();
    // A clock that is fast by a hundredth counts 1 s and 3 s.
    assert!(watches.iter().all(|millis| [990, 2_970].contains(millis)), "{watches:?}");
    assert!(!watches.is_empty());
    assert_eq!(TICK, Duration::from_millis(1));
}

#[test]
fn a_plan_has_one_trace() {
    for seed in 100..104 {
        let plan = swarm(seed, &FaultKind::ALL, Scope::Turmoil);
        let hash = || run(&plan, Judging::default()).unwrap().trace.hash();
        assert_eq!(hash(), hash(), "seed {seed}");
    }
}

#[test]
fn drawn_plans_hold() {
    for seed in 0..20 {
        let plan = swarm(seed, &FaultKind::ALL, Scope::Turmoil);
        let outcome = run(&plan, Judging::default()).unwrap();
        assert_eq!(outcome.judge.violation(), None, "seed {seed}");
        let calm = |event: &Event| matches!(event, Event::Calm);
        assert_eq!(places(&outcome, calm).len(), 1, "seed {seed}");
        for kind in FaultKind::ALL {
            let begins = places(&outcome, began(kind)).len();
            let ends = places(&outcome, healed(kind)).len();
            assert!(ends == 0 || ends == begins, "seed {seed}: {begins} {kind}, {ends} healed");
        }
    }
}
