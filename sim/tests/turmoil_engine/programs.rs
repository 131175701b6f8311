//! The programs of nodes: the ways in which leaders get their work, candidates that leave, starved
//! drivers.

use tenure_sim::engines::{Engine, EngineError};
use tenure_sim::judge::{Judging, Outcome};
use tenure_sim::plan::{Fault, FaultKind, Manner, Plan, PlanError, ProcessFault, Program};
use tenure_sim::trace::{Asked, Entry, Event, Who};

use super::{at, began, carry_out, healed, leader_at, ms, places, plan, the_one, time};

fn in_manner(manner: Manner, faults: Vec<Fault>) -> Plan {
    Plan { program: Program { manner, ..Program::default() }, ..plan(faults) }
}

/// The events between two indexes of the trace.
fn between(outcome: &Outcome, from: usize, to: usize) -> impl Iterator<Item = &Event> {
    outcome.trace.entries()[from..to].iter().map(|Entry { event, .. }| event)
}

fn is_sent_by(node: usize) -> impl Fn(&&Event) -> bool {
    move |event| matches!(event, Event::Sent { who, .. } if who.node == node)
}

#[test]
fn leaders_work_in_every_manner() {
    for manner in Manner::ALL {
        let outcome =
            carry_out(&in_manner(manner, vec![at(5_000, 0, ProcessFault::Resign.at(None))]));
        let count = |is_meant: fn(&Event) -> bool| places(&outcome, is_meant).len();
        assert!(count(|event| matches!(event, Event::Wrote { .. })) > 100, "{manner:?}");
        let waits = count(|event| matches!(event, Event::WaitsToBeTold { .. }));
        assert_eq!(waits > 0, manner == Manner::CancellationToken, "{manner:?}");
        let calls_back = count(|event| matches!(event, Event::CallbackBegan { .. }));
        assert_eq!(calls_back > 0, manner == Manner::Callbacks, "{manner:?}");
    }
}

#[test]
fn a_candidate_leaves_and_another_one_campaigns() {
    for (manner, seed) in Manner::ALL.into_iter().flat_map(|manner| [(manner, 1), (manner, 2)]) {
        let faults = vec![at(4_000, 3_000, ProcessFault::Leave.at(None))];
        let outcome = carry_out(&Plan { seed, ..in_manner(manner, faults) });
        let begins = the_one(&outcome, began(FaultKind::Leave));
        let left = leader_at(&outcome, begins).unwrap();
        let is_out =
            |event: &Event| matches!(event, Event::Withdrawn { who, .. } if who.node == left);
        let is_out = the_one(&outcome, is_out);
        let rejoins = |event: &Event| matches!(event, Event::CampaignAsked { .. });
        let rejoins = the_one(&outcome, rejoins);
        assert!(time(&outcome, rejoins) >= ms(7_000), "{manner:?}");
        assert_eq!(between(&outcome, is_out, rejoins).filter(is_sent_by(left)).count(), 0);
        assert!(leader_at(&outcome, rejoins).is_some_and(|leader| leader != left));
        let entries = &outcome.trace.entries()[rejoins..];
        let asks = |entry: &Entry| matches!(entry.event, Event::Sent { who, request: Asked::Acquire { .. }, .. } if who.node == left);
        assert!(entries.iter().any(asks), "{manner:?}");
    }
}

#[test]
fn a_starved_driver_loses_its_lead() {
    for manner in Manner::ALL {
        let outcome =
            carry_out(&in_manner(manner, vec![at(4_000, 3_000, ProcessFault::Starve.at(None))]));
        let begins = the_one(&outcome, began(FaultKind::Starve));
        let ends = the_one(&outcome, healed(FaultKind::Starve));
        let starved = leader_at(&outcome, begins).unwrap();
        // A request that it sent before may still be in flight.
        let asked = between(&outcome, begins, ends).filter(is_sent_by(starved)).count();
        assert_eq!(asked, 0, "{manner:?}");
        let over =
            |event: &&Event| matches!(event, Event::LeadsNoMore { who } if who.node == starved);
        assert_eq!(between(&outcome, begins, ends).filter(over).count(), 1, "{manner:?}");
        let stepped_down =
            |event: &&Event| matches!(event, Event::SteppedDown { who, .. } if who.node == starved);
        assert_eq!(
            between(&outcome, begins, ends).filter(stepped_down).count(),
            0,
            "by the clock alone"
        );
        assert!(leader_at(&outcome, ends).is_some_and(|leader| leader != starved), "{manner:?}");
    }
}

