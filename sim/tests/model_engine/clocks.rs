//! Faults of candidates' clocks.

use tenure_sim::plan::{
    ClockFault, Fault, LinkFault, NodePlan, Point, ProcessFault, Trigger, When,
};

use super::{TTL_MS, at, ends, held, leads, run, with};

const LATER: u64 = 2 * TTL_MS;

#[test]
fn a_forward_clock_step_ends_the_lead() {
    let by_ms = TTL_MS.cast_signed();
    let entries = held(&with(&[at(LATER, 0, ClockFault::ClockStep { by_ms }.at(None))]));
    assert_eq!(ends(&entries)[0].0, LATER);
}

#[test]
fn a_stopped_machine_still_answers_that_it_leads() {
    let entries = run(&with(&[at(LATER, 2 * TTL_MS, ProcessFault::VmStop.at(None))]));
    let (leads, ends) = (leads(entries.trace.entries()), ends(entries.trace.entries()));
    // Its clock was stopped, which breaks an assumption.
    assert!(leads[1].0 < ends[0].0, "{leads:?} {ends:?}");
}

#[test]
fn a_backward_clock_step_prolongs_the_lead() {
    let by_ms = -TTL_MS.cast_signed();
    let outcome = run(&with(&[
        at(LATER, 3 * TTL_MS, LinkFault::Partition.at(None)),
        at(LATER + 100, 0, ClockFault::ClockStep { by_ms }.at(None)),
    ]));
    let (leads, ends) = (leads(outcome.trace.entries()), ends(outcome.trace.entries()));
    assert!(leads[1].0 < ends[0].0, "{leads:?} {ends:?}");
}

#[test]
fn clocks_count_by_their_rates() {
    let led_for = |clock_rate_ppm| {
        let when =
            When::On(Trigger { point: Point::Leads, node: None, of: None, nth: 1, after_ms: 0 });
        let what = LinkFault::Partition.at(None);
        let mut plan = with(&[Fault { when, for_ms: 2 * TTL_MS, what }]);
        let node = NodePlan { clock_offset_ms: 5, clock_rate_ppm, settings: None };
        plan.nodes = vec![node; 3];
        let entries = held(&plan);
        ends(&entries)[0].0 - leads(&entries)[0].0
    };
    let (slow, right, fast) = (led_for(-10_000), led_for(0), led_for(10_000));
    assert!(slow > right && right > fast, "{slow} {right} {fast}");
}
