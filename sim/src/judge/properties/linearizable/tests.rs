//! Histories that some order explains, and histories that none explains.

use super::super::history::{
    NOT, RENEWED, Seen, answered, asks, at, by_server, crashed, end, fails, given_up, granted,
    holds, n, sent, step, store_crashed,
};
use super::*;
use crate::trace::Mark;

const FIRST: Asked = asks(0);
const SECOND: Asked = asks(7);
/// An acquire after watching the lease of node 1.
const TAKES: Asked = Asked::Acquire { seen: 7, watched: Some(Mark { holder: 1, number: 1 }) };
const RENEW: Asked = Asked::Renew { token: 7 };
const RELEASE: Asked = Asked::Release { token: 7 };

/// A step of the holder with the same number as its node; the record does not matter here.
fn took(node: u32, request: Asked, answer: Answer) -> Event {
    step(node.into(), request, answer, None, None)
}

/// A request that is sent, carried out and answered without another event in between.
fn at_once(node: u32, id: u64, request: Asked, answer: Answer) -> Vec<Event> {
    let who = n(node as usize);
    vec![sent(who, id, request), took(node, request, answer), answered(who, id, answer)]
}

fn seen(events: &[Vec<Event>]) -> Vec<Seen> {
    let numbered = events.concat().into_iter().zip(1..);
    numbered.map(|(event, when)| at(when, event)).collect()
}

fn is_linearizable(events: &[Vec<Event>]) {
    let mut history = seen(events);
    history.push(end(9_000));
    holds(Linearizable::default(), &history);
}

fn is_not(events: &[Vec<Event>]) -> String {
    fails(Linearizable::default(), &seen(events)).to_string()
}

#[test]
fn a_tenure_and_the_next_one() {
    is_linearizable(&[
        at_once(1, 1, FIRST, granted(7)),
        at_once(2, 1, FIRST, NOT),
        at_once(1, 2, RENEW, RENEWED),
        at_once(1, 3, RELEASE, Answer::Released),
        at_once(2, 2, FIRST, NOT),
        at_once(2, 3, SECOND, granted(8)),
        at_once(1, 4, RENEW, Answer::Superseded),
        at_once(1, 5, RELEASE, Answer::NotHeld),
    ]);
    // A lease is taken by who has watched it.
    is_linearizable(&[at_once(1, 1, FIRST, granted(7)), at_once(2, 1, TAKES, granted(8))]);
    is_not(&[at_once(1, 1, FIRST, granted(7)), at_once(2, 1, SECOND, granted(8))]);
}

#[test]
fn one_token_for_two() {
    let what = is_not(&[at_once(1, 1, FIRST, granted(7)), at_once(2, 1, FIRST, granted(7))]);
    assert!(what.starts_with("no order explains these answers, after Last"), "{what}");
    is_linearizable(&[at_once(1, 1, FIRST, granted(7)), at_once(1, 2, FIRST, granted(7))]);
}

#[test]
fn a_tenure_that_continues_after_its_end() {
    for end in [at_once(1, 2, RELEASE, Answer::Released), at_once(2, 1, TAKES, granted(8))] {
        let began = at_once(1, 1, FIRST, granted(7));
        for continues in [
            at_once(1, 3, RENEW, RENEWED),
            at_once(1, 3, RELEASE, Answer::Released),
            at_once(1, 3, FIRST, granted(7)),
        ] {
            is_not(&[began.clone(), end.clone(), continues]);
        }
    }
}

#[test]
fn a_stale_read() {
    let released =
        [at_once(1, 1, FIRST, granted(7)), at_once(1, 2, RELEASE, Answer::Released)].concat();
    let renewed = || at_once(1, 3, RENEW, RENEWED);
    is_not(&[released.clone(), renewed()]);
    // While the release is in flight, the renewal may come first, whatever the store recorded.
    let mut under_way = released;
    let answer = under_way.pop().into_iter().collect();
    let history = [under_way, renewed(), answer];
    is_linearizable(&history);
    // An engine without ticks has recorded the only order.
    let exact = Linearizable { is_exact: true, ..Linearizable::default() };
    let what = fails(exact, &seen(&history)).to_string();
    assert!(what.starts_with("no order explains these answers"), "{what}");
}

