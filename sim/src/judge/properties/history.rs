//! Hand-made histories, for the tests of the properties and of the sometimes-conditions. Times are
//! in nanoseconds.

use std::time::Duration;

use super::{Finding, Found, Leader, Limits, Property, State, Tally, Terms};
use crate::plan::{NANOSECOND, SimTime, ns};
use crate::trace::{Answer, Asked, Event, Kept, Mark, Reason, StoreStep, Who};

/// One input of a property.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "most of them are events")]
pub(crate) enum Seen {
    Event(SimTime, Event),
    Probe(SimTime, Vec<Leader>),
    End(SimTime),
}

/// Asserts that the property finds no violation.
pub(crate) fn holds(property: impl Property, history: &[Seen]) {
    compares(property, history);
}

/// Asserts that the property finds a violation in the last step of the history, and in none before
/// it.
pub(crate) fn fails(mut property: impl Property, history: &[Seen]) -> Finding {
    let (last, first) = history.split_last().expect("a history");
    let (mut state, mut tally) = (State::default(), Tally::default());
    for seen in first {
        look(&mut property, seen, &mut state, &mut tally)
            .unwrap_or_else(|what| panic!("{what}, too early: {seen:?}"));
    }
    let found = look(&mut property, last, &mut state, &mut tally);
    found.expect_err("no violation was found")
}

/// The number of comparisons of the property in a history without a violation.
pub(crate) fn compares(mut property: impl Property, history: &[Seen]) -> u64 {
    let (mut state, mut tally) = (State::default(), Tally::default());
    for seen in history {
        look(&mut property, seen, &mut state, &mut tally)
            .unwrap_or_else(|what| panic!("{what}, at {seen:?}"));
    }
    tally.compared()
}

/// Imitates the judge.
fn look(property: &mut impl Property, seen: &Seen, state: &mut State, tally: &mut Tally) -> Found {
    let about = property.about();
    match seen {
        Seen::Event(at, _) | Seen::End(at) => {
            if about.probes && *at > state.at() {
                property.probe(state.at(), state, tally)?;
            }
            if about.has_deadlines {
                property.in_time(*at, state)?;
            }
        }
        Seen::Probe(at, leaders) => {
            assert!(about.probes, "the judge does not probe this property");
            return property.probe(*at, &state.with_leaders(leaders), tally);
        }
    }
    match seen {
        Seen::Event(at, event) => {
            property.observe(*at, event, state, tally)?;
            state.observe(*at, event);
            Ok(())
        }
        Seen::Probe(..) => Ok(()),
        Seen::End(at) => property.finish(*at, tally),
    }
}

/// Terms in which each candidate keeps a margin of ten nanoseconds: eleven, at a drift of a tenth.
/// Its drain bound takes at most 40, its longest stop 100, its look interval 500.
pub(crate) fn terms() -> Terms {
    let limits = Limits {
        stop_margin: span(11),
        drift_ppm: 100_000,
        request_timeout: span(50),
        renew_interval: span(90),
        retry_most: span(22),
        hint_spacing: span(18),
        drain_bound: span(36),
        look_interval: span(450),
        longest_stop: span(90),
    };
    Terms {
        candidates: vec![limits; 4],
        no_clock_too_fast: true,
        tick: NANOSECOND,
        ..Terms::default()
    }
}

/// Milliseconds, in nanoseconds.
pub(crate) const fn millis(millis: u64) -> u64 {
    millis * 1_000_000
}

