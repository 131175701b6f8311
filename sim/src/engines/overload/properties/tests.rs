//! Histories made by hand: each breaks one property, and holds with one change.

use super::super::journal::{candidate, election};
use super::super::plan::Kind;
use super::*;
use crate::plan::{SimTime, ms};
use crate::trace::{Answer, Asked, Kept, Mark, Reason, StoreStep};

const FIRST: Who = Who { node: 1, life: 0 };
const SECOND: Who = Who { node: 2, life: 0 };
const THIRD: Who = Who { node: 3, life: 0 };

const ACQUIRE: Asked = Asked::Acquire { seen: 0, watched: None };
const RENEW: Asked = Asked::Renew { token: 1 };

/// The candidate of an event; of the third election, if it has none.
fn who(event: &Event) -> Who {
    match *event {
        Event::CampaignAsked { who }
        | Event::Sent { who, .. }
        | Event::Answered { who, .. }
        | Event::Elected { who, .. }
        | Event::SteppedDown { who, .. }
        | Event::ResignAsked { who, .. }
        | Event::Withdrawn { who, .. }
        | Event::Leads { who, .. } => who,
        _ => THIRD,
    }
}

/// The properties that the history breaks.
fn broken(history: &[(u64, Event)]) -> Vec<&'static str> {
    let noted = |(at, event): &(u64, Event)| Noted {
        election: election(who(event)),
        at: ms(*at),
        event: event.clone(),
    };
    let entries: Vec<_> = history.iter().map(noted).collect();
    let outcome = judge(&Plan::drawn(1, 400), &entries);
    outcome.violations.iter().map(|one| one.property.as_str()).collect()
}

fn sent(who: Who, request: Asked) -> Event {
    Event::Sent { who, id: 1, request }
}

fn elected(who: Who, token: u64) -> Event {
    Event::Elected { who, token, claim_ends: ms(15_000) }
}

fn left(who: Who, token: u64, reason: Reason) -> Event {
    Event::SteppedDown { who, token, reason, drain_ends: SimTime::START }
}

fn was_granted(token: u64) -> Event {
    let answer = Some(Answer::Granted { token });
    Event::Answered { who: FIRST, id: 1, answer }
}

/// A lease of the first election, granted at 20 ms, whose renewal is due at 5,010 ms.
fn granted() -> Vec<(u64, Event)> {
    vec![(10, sent(FIRST, ACQUIRE)), (20, was_granted(1))]
}

#[test]
fn an_acquire_before_a_late_renewal_is_found() {
    let acquire_at = |at| [granted(), vec![(at, sent(SECOND, ACQUIRE))]].concat();
    assert_eq!(broken(&acquire_at(5_013)), [""; 0]);
    assert_eq!(broken(&acquire_at(5_014)), ["renewals-before-acquires"]);
    // A claim that has ended is not renewed.
    assert_eq!(broken(&acquire_at(15_000)), [""; 0]);
    let mut renewed = granted();
    renewed.push((5_000, sent(FIRST, RENEW)));
    renewed.push((5_014, sent(SECOND, ACQUIRE)));
    assert_eq!(broken(&renewed), [""; 0]);
}

#[test]
fn a_lead_lost_to_overload_is_found() {
    // Without the grants: only this property is of interest.
    let lost = |history: &[(u64, Event)]| broken(history).contains(&"no-lead-lost-to-overload");
    let ended = |reason| lost(&[(1_000, elected(FIRST, 1)), (20_000, left(FIRST, 1, reason))]);
    for reason in [Reason::Expired, Reason::Superseded, Reason::RenewFailed, Reason::Other] {
        assert!(ended(reason), "{reason:?}");
    }
    assert!(!ended(Reason::Resigned));
    // More leaders than the store can renew: losing one is no wonder.
    let mut many: Vec<_> = (0..400)
        .map(|election| (1_000, elected(candidate(0, election), u64::from(election) + 1)))
        .collect();
    many.push((20_000, left(FIRST, 2, Reason::Expired)));
    assert!(!lost(&many));
}

#[test]
fn an_acquire_out_of_turn_is_found() {
    let asks = |first, second| {
        let joined = [FIRST, SECOND].map(|who| (1, Event::CampaignAsked { who }));
        let asked = [(3, sent(first, ACQUIRE)), (4, sent(second, ACQUIRE))];
        broken(&[joined, asked].concat())
    };
    assert_eq!(asks(FIRST, SECOND), [""; 0]);
    assert_eq!(asks(SECOND, FIRST), ["fair-within-a-class"]);
}

