mod desk;
mod together;

use std::time::Duration;

use tenure_core::Event::{SteppedDown, StoreUnavailable, Withdrawn};
use tenure_core::{
    Acquire, Asked, Config, NameId, Pending, Reply, Request, StepDownReason, Token, Wish,
};

use super::*;
use crate::admission::{Lane, Slack, Waiting};
use crate::alphabet::{Command, DescribeOutcome, Outcome, Outgoing, Question};
use desk::{Desk, NOW, SECOND, granted, held, renewed};

/// An election that has ended, or never was.
#[test]
fn an_id_that_was_left_in_a_queue_is_met_once() {
    for in_call in [1, 4] {
        is_met_once(in_call);
    }
}

fn is_met_once(in_call: usize) {
    let mut desk = Desk::new(in_call);
    for (id, pending) in [(1, Pending::Acquire), (2, Pending::Look), (3, Pending::Release)] {
        let waiting = Some(Waiting { pending, slack: Slack::default() });
        desk.driver.world.admission.set(id, &mut None, waiting, Lane::Usual);
    }
    desk.handle(Event::Resumed);
    desk.rest();
    assert_eq!(desk.actions, []);
    assert_eq!(desk.driver.world.admission.len(), 0);
}

/// A description is under way, for which nobody waits.
#[test]
fn nothing_is_due_after_the_end() {
    let mut desk = Desk::with(1, 1);
    desk.grant_all();
    desk.command(Command::Describe(1));
    desk.rest();
    assert!(desk.actions.iter().any(|action| matches!(action, Action::Describe { .. })));
    desk.command(Command::Stop);
    desk.handle(Event::HandlesGone);
    desk.handle(Event::Drained(0));
    desk.rest();
    for (call, _) in desk.calls() {
        desk.answer(call, vec![Outcome::Answered(Reply::Released)]);
    }
    assert_eq!(desk.actions.last(), Some(&Action::Stopped));
    assert_eq!(desk.driver.deadline(), None);
}

#[test]
fn questions_wait_for_their_window_and_their_end() {
    let mut desk = Desk::new(1);
    for id in 0..20 {
        desk.handle(Event::Ask(Question { id, request: "observe", within: SECOND }));
    }
    desk.handle(Event::HandlesGone);
    desk.rest();
    assert_eq!(desk.actions.len(), 8, "{:?}", desk.actions);
    // Nobody answers: they are given up, and others follow.
    desk.sleep(SECOND * 60);
    let cancels = desk.actions.iter().filter(|action| matches!(action, Action::Cancel(_)));
    assert_eq!(cancels.count(), 20);
    assert_eq!(desk.actions.last(), Some(&Action::Stopped));
}

#[test]
fn requests_that_wait_together_leave_in_one_call() {
    let mut desk = Desk::with(4, 10);
    let calls = desk.calls();
    let sizes: Vec<usize> = calls.iter().map(|(_, requests)| requests.len()).collect();
    assert_eq!(sizes, [4, 4, 2]);
}

#[test]
fn a_call_that_is_answered_in_part_is_refused_in_part() {
    let mut desk = Desk::with(2, 2);
    let calls = desk.calls();
    let [(call, _)] = calls[..] else { panic!("{calls:?}") };
    desk.answer(call, vec![granted()]);
    assert!(desk.leads(0));
    assert!(!desk.leads(1));
    assert!(desk.news_of(1).contains(&News::Event(StoreUnavailable { since: NOW })));
}

/// A watch must not count the time in which nobody watched.
#[test]
fn every_election_learns_of_a_suspend() {
    let ttl = Config::normal().ttl();
    let mut desk = Desk::with(1, 3);
    let mut resumed_at = NOW;
    let mut taken = 0;
    while taken < 3 {
        for (call, requests) in desk.calls() {
            let takes_over = |one: &Outgoing| {
                matches!(one.request, Request::Acquire(Acquire { mark: Some(_), .. }))
            };
            if requests.iter().any(takes_over) {
                assert!(desk.now.since(resumed_at) >= ttl);
                taken += 1;
            }
            let at = match held() {
                Outcome::Answered(Reply::Not(sight)) if requests.iter().any(looks) => {
                    Outcome::Answered(Reply::At(sight))
                }
                other => other,
            };
            desk.answer(call, vec![at]);
        }
        if resumed_at == NOW && desk.now.since(NOW) > ttl / 2 {
            resumed_at = desk.now;
            desk.handle(Event::Resumed);
        }
        desk.sleep(SECOND / 10);
        assert!(desk.now.since(NOW) < ttl * 4);
    }
    assert!(resumed_at > NOW);
}

fn looks(one: &Outgoing) -> bool {
    matches!(one.request, Request::Look { .. })
}

fn releases(one: &Outgoing) -> bool {
    matches!(one.request, Request::Release { .. })
}

