//! The turmoil engine carries out every fault at its exact point, and refuses with a reason what it
//! does not support.
// These helpers are not tests in the sense of clippy.toml.
#![allow(clippy::unwrap_used)]

mod elections;
mod faults;
mod programs;
mod refusals;
mod runs;
mod schedule;
mod triggers;

use std::time::Duration;

use tenure_sim::engines::turmoil::run;
use tenure_sim::judge::{Judging, Outcome};
use tenure_sim::plan::{
    Fault, FaultKind, NodePlan, Plan, Point, Settings, SimTime, Trigger, What, When, Work,
};
use tenure_sim::search::sweep::default_plan;
use tenure_sim::trace::{Entry, Event};

const CALM_MS: u64 = 8_000;

fn plan(faults: Vec<Fault>) -> Plan {
    let node = |index: u64| NodePlan {
        clock_offset_ms: 1_000 * (index + 1),
        clock_rate_ppm: 0,
        settings: None,
    };
    Plan {
        seed: 7,
        settings: Settings::of_ttl(Duration::from_secs(1)).unwrap(),
        nodes: (0..3).map(node).collect(),
        latency_us: (0, 2_000),
        work: Work { every_ms: 20, takes_us: 0, reads_first: false },
        faults,
        calm_from_ms: CALM_MS,
        handover: false,
        ..default_plan().unwrap()
    }
}

fn at(at_ms: u64, for_ms: u64, what: What) -> Fault {
    Fault { when: When::AtMs(at_ms), for_ms, what }
}

fn on(point: Point, node: Option<usize>, nth: u32, for_ms: u64, what: What) -> Fault {
    let trigger = Trigger { point, node, of: None, nth, after_ms: 3_000 };
    Fault { when: When::On(trigger), for_ms, what }
}

fn carry_out(plan: &Plan) -> Outcome {
    let outcome = run(plan, Judging::default()).unwrap();
    assert_eq!(outcome.judge.violation(), None);
    outcome
}

/// The indexes of the wanted events.
fn places(outcome: &Outcome, is_meant: impl Fn(&Event) -> bool) -> Vec<usize> {
    let entries = outcome.trace.entries().iter().enumerate();
    entries.filter(|(_, entry)| is_meant(&entry.event)).map(|(place, _)| place).collect()
}

fn the_one(outcome: &Outcome, is_meant: impl Fn(&Event) -> bool) -> usize {
    let places = places(outcome, is_meant);
    assert_eq!(places.len(), 1, "{:#?}", outcome.trace);
    places[0]
}

/// The time of the event with that index.
fn time(outcome: &Outcome, place: usize) -> SimTime {
    outcome.trace.entries()[place].at
}

/// A point in true time.
const fn ms(millis: u64) -> SimTime {
    SimTime::from_millis(millis)
}

fn began(of: FaultKind) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Fault { kind, .. } if *kind == of)
}

fn healed(of: FaultKind) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Healed { kind, .. } if *kind == of)
}

/// The node that led when the event with that index was recorded.
fn leader_at(outcome: &Outcome, place: usize) -> Option<usize> {
    let mut leader = None;
    for Entry { event, .. } in &outcome.trace.entries()[..place] {
        match event {
            Event::Leads { who, .. } => leader = Some(who.node),
            Event::LeadsNoMore { who } | Event::Crashed { who } if leader == Some(who.node) => {
                leader = None;
            }
            _ => {}
        }
    }
    leader
}