/// Each election is judged by itself, by properties with histories of their own.
#[test]
fn wrong_tenures_are_found() {
    let grant = |token: u64| {
        let mark = Mark { holder: 1, number: 1 };
        let kept = Kept { token, mark, lease_ends: ms(9), released: false };
        Event::Store(StoreStep {
            server: 0,
            holder: 1,
            request: ACQUIRE,
            answer: Answer::Granted { token },
            before: None,
            after: Some(kept),
        })
    };
    let left = left(THIRD, 5, Reason::Resigned);
    let first = [(1, grant(5)), (1, elected(THIRD, 5))];
    let next = [(2, left.clone()), (3, grant(6)), (3, elected(THIRD, 6))];
    assert_eq!(broken(&[&first[..], &next].concat()), [""; 0]);
    assert_eq!(broken(&[&first[..], &next[1..]].concat()), ["one-step-down-per-election"]);
    let twice = [(2, left.clone()), (3, left)];
    assert_eq!(broken(&[&first[..], &twice].concat()), ["one-step-down-per-election"]);
    let lower = [(1, grant(5)), (3, grant(4))];
    assert_eq!(broken(&lower), ["token-monotonic"]);
    let leads = |who, token| (1, Event::Leads { who, token });
    assert_eq!(broken(&[leads(candidate(0, 3), 5), leads(candidate(1, 4), 6)]), [""; 0]);
    let beside = [leads(candidate(0, 3), 5), leads(candidate(1, 3), 6)];
    assert_eq!(broken(&beside), ["single-leader"]);
}

#[test]
fn bunched_renewals_are_found() {
    let plan = Plan::drawn(1, 400);
    let healthy = plan.phases.iter().find(|phase| phase.kind == Kind::Healthy);
    let begin = healthy.unwrap().from.as_millis() + 10_001;
    let renewals =
        |apart: u64| (0..1_000_u64).map(move |n| (begin + n * apart, sent(FIRST, RENEW)));
    assert_eq!(broken(&renewals(12).collect::<Vec<_>>()), [""; 0]);
    assert_eq!(broken(&renewals(1).collect::<Vec<_>>()), ["spread-over-the-interval"]);
}

#[test]
fn a_rush_after_a_pause_is_found() {
    let plan = Plan::drawn(1, 400);
    let phase = plan.phases.iter().rfind(|phase| phase.kind == Kind::Healthy).unwrap();
    let last = phase.from.as_millis() + 1;
    let renew = |at| (at, sent(FIRST, RENEW));
    // Ten a second are usual: sixty are the most at first.
    let settled = (phase.from + plan.config().renew_interval() * 2).as_millis();
    let usual = (settled..phase.until.as_millis()).step_by(100).map(renew);
    let rush = |many| (0..many).map(|n| renew(last + n));
    let broken = |history: Vec<_>| broken(&history);
    assert_eq!(broken(rush(60).chain(usual.clone()).collect()), [""; 0]);
    assert_eq!(broken(rush(61).chain(usual.clone()).collect()), ["spread-over-the-interval"]);
    // Without those that can't wait.
    let granted = vec![(last - 8_000, sent(FIRST, ACQUIRE)), (last - 7_990, was_granted(1))];
    let hurried = granted.into_iter().chain(rush(61)).chain(usual).collect();
    assert_eq!(broken(hurried), [""; 0]);
}

#[test]
fn a_stop_that_takes_too_long_is_found() {
    let longest = Plan::drawn(1, 400).config().explain().longest_stop;
    let longest = u64::try_from(longest.as_millis()).unwrap();
    let stops = |ends| {
        let asked = (1_000, Event::ResignAsked { who: FIRST, hold_off: None });
        let ended = (1_000 + ends, Event::Withdrawn { who: FIRST, done: true });
        broken(&[asked, ended])
    };
    assert_eq!(stops(longest), [""; 0]);
    assert_eq!(stops(longest + 1), ["stopped-within"]);
    // One that has not ended is found by what others do.
    let asked = (1_000, Event::ResignAsked { who: FIRST, hold_off: None });
    let later = (longest + 1_001, sent(SECOND, ACQUIRE));
    assert_eq!(broken(&[asked, later]), ["stopped-within"]);
}

#[test]
fn too_many_calls_in_flight_are_found() {
    let call = |id| Event::Sent { who: FIRST, id, request: RENEW };
    let end = |id| Event::Answered { who: FIRST, id, answer: None };
    let calls = |many, ends: bool| {
        let one =
            |id| if ends { vec![(id, call(id)), (id, end(id))] } else { vec![(id, call(id))] };
        broken(&(0..many).flat_map(one).collect::<Vec<_>>())
    };
    assert_eq!(calls(8, false), [""; 0]);
    assert_eq!(calls(500, true), [""; 0]);
    assert_eq!(calls(500, false), ["bounded-window"]);
    // Requests with one number are one call.
    let one_call: Vec<_> = (0..500).map(|at| (at, call(1))).collect();
    assert_eq!(broken(&one_call), [""; 0]);
}
