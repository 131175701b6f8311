//! The rules of the schedule, one by one.

use super::*;
use crate::plan::{LinkFault, ProcessFault, Scope, StoreFault, Trigger, ms, swarm};

const CALM_MS: u64 = 1_000;
const CALM: SimTime = ms(CALM_MS);

/// Three nodes with those faults.
fn schedule(faults: &[Fault]) -> Schedule {
    let mut plan = swarm(1, &[], Scope::Model);
    plan.nodes = vec![plan.nodes[0]; 3];
    Schedule::of(&Plan { faults: faults.to_vec(), calm_from_ms: CALM_MS, ..plan }, None)
}

fn at(at_ms: u64, for_ms: u64, what: What) -> Fault {
    Fault { when: When::AtMs(at_ms), for_ms, what }
}

fn on(trigger: Trigger, for_ms: u64, what: What) -> Fault {
    Fault { when: When::On(trigger), for_ms, what }
}

const SEND: Trigger = Trigger { point: Point::Send, node: None, of: None, nth: 1, after_ms: 0 };

fn partition(node: usize) -> What {
    LinkFault::Partition.at(Some(node))
}

fn pause(node: usize) -> What {
    ProcessFault::Pause.at(Some(node))
}

fn crash(node: usize) -> What {
    ProcessFault::Crash { power: false }.at(Some(node))
}

/// The steps that are due until then, with their times; node 1 leads.
fn until(schedule: &mut Schedule, end: SimTime) -> Vec<(SimTime, Step)> {
    let mut steps = Vec::new();
    while let Some(now) = schedule.next().filter(|next| *next <= end) {
        while let Some(step) = schedule.take_due(now, || Some(1)) {
            steps.push((now, step));
        }
    }
    steps
}

/// The steps of faults alone: the time, whether the fault begins, its index in the plan, and its
/// node.
fn faults(steps: &[(SimTime, Step)]) -> Vec<(SimTime, bool, usize, Option<usize>)> {
    let short = |(at, step): &(SimTime, Step)| match step {
        Step::Begin(Strike { index, node, .. }) => Some((*at, true, *index, *node)),
        Step::End(Strike { index, node, .. }) => Some((*at, false, *index, *node)),
        Step::Calm => None,
    };
    steps.iter().filter_map(short).collect()
}

fn all(of: &[Fault]) -> Vec<(SimTime, bool, usize, Option<usize>)> {
    let steps = until(&mut schedule(of), SimTime::NEVER);
    assert_eq!(steps.last(), Some(&(CALM, Step::Calm)), "nothing is due afterwards");
    faults(&steps)
}

#[test]
fn steps_are_ordered_by_time_then_insertion() {
    let order = all(&[
        at(20, 10, partition(0)),
        at(10, 10, partition(1)),
        at(20, 0, LinkFault::Cut.at(Some(0))),
    ]);
    assert_eq!(
        order,
        [
            (ms(10), true, 1, Some(1)),
            (ms(20), true, 0, Some(0)),
            (ms(20), true, 2, Some(0)),
            (ms(20), false, 1, Some(1)),
            (ms(30), false, 0, Some(0)),
        ]
    );
}

#[test]
fn a_step_is_not_due_before_its_time() {
    let mut schedule = schedule(&[at(10, 0, LinkFault::Cut.at(Some(0)))]);
    assert_eq!(schedule.next(), Some(ms(10)));
    assert_eq!(schedule.take_due(ms(10) - NANOSECOND, || None), None);
    assert!(schedule.take_due(ms(10), || None).is_some());
}

#[test]
fn faults_begin_at_least_a_millisecond_before_recovery() {
    let begins = |begins: SimTime| {
        let mut schedule =
            schedule(&[on(SEND, 500, partition(0)), on(SEND, 0, LinkFault::Cut.at(Some(1)))]);
        assert!(schedule.reached(begins, Point::Send, Some(0), None).is_some());
        faults(&until(&mut schedule, SimTime::NEVER))
    };
    let (last, cut) = (CALM - SHORTEST, Some(1));
    assert_eq!(
        begins(last),
        [(last, true, 0, Some(0)), (last, true, 1, cut), (CALM - NANOSECOND, false, 0, Some(0))]
    );
    assert_eq!(
        begins(last + NANOSECOND),
        [(last + NANOSECOND, true, 1, cut)],
        "which takes no time"
    );
}