/// Two overlap when the process crashes. The end of one does not starve the next process.
#[test]
fn a_restarted_process_is_not_starved() {
    let node = Some(1);
    let starve = ProcessFault::Starve.at(node);
    let crash = ProcessFault::Crash { power: false }.at(node);
    let faults = [at(4_000, 3_500, starve), at(4_100, 1_500, starve), at(4_500, 100, crash)];
    let outcome = carry_out(&plan(faults.to_vec()));
    let restarted = |who: Who| who.node == 1 && who.life == 1;
    let sent =
        places(&outcome, |event| matches!(event, Event::Sent { who, .. } if restarted(*who)));
    assert!(sent.iter().any(|place| (ms(6_000)..ms(7_500)).contains(&time(&outcome, *place))));
}

/// A handover's answer and a resignation's are there when the driver runs again, and the answer to
/// the look after which the candidate leaves.
#[test]
fn a_wish_and_a_stop_reach_the_driver_in_one_turn() {
    let faults = [
        at(4_000, 0, ProcessFault::HandOver { to: 3 }.at(None)),
        at(4_000, 0, ProcessFault::Resign.at(None)),
        at(4_000, 1_000, ProcessFault::Leave.at(None)),
    ];
    let starves = (0..3).map(|node| at(4_004, 50, ProcessFault::Starve.at(Some(node))));
    let faults = faults.into_iter().chain(starves).collect();
    let one_turn =
        Plan { latency_us: (3_000, 4_000), ..in_manner(Manner::CancellationToken, faults) };
    let outcome = carry_out(&one_turn);
    let withdrawn = places(&outcome, |event| matches!(event, Event::Withdrawn { done: true, .. }));
    let leaves = |event: &Event| matches!(event, Event::ResignAsked { hold_off: None, .. });
    let leaves = the_one(&outcome, leaves);
    assert_eq!(withdrawn.len(), 2);
    assert!(withdrawn[0] < leaves && leaves < withdrawn[1]);
    let moments = [withdrawn[0], leaves, withdrawn[1]].map(|place| time(&outcome, place));
    assert_eq!(moments, [moments[0]; 3], "the lead was given back, and the candidate left");
}

#[test]
fn a_log_that_panics_costs_no_lead() {
    let with = |log_panics| {
        let mut plan =
            in_manner(Manner::WhileLeader, vec![at(4_000, 0, ProcessFault::Resign.at(None))]);
        plan.program.log_panics = log_panics;
        carry_out(&plan).trace.hash()
    };
    assert_eq!(with(true), with(false), "nothing else differs");
}

#[test]
fn dropped_futures_cost_no_lead() {
    for manner in Manner::ALL {
        let mut plan = in_manner(manner, vec![]);
        plan.program = Program { cancels: true, elections: 3, ..plan.program };
        let outcome = carry_out(&plan);
        let leads = places(&outcome, |event| matches!(event, Event::Leads { .. }));
        assert_eq!(leads.len(), 1, "{manner:?}");
        let failed = |event: &Event| matches!(event, Event::Answered { answer: None, .. });
        assert_eq!(places(&outcome, failed).len(), 0, "{manner:?}");
    }
}

#[test]
fn the_model_engine_refuses_unsupported_programs() {
    let refused =
        |plan: &Plan| Engine::Model.run(plan, Judging::default()).unwrap_err().to_string();
    let error = refused(&in_manner(Manner::Callbacks, vec![]));
    assert!(error.contains("program.manner") && error.contains("while-leader"), "{error}");
    let cancels = Program { cancels: true, ..Program::default() };
    let error = refused(&Plan { program: cancels, ..plan(vec![]) });
    assert!(error.contains("program.cancels"), "{error}");
    let log_panics = Program { log_panics: true, ..Program::default() };
    let error = refused(&Plan { program: log_panics, ..plan(vec![]) });
    assert!(error.contains("program.log_panics"), "{error}");
    let starves = plan(vec![at(1, 1, ProcessFault::Starve.at(None))]);
    let error = Engine::Model.run(&starves, Judging::default()).unwrap_err();
    let EngineError::Plan(PlanError::Unsupported { index: 0, kind, engine: "model", .. }) = error
    else {
        panic!("{error:?}");
    };
    assert_eq!(kind, FaultKind::Starve);
}
