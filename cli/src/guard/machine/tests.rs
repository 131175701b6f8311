//! Inputs at instants, and the actions that must follow.

use super::*;

/// Seconds as an instant.
fn at(seconds: u64) -> Instant {
    Instant::from_nanos(seconds * 1_000_000_000)
}

/// SIGTERM at that second, SIGKILL two later, the kernel's timer one after that.
fn until(term: u64) -> Deadlines {
    Deadlines { term_at: at(term), kill_at: at(term + 2), hard_at: at(term + 3) }
}

fn start(term: u64) -> Input {
    Input::Order(Order::Start { token: 7, until: until(term), foreground: false })
}

fn running(term: u64) -> Machine {
    let mut machine = Machine::new();
    let spawn = Action::Spawn { token: 7, foreground: false };
    assert_eq!(machine.handle(at(0), start(term)), [Action::Arm(at(term + 3)), spawn]);
    let started = Action::Report(Report::Started(99));
    assert_eq!(machine.handle(at(0), Input::Spawned(99)), [started]);
    machine
}

const ASK: [Action; 2] = [Action::Signal(TERM), Action::Signal(CONT)];
const ENDING: Action = Action::Report(Report::Ending);

#[test]
fn a_start_after_its_deadline_is_refused() {
    let mut machine = Machine::new();
    assert_eq!(machine.handle(at(10), start(10)), [Action::Report(Report::Late)]);
    assert_eq!(machine, Machine::new());
}

#[test]
fn a_failed_spawn_leaves_nothing_armed() {
    let mut machine = Machine::new();
    machine.handle(at(0), start(10));
    let actions = machine.handle(at(0), Input::NotSpawned(11));
    assert_eq!(actions, [Action::Disarm, Action::Report(Report::Failed(11))]);
    assert_eq!(machine, Machine::new());
}

#[test]
fn the_group_is_asked_then_killed() {
    let mut machine = running(10);
    assert_eq!(machine.deadline(), Some(at(10)));
    assert_eq!(machine.handle(at(9), Input::Wake), []);
    assert_eq!(machine.handle(at(10), Input::Wake), [ENDING, ASK[0], ASK[1]]);
    assert_eq!(machine.deadline(), Some(at(12)));
    assert_eq!(machine.handle(at(11), Input::Wake), []);
    assert_eq!(machine.handle(at(12), Input::Wake), [Action::Kill]);
    assert!(machine.has_leader());
}

#[test]
fn a_guard_that_wakes_late_kills_at_once() {
    let mut machine = running(10);
    assert_eq!(machine.handle(at(12), Input::Wake), [ENDING, Action::Kill]);
}

#[test]
fn a_renewal_moves_the_deadlines_and_the_timer() {
    let mut machine = running(10);
    let renewed = Input::Order(Order::Until(until(20)));
    assert_eq!(machine.handle(at(5), renewed), [Action::Arm(at(23))]);
    assert_eq!(machine.handle(at(12), Input::Wake), []);
    assert_eq!(machine.deadline(), Some(at(20)));
}

#[test]
fn a_renewal_that_is_over_already_kills() {
    let mut machine = running(10);
    let over = Input::Order(Order::Until(until(3)));
    assert_eq!(machine.handle(at(6), over), [ENDING, Action::Kill]);
}

#[test]
fn a_renewal_does_not_save_a_group_that_was_asked() {
    let mut machine = running(10);
    machine.handle(at(10), Input::Wake);
    let renewed = Input::Order(Order::Until(until(20)));
    assert_eq!(machine.handle(at(11), renewed), [Action::Arm(at(23))]);
    assert_eq!(machine.handle(at(12), Input::Wake), [Action::Kill]);
    // Nor one that was killed.
    assert_eq!(machine.handle(at(12), renewed), []);
}

#[test]
fn a_stop_has_its_grace_within_the_deadline() {
    let stop = |seconds| Input::Order(Order::Stop { grace: Duration::from_secs(seconds) });
    let mut machine = running(10);
    assert_eq!(machine.handle(at(1), stop(5)), ASK);
    assert_eq!(machine.deadline(), Some(at(6)));
    // A second one can only shorten it.
    assert_eq!(machine.handle(at(2), stop(1)), []);
    assert_eq!(machine.deadline(), Some(at(3)));

    let mut machine = running(10);
    machine.handle(at(1), stop(60));
    assert_eq!(machine.deadline(), Some(at(12)), "the lease ends before the grace does");
    machine.handle(at(9), Input::Order(Order::Until(until(100))));
    assert_eq!(machine.deadline(), Some(at(61)), "the lease was renewed");
}

#[test]
fn the_end_of_the_supervisor_kills() {
    let mut machine = running(10);
    assert_eq!(machine.handle(at(1), Input::SupervisorGone), [Action::Kill]);
    machine.handle(at(1), Input::LeaderExited(Ending::Signal(9)));
    let actions = machine.handle(at(1), Input::Empty);
    assert_eq!(actions, [Action::Disarm, Action::Report(Report::Gone), Action::Quit]);
    assert_eq!(Machine::new().handle(at(0), Input::SupervisorGone), [Action::Quit]);
}

#[test]
fn what_is_left_of_the_group_is_killed_before_the_reaping() {
    let mut machine = running(10);
    let ending = Ending::Code(3);
    assert_eq!(
        machine.handle(at(1), Input::LeaderExited(ending)),
        [Action::Report(Report::Exited(ending)), Action::Kill, Action::Reap]
    );
    assert!(machine.is_emptying() && !machine.has_leader());
    // No second command before the first one's group is empty.
    assert_eq!(machine.handle(at(2), start(10)), []);
    let gone = [Action::Disarm, Action::Report(Report::Gone)];
    assert_eq!(machine.handle(at(2), Input::Empty), gone);
    assert_eq!(machine, Machine::new());
}

#[test]
fn the_timer_is_armed_as_long_as_the_group_may_live() {
    // Every sequence of four inputs after the start: only an empty group disarms.
    let inputs = [
        start(10),
        Input::Order(Order::Until(until(20))),
        Input::Order(Order::Stop { grace: Duration::from_secs(1) }),
        Input::Order(Order::Signal(1)),
        Input::SupervisorGone,
        Input::LeaderStopped(20),
        Input::LeaderExited(Ending::Code(0)),
        Input::Empty,
        Input::Wake,
    ];
    let mut disarmed = 0;
    for choice in 0..inputs.len().pow(4) {
        let (mut machine, mut rest) = (running(10), choice);
        let mut lives = true;
        for second in 0..4 {
            let input = inputs[rest % inputs.len()];
            rest /= inputs.len();
            let was_emptying = machine.is_emptying();
            let actions = machine.handle(at(9 + second), input);
            if actions.contains(&Action::Disarm) {
                assert!(was_emptying && input == Input::Empty, "{machine:?}");
                (lives, disarmed) = (false, disarmed + 1);
            }
            let spawns = actions.iter().any(|action| matches!(action, Action::Spawn { .. }));
            assert!(!(spawns && lives), "a second command beside the first");
            lives |= spawns;
        }
    }
    assert!(disarmed > 100, "{disarmed}");
}

#[test]
fn deadlines_are_before_the_end_of_the_lease() {
    let (margin, grace) = (Duration::from_secs(2), Duration::from_secs(5));
    let Deadlines { term_at, kill_at, hard_at } = deadlines(at(20), margin, grace);
    assert_eq!((term_at, kill_at, hard_at), (at(13), at(18), at(19)));
    let over = deadlines(at(1), margin, grace);
    assert_eq!((over.term_at, over.kill_at), (at(0), at(0)));
}