#[test]
fn a_fault_ends_a_nanosecond_before_recovery() {
    let ends = all(&[at(900, 100, partition(0)), at(900, 99, partition(1))]);
    assert_eq!(ends[2..], [(ms(999), false, 1, Some(1)), (CALM - NANOSECOND, false, 0, Some(0))]);
}

#[test]
fn a_lasting_fault_lasts_a_millisecond() {
    assert_eq!(all(&[at(7, 0, What::Store(StoreFault::StoreStall))])[1], (ms(8), false, 0, None));
    let mut late = schedule(&[at(0, 1, What::Store(StoreFault::StoreStall))]);
    assert!(late.take_due(ms(1), || None).is_some());
    assert_eq!(late.next(), Some(ms(2)), "also if its engine came late");
}

#[test]
fn a_swizzle_strikes_each_node() {
    let swizzle = What::Links(LinksFault::Swizzle { step_ms: 50, shift: 1 });
    let strikes = all(&[at(300, 500, swizzle)]);
    let times = [
        (300, true, 0),
        (350, true, 1),
        (400, true, 2),
        (850, false, 1),
        (900, false, 2),
        (950, false, 0),
    ];
    assert_eq!(strikes, times.map(|(at_ms, begins, node)| (ms(at_ms), begins, 0, Some(node))));
    let late = all(&[at(949, 500, swizzle)]);
    assert_eq!(late.len(), 4, "nodes 0 and 1: {late:?}");
    assert_eq!(late[1], (ms(999), true, 0, Some(1)));
}

#[test]
fn process_faults_do_not_strike_dead_processes() {
    let node = Some(1);
    let kinds = [
        (10, pause(1)),
        (10, ProcessFault::Starve.at(node)),
        (0, LinkFault::Cut.at(node)),
        (0, ProcessFault::Resign.at(node)),
        (10, ProcessFault::Leave.at(node)),
    ];
    for (for_ms, what) in kinds {
        let down = [at(10, 100, crash(1)), at(20, 200, crash(1)), at(150, for_ms, what)];
        let begun = |of: &[Fault]| all(of).iter().filter(|(_, begins, ..)| *begins).count();
        assert_eq!(begun(&down), 2, "the second crash still lasts: {what:?}");
        assert_eq!(begun(&[down[0], down[2]]), 2, "it has restarted: {what:?}");
        assert_eq!(begun(&[at(10, 200, crash(0)), down[2]]), 2, "another is down: {what:?}");
    }
    let machine = [at(10, 100, crash(1)), at(20, 10, ProcessFault::Suspend.at(node))];
    assert_eq!(all(&machine).len(), 4, "a machine may sleep without the process");
}

#[test]
fn a_crash_ends_what_stops_its_process() {
    let steps = all(&[
        at(10, 500, pause(1)),
        at(11, 500, pause(0)),
        at(12, 500, partition(1)),
        at(13, 500, ProcessFault::Starve.at(Some(1))),
        at(20, 100, crash(1)),
    ]);
    assert_eq!(
        steps[4..],
        [
            (ms(20), true, 4, Some(1)),
            (ms(20), false, 0, Some(1)),
            (ms(20), false, 3, Some(1)),
            (ms(120), false, 4, Some(1)),
            (ms(511), false, 1, Some(0)),
            (ms(512), false, 2, Some(1)),
        ]
    );
}

#[test]
fn a_fault_finds_its_node() {
    let anywhere = LinkFault::Partition.at(None);
    let struck = |of: Fault, leader: Option<usize>| {
        let mut schedule = schedule(&[of]);
        schedule.reached(ms(5), Point::Send, Some(1), None);
        match schedule.take_due(ms(5), || leader) {
            Some(Step::Begin(strike)) => strike.node,
            step => {
                assert_eq!(step, None);
                None
            }
        }
    };
    assert_eq!(struck(on(SEND, 10, partition(0)), Some(2)), Some(0), "the one it names");
    assert_eq!(struck(on(SEND, 10, anywhere), Some(2)), Some(1), "where its trigger fired");
    assert_eq!(struck(at(5, 10, anywhere), Some(2)), Some(2), "the leader");
    assert_eq!(struck(at(5, 10, anywhere), None), None, "none");
}