/// A span of that many nanoseconds.
pub(crate) const fn span(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

pub(crate) fn at(at: u64, event: Event) -> Seen {
    Seen::Event(ns(at), event)
}

/// The same step, at that server.
pub(crate) fn by_server(server: u32, event: Event) -> Event {
    match event {
        Event::Store(step) => Event::Store(StoreStep { server, ..step }),
        _ => panic!("{event:?} is not a step of the store"),
    }
}

pub(crate) fn probe(at: u64, leaders: &[Leader]) -> Seen {
    Seen::Probe(ns(at), leaders.to_vec())
}

pub(crate) fn end(at: u64) -> Seen {
    Seen::End(ns(at))
}

/// The first life of a node.
pub(crate) fn n(node: usize) -> Who {
    Who { node, life: 0 }
}

pub(crate) fn leader(who: Who, token: u64) -> Leader {
    Leader { who, token }
}

pub(crate) fn elected(who: Who, token: u64, claim_ends: u64) -> Event {
    Event::Elected { who, token, claim_ends: ns(claim_ends) }
}

pub(crate) fn renewed(who: Who, token: u64, claim_ends: u64) -> Event {
    Event::Renewed { who, token, claim_ends: ns(claim_ends) }
}

pub(crate) fn stepped_down(who: Who, token: u64, reason: Reason) -> Event {
    Event::SteppedDown { who, token, reason, drain_ends: SimTime::START }
}

/// A step-down with the end of the time that its work has to drain.
pub(crate) fn drains(who: Who, token: u64, reason: Reason, drain_ends: u64) -> Event {
    Event::SteppedDown { who, token, reason, drain_ends: ns(drain_ends) }
}

pub(crate) fn drain_moved(who: Who, token: u64, drain_ends: u64) -> Event {
    Event::DrainMoved { who, token, drain_ends: ns(drain_ends) }
}

pub(crate) fn resign_asked(who: Who, hold_off: Option<u64>) -> Event {
    Event::ResignAsked { who, hold_off }
}

pub(crate) fn withdrawn(who: Who) -> Event {
    Event::Withdrawn { who, done: true }
}

pub(crate) fn leads(who: Who, token: u64) -> Event {
    Event::Leads { who, token }
}

pub(crate) fn leads_no_more(who: Who) -> Event {
    Event::LeadsNoMore { who }
}

pub(crate) fn crashed(who: Who) -> Event {
    Event::Crashed { who }
}

pub(crate) fn store_crashed(keeps_data: bool) -> Event {
    Event::StoreCrashed { keeps_data }
}

pub(crate) fn work_began(who: Who, token: u64) -> Event {
    Event::WorkBegan { who, token }
}

pub(crate) fn work_ended(who: Who, token: u64) -> Event {
    Event::WorkEnded { who, token, polled: Some(SimTime::START) }
}

pub(crate) fn work_dropped(who: Who, token: u64) -> Event {
    Event::WorkEnded { who, token, polled: None }
}

/// A write whose check was at time zero.
pub(crate) fn wrote(who: Who, token: u64, accepted_by_fenced: bool) -> Event {
    Event::Wrote { who, token, checked: SimTime::START, takes_over: false, accepted_by_fenced }
}

/// An accepted write, with the time of its check.
pub(crate) fn wrote_after(who: Who, token: u64, checked: u64) -> Event {
    Event::Wrote { who, token, checked: ns(checked), takes_over: false, accepted_by_fenced: true }
}

pub(crate) fn sent(who: Who, id: u64, request: Asked) -> Event {
    Event::Sent { who, id, request }
}

pub(crate) fn answered(who: Who, id: u64, answer: Answer) -> Event {
    Event::Answered { who, id, answer: Some(answer) }
}

/// A request that the candidate has given up.
pub(crate) fn given_up(who: Who, id: u64) -> Event {
    Event::Answered { who, id, answer: None }
}

pub(crate) const fn granted(token: u64) -> Answer {
    Answer::Granted { token }
}

/// Answers of a store whose past is watched.
pub(crate) const NOT: Answer = Answer::Not { past_is_watched: true };
pub(crate) const RENEWED: Answer = Answer::Renewed { past_is_watched: true };

/// An acquire that has watched nothing.
pub(crate) const fn asks(seen: u64) -> Asked {
    Asked::Acquire { seen, watched: None }
}

/// A record of a lease that was not handed back. Its end is the number of its mark too: each
/// renewal moves it.
pub(crate) const fn kept(holder: u128, token: u64, lease_ends: u64) -> Kept {
    let mark = Mark { holder, number: lease_ends };
    Kept { token, mark, lease_ends: ns(lease_ends), released: false }
}

/// The same record, handed back.
pub(crate) fn back(kept: Kept) -> Kept {
    Kept { released: true, ..kept }
}

/// Any step at the store.
pub(crate) fn step(
    holder: u128,
    request: Asked,
    answer: Answer,
    before: Option<Kept>,
    after: Option<Kept>,
) -> Event {
    Event::Store(StoreStep { server: 0, holder, request, answer, before, after })
}

/// A grant of `after` to its holder, which knew and had watched the record before.
pub(crate) fn grant(before: Option<Kept>, after: Kept) -> Event {
    let seen = before.map_or(0, |kept| kept.token);
    let watched = before.filter(|kept| !kept.released).map(|kept| kept.mark);
    let request = Asked::Acquire { seen, watched };
    step(after.mark.holder, request, granted(after.token), before, Some(after))
}

/// A renewal of its lease by the holder.
pub(crate) fn renew(before: Kept, lease_ends: u64) -> Event {
    let after = kept(before.mark.holder, before.token, lease_ends);
    let request = Asked::Renew { token: before.token };
    let after = Kept { released: before.released, ..after };
    step(before.mark.holder, request, RENEWED, Some(before), Some(after))
}

/// A release of its lease by the holder.
pub(crate) fn release(before: Kept) -> Event {
    let request = Asked::Release { token: before.token };
    step(before.mark.holder, request, Answer::Released, Some(before), Some(back(before)))
}

/// A request that changes nothing.
pub(crate) fn refuse(holder: u128, request: Asked, answer: Answer, kept: Option<Kept>) -> Event {
    step(holder, request, answer, kept, kept)
}
