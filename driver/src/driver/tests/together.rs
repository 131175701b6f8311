//! Two conditions of an election at a time.

use std::time::Duration;

use tenure_core::Event::Withdrawn;
use tenure_core::{Reply, Request, Token};

use super::desk::{Desk, NOW, SECOND, granted, held_by, renewed};
use super::releases;
use crate::alphabet::{Command, Event, LostWork, News, Outcome};

fn loses_work(desk: &mut Desk, hold_off: Duration) {
    let lost = Command::WorkLost {
        token: Some(Token::FIRST),
        how: LostWork::Dropped,
        any: false,
        hold_off,
    };
    desk.command(lost);
    desk.handle(Event::Drained(0));
    desk.rest();
}

fn is_withdrawn(desk: &Desk) -> bool {
    desk.news_of(0).contains(&News::Event(Withdrawn))
}

/// Answers all calls under way as refused.
fn fails(desk: &mut Desk) {
    for (call, requests) in desk.calls() {
        desk.answer(call, vec![Outcome::Unanswered; requests.len()]);
    }
}

#[test]
fn a_resignation_holds_off_beside_lost_work() {
    for resigns_early in [true, false] {
        let mut desk = Desk::with(1, 1);
        desk.grant_all();
        loses_work(&mut desk, SECOND);
        let resign = Command::Resign(SECOND * 5);
        if resigns_early {
            desk.command(resign);
        }
        for (call, _) in desk.calls() {
            desk.answer(call, vec![Outcome::Answered(Reply::Released)]);
        }
        assert!(is_withdrawn(&desk));
        if !resigns_early {
            desk.command(resign);
        }
        desk.command(Command::Offers(true));
        desk.sleep(SECOND * 4);
        assert!(desk.calls().is_empty(), "{resigns_early}");
        desk.sleep(SECOND * 2);
        assert!(!desk.calls().is_empty(), "{resigns_early}");
    }
}

/// A lease that a silent store did not take back is given back before it is watched.
#[test]
fn a_lease_is_given_back_after_lost_work_and_an_outage() {
    let mut desk = Desk::with(1, 1);
    let (call, requests) = desk.calls().remove(0);
    let Request::Acquire(asked) = requests[0].request else { panic!("{requests:?}") };
    desk.answer(call, vec![granted()]);
    loses_work(&mut desk, SECOND);
    while !is_withdrawn(&desk) {
        fails(&mut desk);
        desk.sleep(SECOND / 10);
    }
    desk.actions.clear();
    desk.command(Command::Offers(true));
    desk.sleep(SECOND * 2);
    let (call, _) = desk.calls().remove(0);
    desk.answer(call, vec![held_by(asked.holder)]);
    let calls = desk.calls();
    assert!(calls.iter().any(|(_, requests)| releases(&requests[0])), "{calls:?}");
}

/// The answer under way may be older than the wish.
#[test]
fn a_wish_during_a_renewal_causes_another_one() {
    let mut desk = Desk::with(1, 1);
    desk.grant_all();
    desk.command(Command::RenewNow);
    desk.rest();
    let (first, _) = desk.calls().remove(0);
    desk.command(Command::RenewNow);
    desk.rest();
    assert!(desk.calls().is_empty());
    desk.answer(first, vec![renewed()]);
    let (second, _) = desk.calls().remove(0);
    desk.answer(second, vec![renewed()]);
    assert!(desk.calls().is_empty(), "one wish, one more");
}

/// The failure of a request that nobody waits for any more says nothing once the store answers.
#[test]
fn the_lease_of_a_held_tenure_runs_out_after_an_old_failure() {
    let mut desk = Desk::with(1, 1);
    let (first, _) = desk.calls().remove(0);
    desk.answer(first, vec![granted()]);
    desk.command(Command::RenewNow);
    desk.rest();
    let (renewal, _) = desk.calls().remove(0);
    desk.command(Command::Resign(SECOND));
    desk.handle(Event::Drained(0));
    desk.rest();
    let (release, _) = desk.calls().remove(0);
    // The machine waits for the release alone.
    desk.answer(renewal, vec![Outcome::Refused]);
    desk.answer(release, vec![Outcome::Answered(Reply::Released)]);
    desk.sleep(SECOND * 2);
    let (call, _) = desk.calls().remove(0);
    let token = Token::FIRST.next();
    desk.answer(call, vec![Outcome::Answered(Reply::Granted { token })]);
    assert!(desk.leads(0));
    desk.actions.clear();
    desk.command(Command::Held(token, NOW + SECOND * 60));
    desk.command(Command::Resign(SECOND));
    desk.handle(Event::Drained(0));
    desk.rest();
    assert!(is_withdrawn(&desk), "{:?}", desk.actions);
}

#[test]
fn a_candidate_has_left_once_its_withdrawal_is_reported() {
    let mut desk = Desk::with(1, 1);
    desk.grant_all();
    desk.command(Command::Stop);
    desk.handle(Event::Drained(0));
    desk.rest();
    let (release, _) = desk.calls().remove(0);
    desk.answer(release, vec![Outcome::Answered(Reply::Released)]);
    let news = desk.news_of(0);
    let place = |of| news.iter().position(|one| *one == of).unwrap();
    assert!(place(News::Left) < place(News::Event(Withdrawn)));
}