#[test]
fn a_hint_reaches_its_observers_and_elections() {
    let mut desk = Desk::with(1, 2);
    for (call, _) in desk.calls() {
        desk.answer(call, vec![held()]);
    }
    desk.handle(Event::Watch(1, 7));
    desk.rest();
    desk.actions.clear();
    desk.handle(Event::Hint(1));
    assert_eq!(desk.actions.first(), Some(&Action::WakeObserver(7)));
    desk.rest();
    let calls = desk.calls();
    let [(_, requests)] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!(requests[0].election, 1);
}

#[test]
fn a_stuck_call_is_cancelled_when_nothing_in_it_is_wanted() {
    let mut desk = Desk::with(1, 1);
    let calls = desk.calls();
    let [(stuck, _)] = calls[..] else { panic!("{calls:?}") };
    desk.sleep(Config::normal().request_timeout());
    assert!(desk.actions.contains(&Action::Cancel(stuck)));
    assert!(desk.news_of(0).contains(&News::GivenUp("acquire")));
    desk.actions.clear();
    // Nobody waits for it any more.
    desk.answer(stuck, vec![granted()]);
    assert!(!desk.leads(0));
}

#[test]
fn silent_work_gives_the_lead_up() {
    let mut desk = Desk::with(1, 1);
    desk.grant_all();
    let due = |due| Command::WorkDue { token: Token::FIRST, due, hold_off: SECOND };
    desk.command(due(Some(desk.now + SECOND)));
    desk.rest();
    desk.actions.clear();
    desk.sleep(SECOND);
    assert!(desk.actions.contains(&Action::LookAtWork(0)));
    desk.command(due(Some(desk.now + SECOND)));
    desk.sleep(SECOND);
    assert!(desk.leads(0));
    // Of a tenure that is over.
    let (token, due_now) = (Token::FIRST.next(), Some(desk.now));
    desk.command(Command::WorkDue { token, due: due_now, hold_off: SECOND });
    assert!(desk.leads(0));
    desk.command(due(due_now));
    assert!(!desk.leads(0));
    let reason = desk.news_of(0).into_iter().find_map(|news| match news {
        News::Event(SteppedDown { reason, .. }) => Some(reason),
        _ => None,
    });
    assert_eq!(reason, Some(StepDownReason::Unresponsive));
}

/// The release is answered, and the last renewal before it is still under way.
#[test]
fn an_election_ends_with_its_last_request() {
    let mut desk = Desk::with(1, 1);
    desk.grant_all();
    desk.command(Command::RenewNow);
    desk.rest();
    let calls = desk.calls();
    let [(renewal, _)] = calls[..] else { panic!("{calls:?}") };
    desk.command(Command::Stop);
    desk.handle(Event::Drained(0));
    desk.rest();
    let calls = desk.calls();
    let [(release, _)] = calls[..] else { panic!("{calls:?}") };
    desk.answer(release, vec![Outcome::Answered(Reply::Released)]);
    desk.command(Command::Stop);
    let count = |desk: &Desk, news| desk.news_of(0).iter().filter(|one| **one == news).count();
    assert_eq!((count(&desk, News::Event(Withdrawn)), count(&desk, News::Left)), (2, 1));
    assert!(count(&desk, News::Ended) == 0 && !desk.driver.is_empty());
    desk.answer(renewal, vec![renewed()]);
    assert!(count(&desk, News::Ended) == 1 && desk.driver.is_empty());
}

/// A server that has failed may have lost what it has answered before.
#[test]
fn a_profile_is_told_again_after_a_failure() {
    let mut desk = Desk::with(1, 1);
    desk.grant_all();
    let describes = |desk: &mut Desk| {
        desk.rest();
        let call = desk.actions.iter().find_map(|action| match action {
            Action::Describe { call, .. } => Some(*call),
            _ => None,
        });
        desk.actions.retain(|action| !matches!(action, Action::Describe { .. }));
        call
    };
    let told = |desk: &mut Desk, call| {
        desk.handle(Event::Described(call, 1, DescribeOutcome::Answered));
    };
    let renews = |desk: &mut Desk, outcome| {
        desk.sleep(SECOND);
        desk.command(Command::RenewNow);
        desk.rest();
        // One that was under way before is followed by another one.
        for _ in 0..2 {
            for (call, _) in desk.calls() {
                desk.answer(call, vec![outcome]);
            }
        }
    };
    desk.command(Command::Describe(1));
    let first = describes(&mut desk).unwrap();
    renews(&mut desk, Outcome::Refused);
    told(&mut desk, first);
    renews(&mut desk, renewed());
    // What was answered after the failure counts.
    let second = describes(&mut desk).unwrap();
    told(&mut desk, second);
    desk.sleep(SECOND);
    assert_eq!(describes(&mut desk), None);
    renews(&mut desk, renewed());
    assert_eq!(describes(&mut desk), None);
}

