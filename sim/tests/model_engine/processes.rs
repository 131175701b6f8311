//! Faults of processes and machines.

use tenure_sim::engines::Engine;
use tenure_sim::judge::Judging;
use tenure_sim::plan::{FaultKind, ProcessFault};
use tenure_sim::trace::Event;

use super::{TTL_MS, at, ends, held, leads, seen, with};

const LATER: u64 = 2 * TTL_MS;

#[test]
fn a_paused_lead_ends_by_its_clock() {
    for what in [ProcessFault::Pause.at(None), ProcessFault::Suspend.at(None)] {
        let entries = held(&with(&[at(LATER, 2 * TTL_MS, what)]));
        let (leads, ends) = (leads(&entries), ends(&entries));
        assert_eq!(leads.len(), 2, "{leads:?}");
        assert!(ends[0].0 < leads[1].0 && ends[0].0 < LATER + TTL_MS, "{ends:?} {leads:?}");
        let first = leads[0].1;
        let reported = seen(&entries, |event| match event {
            Event::SteppedDown { who, .. } => Some(who.node),
            Event::Sent { who, .. } if who.node == first => Some(usize::MAX),
            _ => None,
        });
        let during = |at| (LATER + 1..LATER + 2 * TTL_MS).contains(&at);
        assert!(reported.iter().all(|(at, who)| !during(*at) || *who != first), "{reported:?}");
    }
}

#[test]
fn a_crashed_leader_restarts_as_another_candidate() {
    let entries = held(&with(&[at(LATER, TTL_MS, ProcessFault::Crash { power: true }.at(None))]));
    let started = seen(&entries, |event| match event {
        Event::Started { who } => Some((who.node, who.life)),
        _ => None,
    });
    let first = leads(&entries)[0].1;
    assert!(started.contains(&(LATER + TTL_MS, (first, 1))), "{started:?}");
}

#[test]
fn a_leader_that_resigns_hands_over_within_milliseconds() {
    let entries = held(&with(&[at(LATER, 0, ProcessFault::Resign.at(None))]));
    let released = seen(&entries, |event| match event {
        Event::Store(step) => (step.answer == tenure_sim::trace::Answer::Released).then_some(()),
        _ => None,
    });
    let leads = leads(&entries);
    assert_ne!(leads[0].1, leads[1].1);
    assert!(leads[1].0 <= released[0].0 + 10, "{released:?} {leads:?}");
}

#[test]
fn a_candidate_that_left_sends_no_requests() {
    let entries = held(&with(&[at(LATER, 2 * TTL_MS, ProcessFault::Leave.at(None))]));
    let first = leads(&entries)[0].1;
    let asked = seen(&entries, |event| match event {
        Event::Sent { who, .. } => (who.node == first).then_some(()),
        _ => None,
    });
    // It may still hand back its lease until its work has ended.
    let away = LATER + TTL_MS + TTL_MS / 2..LATER + 2 * TTL_MS;
    assert!(!asked.iter().any(|(at, ())| away.contains(at)), "{asked:?}");
    assert!(asked.iter().any(|(at, ())| *at >= away.end), "{asked:?}");
}

#[test]
fn a_restored_snapshot_brings_back_memory_and_clocks() {
    let what = ProcessFault::VmRestore.at(None);
    let plan =
        with(&[at(LATER, 2 * TTL_MS, what), at(LATER + 1, 0, ProcessFault::Resign.at(None))]);
    let outcome = super::run(&plan);
    let leads = leads(outcome.trace.entries());
    let first = leads[0];
    // It had handed over, and leads again by its restored state.
    let again = (LATER + 2 * TTL_MS, first.1);
    assert!(leads.contains(&again), "{leads:?}");
}

#[test]
fn faults_of_other_engines_are_refused_by_name() {
    let has = Engine::Model.scope().kinds();
    let others: Vec<_> = FaultKind::ALL.into_iter().filter(|kind| !has.contains(kind)).collect();
    for kind in &others {
        let what = kind.example().unwrap();
        let fault = at(1, u64::from(what.lasts()), what);
        let error = Engine::Model.run(&with(&[fault]), Judging::default()).unwrap_err().to_string();
        let named = format!("fault 0 ({kind}): the model engine has ");
        assert!(error.contains(&named), "{error}");
    }
    assert!(others.len() > 20, "{others:?}");
}