#[test]
fn a_fault_without_node_delays_no_other() {
    let mut schedule = schedule(&[
        at(5, 10, ProcessFault::Pause.at(None)),
        at(5, 10, What::Store(StoreFault::StoreCrash)),
    ]);
    let step = schedule.take_due(ms(5), || None);
    assert!(matches!(step, Some(Step::Begin(Strike { index: 1, node: None, .. }))), "{step:?}");
}

#[test]
fn a_trigger_counts_its_own_points_alone() {
    let trigger = Trigger {
        point: Point::Sent,
        node: Some(1),
        of: Some(RequestKind::Renew),
        nth: 2,
        after_ms: 5,
    };
    let mut schedule = schedule(&[on(trigger, 10, What::Store(StoreFault::StoreStall))]);
    let (sent, node, renew) = (Point::Sent, Some(1), Some(RequestKind::Renew));
    let counts = (ms(5), sent, node, renew);
    let others = [
        (ms(5) - NANOSECOND, sent, node, renew),
        (ms(5), Point::Send, node, renew),
        (ms(5), sent, Some(0), renew),
        (ms(5), sent, None, renew),
        (ms(5), sent, node, Some(RequestKind::Acquire)),
        (ms(5), sent, node, None),
    ];
    let mut reach = |(now, point, node, of)| schedule.reached(now, point, node, of).is_some();
    for other in others {
        assert!(!reach(other) && !reach(other), "{other:?}");
    }
    assert_eq!([counts; 4].map(&mut reach), [false, true, false, false]);
}

#[test]
fn the_recovery_phase_disarms_all_triggers() {
    let swizzle = What::Links(LinksFault::Swizzle { step_ms: 600, shift: 0 });
    let mut schedule = schedule(&[on(SEND, 0, LinkFault::Cut.at(Some(0))), at(990, 1, swizzle)]);
    assert_eq!(until(&mut schedule, CALM).last(), Some(&(CALM, Step::Calm)));
    assert_eq!(schedule.reached(CALM, Point::Send, Some(0), None), None);
    assert_eq!(schedule.next(), None);
}

#[test]
fn only_process_faults_separate_check_and_write() {
    let comes_between = |point, what| {
        let mut schedule = schedule(&[on(Trigger { point, ..SEND }, 10, what)]);
        schedule.reached(ms(5), point, Some(1), None).unwrap().comes_between
    };
    let node = None;
    for stops in [pause(1), crash(1), ProcessFault::Suspend.at(node), ProcessFault::VmStop.at(node)]
    {
        assert!(comes_between(Point::Guard, stops), "{stops:?}");
    }
    for other in [pause(0), partition(1), What::Store(StoreFault::StoreCrash)] {
        assert!(!comes_between(Point::Guard, other), "{other:?}");
        assert!(comes_between(Point::Sent, other), "{other:?}");
    }
}

#[test]
fn drawn_faults_end_before_the_recovery_phase() {
    for (scope, seed) in [Scope::Model, Scope::Turmoil]
        .into_iter()
        .flat_map(|of| (0..500).map(move |seed| (of, seed)))
    {
        let plan = swarm(seed, &FaultKind::ALL, scope);
        let (mut schedule, calm) = (Schedule::of(&plan, None), plan.calm_from());
        let (mut under_way, mut last) = (0_i32, SimTime::START);
        for (at, step) in until(&mut schedule, SimTime::NEVER) {
            assert!(at >= last, "seed {seed}: in order");
            last = at;
            match step {
                Step::Begin(strike) => under_way += i32::from(strike.what.lasts()),
                Step::End(_) => under_way -= 1,
                Step::Calm => assert_eq!((at, under_way), (calm, 0), "seed {seed}"),
            }
        }
        assert_eq!(last, calm, "seed {seed}");
    }
}

#[test]
fn overlapping_faults_are_under_way_until_the_last_ends() {
    let mut schedule =
        schedule(&[at(10, 20, pause(0)), at(20, 30, pause(0)), at(20, 40, pause(1))]);
    let mut pauses = |end| {
        until(&mut schedule, end);
        schedule.at(Some(0)).filter(|what| what.is_a_pause()).count()
    };
    assert_eq!([5, 10, 20, 30, 50].map(ms).map(&mut pauses), [0, 1, 2, 1, 0]);
    schedule.without = Some(FaultKind::Pause);
    assert_eq!((schedule.at(Some(1)).count(), schedule.under_way().len()), (0, 1));
}
