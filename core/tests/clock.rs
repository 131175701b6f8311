//! A driver may hand in a reading that is older than an earlier one: the candidate's time never
//! goes back.

use crate::sights::NAME;
use std::time::Duration;
use tenure_core::{Candidate, Config, Input, Instant, Output, Reply, Seed, Token};

const START: Instant = Instant::from_nanos(100_000_000_000);

fn feed(candidate: &mut Candidate, now: Instant, input: Input) -> Vec<Output> {
    candidate.handle(now, input);
    let mut outputs: Vec<Output> = std::iter::from_fn(|| candidate.poll()).collect();
    while candidate.pending().is_some() {
        candidate.handle(now, Input::Admitted);
        outputs.extend(std::iter::from_fn(|| candidate.poll()));
    }
    outputs
}

fn leader() -> Candidate {
    let mut candidate = Candidate::new(Config::normal(), NAME, Seed::new(3));
    let sent = feed(&mut candidate, START, Input::Campaign);
    let [Output::Send { id, .. }] = sent[..] else { panic!("one acquire: {sent:?}") };
    let granted = Reply::Granted { token: Token::FIRST };
    feed(&mut candidate, START, Input::Reply { id, result: Ok(granted) });
    candidate
}

#[test]
fn an_older_reading_counts_as_the_latest() {
    let later = START + Duration::from_secs(2);
    for input in [Input::Wake, Input::Resign { again_after: None }, Input::Drained] {
        let mut on_time = leader();
        feed(&mut on_time, later, Input::Wake);
        let mut stale = on_time.clone();
        let outputs = feed(&mut on_time, later, input);
        assert_eq!(feed(&mut stale, START, input), outputs);
        assert_eq!(stale, on_time, "after {input:?}");
    }
}

#[test]
fn an_older_reading_revives_no_claim() {
    let mut candidate = leader();
    let claim = candidate.claim(START).expect("leads");
    assert_eq!(claim.token(), Token::FIRST);
    let last = claim.valid_until() - Duration::from_nanos(1);
    assert_eq!(candidate.claim(last), Some(claim));
    assert_eq!(candidate.claim(claim.valid_until()), None);
    feed(&mut candidate, claim.valid_until(), Input::Wake);
    assert_eq!(candidate.claim(START), None);
}

#[test]
#[should_panic(expected = "poll() until None")]
fn handle_panics_while_outputs_are_unpolled() {
    let mut candidate = Candidate::new(Config::normal(), NAME, Seed::new(3));
    candidate.handle(START, Input::Campaign);
    candidate.handle(START, Input::Admitted);
    candidate.handle(START, Input::Wake);
}

#[test]
fn instants_saturate_at_both_ends() {
    let [first, last] = [0, u64::MAX].map(Instant::from_nanos);
    for most in [Duration::MAX, Duration::from_nanos(u64::MAX) + Duration::from_nanos(7)] {
        assert_eq!(first + most, last);
        assert_eq!(last - most, first);
    }
}