#[test]
fn the_time_never_goes_back() {
    let mut desk = Desk::with(1, 1);
    let later = NOW + SECOND;
    desk.driver.handle(later, Event::Resumed);
    while desk.driver.poll().is_some() {}
    desk.command(Command::Describe(1));
    assert_eq!(desk.driver.now, later);
    assert!(desk.driver.deadline().is_some_and(|at| at <= NOW), "at once");
}

/// A record may be locked while the store answers others.
#[test]
fn an_overtaken_request_is_followed_in_the_lane_of_stuck_ones() {
    let mut desk = Desk::with(1, 2);
    let calls = desk.calls();
    let [_, (healthy, _)] = calls[..] else { panic!("{calls:?}") };
    desk.answer(healthy, vec![granted()]);
    desk.sleep(Config::normal().request_timeout() * 2);
    let is_next = |one: &(CallId, Vec<Outgoing>)| one.1[0].election == 0;
    let next = desk.calls().into_iter().find(is_next).unwrap().0;
    let flying = desk.driver.world.calls.ended(next).unwrap();
    assert_eq!(flying.lane, Lane::Stuck);
}

#[test]
fn a_resignation_opens_the_claim_unless_the_candidate_stops() {
    let mut desk = Desk::with(1, 1);
    desk.grant_all();
    let resign = || Command::Resign(SECOND);
    desk.actions.clear();
    desk.command(resign());
    assert_eq!(desk.news_of(0).first(), Some(&News::Reopened));
    desk.command(Command::Stop);
    desk.actions.clear();
    desk.command(resign());
    assert!(!desk.news_of(0).contains(&News::Reopened));
}

#[test]
fn a_claim_that_was_closed_is_given_up() {
    let mut desk = Desk::with(1, 1);
    desk.grant_all();
    desk.command(Command::Closed(Token::FIRST.next()));
    assert!(desk.leads(0));
    desk.command(Command::Closed(Token::FIRST));
    assert!(!desk.leads(0));
    assert!(desk.actions.contains(&Action::Drain(0)));
}

#[test]
fn a_description_that_is_not_answered_is_given_up() {
    let mut desk = Desk::with(1, 1);
    desk.grant_all();
    desk.command(Command::Describe(1));
    desk.rest();
    let call = desk.actions.iter().find_map(|action| match action {
        Action::Describe { call, .. } => Some(*call),
        _ => None,
    });
    let cancel = Action::Cancel(call.unwrap());
    desk.sleep(Config::normal().request_timeout());
    assert!(desk.actions.contains(&cancel));
}

/// The store may still have to carry out all that was given up.
#[test]
fn few_calls_follow_those_that_were_given_up() {
    let mut desk = Desk::with(1, 100);
    assert_eq!(desk.calls().len(), 8);
    desk.sleep(Config::normal().request_timeout());
    let calls = desk.calls();
    let (last, _) = *calls.last().unwrap();
    desk.actions.clear();
    desk.answer(last, vec![held()]);
    assert!(desk.calls().len() <= 2);
}

/// Another candidate asks for the lead.
fn asked() -> Outcome {
    let asked = Some(Asked { name: NameId::from_bits(7), defer: Duration::ZERO });
    Outcome::Answered(Reply::Renewed { asked, wanted: Some(Wish::Anybody), past: None })
}

#[test]
fn a_held_tenure_is_not_handed_over() {
    let mut desk = Desk::with(1, 1);
    desk.grant_all();
    let renews = |desk: &mut Desk| {
        desk.command(Command::RenewNow);
        desk.rest();
        for (call, _) in desk.calls() {
            desk.answer(call, vec![asked()]);
        }
    };
    desk.command(Command::Held(Token::FIRST.next(), NOW + SECOND * 9));
    desk.command(Command::Held(Token::FIRST, NOW + SECOND));
    renews(&mut desk);
    assert!(desk.leads(0));
    desk.sleep(SECOND);
    renews(&mut desk);
    assert!(!desk.leads(0), "the hold is over");
}

#[test]
fn the_lease_of_a_held_tenure_runs_out() {
    let releases = |held_for, is_failing| {
        let mut desk = Desk::with(1, 1);
        desk.grant_all();
        if is_failing {
            desk.command(Command::RenewNow);
            desk.rest();
            let (call, _) = desk.calls().remove(0);
            desk.answer(call, vec![Outcome::Refused]);
        }
        desk.command(Command::Held(Token::FIRST, NOW + held_for));
        desk.command(Command::Resign(SECOND));
        desk.handle(Event::Drained(0));
        desk.rest();
        let news = desk.news_of(0);
        let runs_out = News::RunsOut { token: Token::FIRST, held_for };
        let is_withdrawn = news.contains(&News::Event(Withdrawn));
        (desk.calls().len(), news.contains(&runs_out), is_withdrawn)
    };
    assert_eq!(releases(SECOND, false), (0, true, true));
    // As if it had been sent to a store that does not answer.
    assert_eq!(releases(SECOND, true), (0, true, false));
    assert_eq!(releases(Duration::ZERO, false), (1, false, false));
}
