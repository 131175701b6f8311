//! Histories made by hand: each breaks one property, and holds with one change.

use super::super::journal::{Answer, Asks, Who, Why};
use super::*;
use crate::plan::ms;

const FIRST: Who = Who { process: 0, election: 1 };
const SECOND: Who = Who { process: 0, election: 2 };
const STANDBY: Who = Who { process: 1, election: 0 };

/// The properties that the history breaks.
fn broken(history: &[(u64, Event)]) -> Vec<&'static str> {
    let plan = Plan::drawn(1, 400);
    let entries: Vec<_> = history.iter().map(|(at, event)| (ms(*at), *event)).collect();
    let outcome = judge(&plan, &entries).unwrap();
    outcome.violations.iter().map(|one| one.property.as_str()).collect()
}

fn sent(who: Who, asks: Asks) -> Event {
    Event::Sent(who, asks)
}

/// A lease of the first election, granted at 20 ms, whose renewal is due at 5,010 ms.
fn granted() -> Vec<(u64, Event)> {
    vec![
        (10, sent(FIRST, Asks::Acquire)),
        (20, Event::Ended(FIRST, Asks::Acquire, Answer::Granted(1))),
    ]
}

#[test]
fn an_acquire_before_a_late_renewal_is_found() {
    let acquire_at = |at| [granted(), vec![(at, sent(SECOND, Asks::Acquire))]].concat();
    assert_eq!(broken(&acquire_at(5_013)), [""; 0]);
    assert_eq!(broken(&acquire_at(5_014)), ["renewals-before-acquires"]);
    // A claim that has ended is not renewed.
    assert_eq!(broken(&acquire_at(15_000)), [""; 0]);
    let mut renewed = granted();
    renewed.push((5_000, sent(FIRST, Asks::Renew)));
    renewed.push((5_014, sent(SECOND, Asks::Acquire)));
    assert_eq!(broken(&renewed), [""; 0]);
}

#[test]
fn a_lead_lost_to_overload_is_found() {
    let elected = |who, token| Event::Elected { who, token, beside: None };
    let ended = |why| {
        let left = Event::SteppedDown { who: FIRST, token: 1, why };
        broken(&[(1_000, elected(FIRST, 1)), (20_000, left)])
    };
    assert_eq!(ended(Why::Expired), ["no-lead-lost-to-overload"]);
    assert_eq!(ended(Why::Superseded), ["no-lead-lost-to-overload"]);
    assert_eq!(ended(Why::Resigned), [""; 0]);
    // More leaders than the store can renew: losing one is no wonder.
    let mut many: Vec<_> = (0..400)
        .map(|election| (1_000, elected(Who { process: 0, election }, u64::from(election) + 1)))
        .collect();
    many.push((20_000, Event::SteppedDown { who: FIRST, token: 2, why: Why::Expired }));
    assert_eq!(broken(&many), [""; 0]);
}

#[test]
fn an_acquire_out_of_turn_is_found() {
    let asks = |first, second| {
        let joined = [(1, Event::Joined(FIRST)), (2, Event::Joined(SECOND))];
        let asked = [(3, sent(first, Asks::Acquire)), (4, sent(second, Asks::Acquire))];
        broken(&[joined, asked].concat())
    };
    assert_eq!(asks(FIRST, SECOND), [""; 0]);
    assert_eq!(asks(SECOND, FIRST), ["fair-within-a-class"]);
}

#[test]
fn wrong_tenures_are_found() {
    let elected = |who, token, beside| Event::Elected { who, token, beside };
    let left = |token| Event::SteppedDown { who: STANDBY, token, why: Why::Resigned };
    let (first, second) = ((1, elected(STANDBY, 5, None)), (3, elected(STANDBY, 6, None)));
    assert_eq!(broken(&[first, (2, left(5)), second]), [""; 0]);
    assert_eq!(broken(&[first, second]), ["one-step-down-per-election"]);
    assert_eq!(broken(&[first, (2, left(5)), (3, left(5))]), ["one-step-down-per-election"]);
    let again = (3, elected(STANDBY, 5, None));
    assert_eq!(broken(&[first, (2, left(5)), again]), ["token-monotonic"]);
    let beside = (1, elected(STANDBY, 5, Some(Who { process: 0, ..STANDBY })));
    assert_eq!(broken(&[beside]), ["single-leader"]);
}

#[test]
fn bunched_renewals_are_found() {
    let plan = Plan::drawn(1, 400);
    let healthy = plan.phases.iter().find(|phase| phase.kind == super::super::plan::Kind::Healthy);
    let begin = healthy.unwrap().from.as_millis() + 10_001;
    let renewals =
        |apart: u64| (0..1_000_u64).map(move |n| (begin + n * apart, sent(FIRST, Asks::Renew)));
    assert_eq!(broken(&renewals(12).collect::<Vec<_>>()), [""; 0]);
    assert_eq!(broken(&renewals(1).collect::<Vec<_>>()), ["spread-over-the-interval"]);
}

#[test]
fn a_rush_after_a_pause_is_found() {
    let plan = Plan::drawn(1, 400);
    let phase = plan.phases.last().unwrap();
    let last = phase.from.as_millis() + 1;
    let renew = |at| (at, sent(FIRST, Asks::Renew));
    // Ten a second are usual: sixty are the most at first.
    let settled = (phase.from + plan.config().renew_interval() * 2).as_millis();
    let usual = (settled..phase.until.as_millis()).step_by(100).map(renew);
    let rush = |many| (0..many).map(|n| renew(last + n));
    let broken = |history: Vec<_>| broken(&history);
    assert_eq!(broken(rush(60).chain(usual.clone()).collect()), [""; 0]);
    assert_eq!(broken(rush(61).chain(usual.clone()).collect()), ["spread-over-the-interval"]);
    // Without those that can't wait.
    let granted = vec![
        (last - 8_000, sent(FIRST, Asks::Acquire)),
        (last - 7_990, Event::Ended(FIRST, Asks::Acquire, Answer::Granted(1))),
    ];
    let hurried = granted.into_iter().chain(rush(61)).chain(usual).collect();
    assert_eq!(broken(hurried), [""; 0]);
}

#[test]
fn too_many_calls_in_flight_are_found() {
    let calls = |many, ends: bool| {
        let one = |n| {
            let began = (n, Event::CallBegan { process: 0 });
            let ended = (n, Event::CallEnded { process: 0 });
            if ends { vec![began, ended] } else { vec![began] }
        };
        broken(&(0..many).flat_map(one).collect::<Vec<_>>())
    };
    assert_eq!(calls(8, false), [""; 0]);
    assert_eq!(calls(500, true), [""; 0]);
    assert_eq!(calls(500, false), ["bounded-window"]);
}

#[test]
fn a_gap_in_the_journal_is_an_error() {
    judge(&Plan::drawn(1, 400), &[(ms(1), Event::Lagged(FIRST))]).unwrap_err();
}