#[test]
fn a_refusal_that_contradicts_the_grant() {
    let began = || at_once(1, 1, FIRST, granted(7));
    is_not(&[began(), at_once(1, 2, FIRST, NOT)]);
    is_linearizable(&[began(), at_once(1, 2, FIRST, Answer::Not { past_is_watched: false })]);
    is_not(&[began(), at_once(1, 2, RENEW, Answer::Superseded)]);
    is_not(&[began(), at_once(1, 2, RELEASE, Answer::NotHeld)]);
    is_not(&[began(), at_once(2, 2, FIRST, granted(8))]);
}

#[test]
fn an_answer_that_the_store_did_not_give() {
    let asked = vec![sent(n(1), 1, FIRST), took(1, FIRST, granted(7))];
    let what = is_not(&[asked.clone(), vec![answered(n(1), 1, granted(8))]]);
    assert!(what.starts_with("n1 got Granted { token: 8"), "{what}");
    // Nor an answer that the store gave before the request.
    let early = vec![took(2, FIRST, NOT), sent(n(1), 1, FIRST)];
    is_not(&[early, vec![answered(n(1), 1, NOT)]]);
    is_linearizable(&[asked, vec![answered(n(1), 1, Answer::Other)]]);
}

#[test]
fn unanswered_steps_count_too() {
    let lost = vec![sent(n(1), 1, FIRST), took(1, FIRST, granted(7)), given_up(n(1), 1)];
    is_linearizable(&[lost.clone(), at_once(2, 1, FIRST, NOT)]);
    is_not(&[lost.clone(), at_once(2, 1, FIRST, granted(7))]);
    let duplicate = vec![took(1, FIRST, granted(7))];
    is_linearizable(&[lost, duplicate, at_once(1, 2, RENEW, RENEWED)]);
    let gone = vec![sent(n(1), 1, FIRST), crashed(n(1)), took(1, FIRST, granted(7))];
    is_not(&[gone, at_once(2, 1, FIRST, granted(7))]);
}

#[test]
fn an_answer_may_arrive_after_its_window() {
    let asked = vec![sent(n(1), 1, FIRST), took(1, FIRST, granted(7))];
    let meanwhile: Vec<Event> = (1..60).flat_map(|id| at_once(2, id, FIRST, NOT)).collect();
    let reply = |token| vec![answered(n(1), 1, granted(token))];
    is_linearizable(&[asked.clone(), meanwhile.clone(), reply(7)]);
    is_not(&[asked, meanwhile, reply(8)]);
}

#[test]
fn nine_requests_at_once_are_judged() {
    let handed_back = Asked::Release { token: 6 };
    let before =
        [at_once(1, 1, FIRST, granted(6)), at_once(1, 2, handed_back, Answer::Released)].concat();
    let request = |node| if node == 1 { asks(6) } else { RENEW };
    let answer = |node| if node == 1 { granted(7) } else { RENEWED };
    let each = |does: &dyn Fn(u32) -> Event| (1..=9).rev().map(does).collect::<Vec<_>>();
    let ask = each(&|node| sent(n(node as usize), 3, request(node)));
    // The store records eight renewals before the grant; they are right only after it.
    let take = each(&|node| took(1, request(node), answer(node)));
    let reply = each(&|node| answered(n(node as usize), 3, answer(node)));
    is_linearizable(&[before.clone(), ask.clone(), take.clone(), reply.clone()]);
    // Without the grant no order explains them.
    let refused = [&ask[..8], &take[..8], &reply[..8]].concat();
    is_not(&[before, refused]);
}

#[test]
fn another_server_begins_anew() {
    let began = at_once(1, 1, FIRST, granted(7));
    let next = |server| {
        let grant = by_server(server, took(2, FIRST, granted(7)));
        vec![sent(n(2), 1, FIRST), grant, answered(n(2), 1, granted(7))]
    };
    is_linearizable(&[began.clone(), vec![store_crashed(false)], next(1)]);
    is_not(&[began, next(0)]);
}
