//! Several elections on each node, over one driver and one connection.

use std::collections::BTreeSet;

use tenure_sim::engines::Engine;
use tenure_sim::engines::EngineError;
use tenure_sim::engines::turmoil::run;
use tenure_sim::judge::Judging;
use tenure_sim::plan::PlanError;
use tenure_sim::plan::{LinkFault, Plan, Program, StoreFault, What};
use tenure_sim::trace::{Entry, Event};

use super::{at, carry_out, places, plan};

fn of_elections(elections: u32, faults: Vec<tenure_sim::plan::Fault>) -> Plan {
    Plan { program: Program { elections, ..Program::default() }, ..plan(faults) }
}

#[test]
fn each_election_is_judged_by_itself() {
    let outcome = carry_out(&of_elections(4, vec![]));
    // If they were judged as one election, the leaders of two elections would be two leaders.
    let leads = places(&outcome, |event| matches!(event, Event::Leads { .. }));
    assert_eq!(leads.len(), 1, "{:#?}", outcome.trace);
    let one = carry_out(&of_elections(1, vec![]));
    assert_ne!(outcome.trace.hash(), one.trace.hash());
}

#[test]
fn all_elections_of_a_node_get_leaders() {
    // The elections have one past in common, so a new server is watched once.
    let outcome =
        carry_out(&of_elections(4, vec![at(4_000, 100, What::Store(StoreFault::StoreLoss))]));
    let elsewhere = |entry: &Entry| match entry.event {
        Event::Elsewhere { server, .. } => Some(server),
        _ => None,
    };
    let servers: BTreeSet<_> = outcome.trace.entries().iter().filter_map(elsewhere).collect();
    assert!(servers.contains(&1), "{servers:?}");
}

#[test]
fn the_hash_covers_all_elections() {
    let hash = |elections| {
        let plan = of_elections(elections, vec![at(4_000, 0, LinkFault::Cut.at(None))]);
        run(&plan, Judging::default()).unwrap().trace.hash()
    };
    assert_eq!(hash(3), hash(3));
    let hashes: BTreeSet<u64> = (1..=4).map(|elections| hash(elections).0).collect();
    assert_eq!(hashes.len(), 4);
}

#[test]
fn elections_have_bounds() {
    for elections in [0, Program::ELECTIONS_MOST + 1] {
        let error =
            run(&of_elections(elections, vec![]), Judging::default()).unwrap_err().to_string();
        assert!(error.contains("program.elections"), "{error}");
    }
    let error = Engine::Model.run(&of_elections(2, vec![]), Judging::default()).unwrap_err();
    let EngineError::Plan(PlanError::OutOfBounds { field, value, .. }) = error else {
        panic!("{error:?}");
    };
    assert_eq!((field.as_str(), value.as_str()), ("program.elections", "2"));
}
