//! One thread, with pauses between its steps.

use std::cell::Cell;

use tenure::Instant;

use super::plain::deadline::Deadline;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// A clock with these readings. After each reading the thread is paused, and the function is
/// called.
fn paused_after<const N: usize>(readings: [(u64, &dyn Fn()); N]) -> impl Fn() -> Instant {
    let next = Cell::new(0);
    move || {
        let (nanos, meanwhile) = readings[next.replace(next.get() + 1)];
        meanwhile();
        at(nanos)
    }
}

#[test]
fn a_closed_deadline_is_not_extended() {
    let deadline = Deadline::until(at(100));
    assert!(deadline.holds(|| at(99)));
    assert!(!deadline.holds(|| at(100)));
    assert!(deadline.extend(at(200)));
    assert!(!deadline.close_passed(at(100)), "it was extended meanwhile");
    assert!(!deadline.is_closed());
    assert!(deadline.close_passed(at(200)));
    assert!(deadline.is_closed());
    assert!(!deadline.extend(at(300)));
    assert!(!deadline.holds(|| at(2)));
}

#[test]
fn a_cleared_deadline_waits_for_the_next_claim() {
    let deadline = Deadline::until(at(100));
    deadline.clear();
    assert!(!deadline.holds(|| at(99)));
    assert!(deadline.extend(at(200)));
    assert!(deadline.holds(|| at(199)));
}

/// Another candidate led at the reading; the claim began after it.
#[test]
fn a_reading_before_the_claim_is_no_lead() {
    let deadline = Deadline::never();
    let elected = || assert!(deadline.extend(at(300)));
    assert!(!deadline.holds(paused_after([(50, &elected)])));
    assert!(deadline.holds(|| at(299)), "it leads from now on");
}

/// The lease may have been handed back, and another candidate may have led, before the clock was
/// read.
#[test]
fn a_claim_closed_before_the_reading_is_over() {
    let deadline = Deadline::until(at(100));
    let resigned = || deadline.close();
    assert!(!deadline.holds(paused_after([(50, &resigned), (51, &|| ())])));

    let deadline = Deadline::until(at(100));
    let resigned_and_elected_again = || {
        deadline.close();
        deadline.reopen();
        assert!(deadline.extend(at(300)));
    };
    let later = paused_after([(50, &resigned_and_elected_again), (310, &|| ())]);
    assert!(!deadline.holds(later), "at 50 another candidate may have led");
}

#[test]
fn a_renewal_during_the_reading_costs_nothing() {
    let deadline = Deadline::until(at(100));
    let renewed = || assert!(deadline.extend(at(300)));
    assert!(deadline.holds(paused_after([(50, &renewed), (150, &|| ())])));
}

#[test]
fn a_deadline_found_passed_stays_closed() {
    let deadline = Deadline::until(at(100));
    assert!(deadline.holds_or_closes(|| at(99)));
    assert!(!deadline.holds_or_closes(|| at(100)));
    assert!(!deadline.extend(at(300)), "by a renewal that was accepted at 99");
    assert!(!deadline.holds_or_closes(|| at(101)));

    let deadline = Deadline::until(at(100));
    let renewed = || assert!(deadline.extend(at(300)));
    let late = paused_after([(100, &|| ()), (101, &renewed), (102, &|| ())]);
    assert!(deadline.holds_or_closes(late), "the renewal was first");
}
