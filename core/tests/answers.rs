//! What a candidate does on each answer of the store, and when it asks again.

use std::time::Duration;

use tenure_core::{
    Candidate, Config, Event, Input, Instant, Output, Reply, Request, RequestId, Seed, Token,
    Unknown,
};

const START: Instant = Instant::from_nanos(100_000_000_000);
const LONG: Duration = Duration::from_secs(9);

fn held(token: Token) -> Reply {
    Reply::Held { token, remaining: LONG, ttl: LONG }
}

fn feed(candidate: &mut Candidate, now: Instant, input: Input) -> Vec<Output> {
    candidate.handle(now, input);
    let mut outputs: Vec<Output> = std::iter::from_fn(|| candidate.poll()).collect();
    while candidate.pending().is_some() {
        candidate.handle(now, Input::Admitted);
        outputs.extend(std::iter::from_fn(|| candidate.poll()));
    }
    outputs
}

/// The id of the one request that was sent.
fn sent(outputs: &[Output]) -> RequestId {
    match outputs {
        [Output::Send { id, .. }] => *id,
        other => panic!("one request: {other:?}"),
    }
}

/// A candidate that has asked at the start.
fn campaigning(config: Config) -> (Candidate, RequestId) {
    let mut candidate = Candidate::new(config, Seed::new(3));
    let id = sent(&feed(&mut candidate, START, Input::Campaign));
    (candidate, id)
}

fn answer(
    candidate: &mut Candidate,
    now: Instant,
    id: RequestId,
    result: Result<Reply, Unknown>,
) -> Vec<Output> {
    feed(candidate, now, Input::Reply { id, result })
}

/// Asking again at once is useful only if the answer names a token that was not known.
#[test]
fn stale_with_a_new_token_is_retried_at_once() {
    let (mut candidate, id) = campaigning(Config::normal());
    let second = Token::FIRST.next();
    let outputs = answer(&mut candidate, START, id, Ok(Reply::Stale { last: second }));
    let id = sent(&outputs);
    for last in [second, Token::FIRST] {
        let mut candidate = candidate.clone();
        let outputs = answer(&mut candidate, START, id, Ok(Reply::Stale { last }));
        let since = START;
        assert_eq!(outputs, [Output::Event(Event::StoreUnavailable { since })]);
    }
}

/// A store that was restored to an older state may grant it.
#[test]
fn a_grant_of_a_known_token_is_released() {
    let (mut candidate, id) = campaigning(Config::normal());
    answer(&mut candidate, START, id, Ok(held(Token::FIRST)));
    let due = candidate.deadline().unwrap();
    let id = sent(&feed(&mut candidate, due, Input::Wake));
    let grant = Reply::Granted { token: Token::FIRST, wait: Duration::ZERO };
    let outputs = answer(&mut candidate, due, id, Ok(grant));
    let [Output::Send { request: Request::Release { token, .. }, .. }] = outputs[..] else {
        panic!("it is handed back: {outputs:?}");
    };
    assert_eq!(token, Token::FIRST);
    assert_eq!(candidate.claim(due), None);
}

/// A hint while a request is under way leads to one more, and not to one after each answer from then on.
#[test]
fn a_hint_causes_one_attempt() {
    for result in [Ok(held(Token::FIRST)), Err(Unknown)] {
        let (mut candidate, id) = campaigning(Config::normal());
        assert_eq!(feed(&mut candidate, START, Input::Hint), []);
        // At once, or after the pause that follows a failure.
        let mut outputs = answer(&mut candidate, START, id, result);
        let mut now = START;
        while !outputs.iter().any(|output| matches!(output, Output::Send { .. })) {
            now = candidate.deadline().unwrap();
            outputs = feed(&mut candidate, now, Input::Wake);
        }
        assert!(now < START + LONG, "soon after {result:?}");
        let id = sent(&outputs[outputs.len() - 1..]);
        let outputs = answer(&mut candidate, now, id, Ok(held(Token::FIRST)));
        assert!(!outputs.iter().any(|output| matches!(output, Output::Send { .. })), "{outputs:?}");
        assert!(candidate.deadline().unwrap() >= now + LONG, "as if there had been no {result:?}");
    }
}

/// A driver that knows how many outputs there are may stop polling before `None`.
#[test]
fn polling_past_the_last_output_is_optional() {
    let (mut candidate, mut id) = campaigning(Config::normal());
    answer(&mut candidate, START, id, Ok(held(Token::FIRST)));
    for _ in 0..20 {
        let due = candidate.deadline().unwrap();
        candidate.handle(due, Input::Wake);
        candidate.handle(due, Input::Admitted);
        id = sent(&[candidate.poll().expect("a request is due")]);
        candidate.handle(due, Input::Reply { id, result: Ok(held(Token::FIRST)) });
    }
}

#[test]
fn zero_drain_bound_waits_without_a_deadline() {
    let config = Config::builder(Duration::from_secs(15)).drain_bound(Duration::ZERO);
    let (mut candidate, id) = campaigning(config.build().unwrap());
    let grant = Reply::Granted { token: Token::FIRST, wait: Duration::ZERO };
    answer(&mut candidate, START, id, Ok(grant));
    feed(&mut candidate, START, Input::Resign { again_after: None });
    assert_eq!(candidate.deadline(), None, "only the work's end is waited for");
}

const REFUSED: Reply = Reply::Refused { ttl: Duration::from_secs(60), quarantine: None };

fn refusals(outputs: &[Output]) -> usize {
    let is_one = |output: &&Output| matches!(output, Output::Event(Event::Refused(_)));
    outputs.iter().filter(is_one).count()
}

/// A refusal is an answer: the store is available, and the event is emitted once.
#[test]
fn a_refusal_is_reported_once_and_retried() {
    let config = Config::normal();
    let (mut candidate, mut id) = campaigning(config);
    let (mut now, mut reported) = (START, 0);
    for _ in 0..5 {
        let outputs = answer(&mut candidate, now, id, Ok(REFUSED));
        assert!(!outputs.iter().any(|output| matches!(output, Output::Send { .. })));
        reported += refusals(&outputs);
        assert_eq!(candidate.deadline(), Some(now + config.poll_bound()));
        now = now + config.poll_bound();
        id = sent(&feed(&mut candidate, now, Input::Wake));
    }
    assert_eq!(reported, 1);
    let (ttl, quarantine) = (Duration::from_secs(30), None);
    let others = answer(&mut candidate, now, id, Ok(Reply::Refused { ttl, quarantine }));
    let [Output::Event(Event::Refused(refusal))] = others[..] else { panic!("{others:?}") };
    assert_eq!((refusal.ttl(), refusal.quarantine()), (ttl, quarantine));
}

#[test]
fn a_refused_candidate_can_withdraw() {
    let (mut candidate, id) = campaigning(Config::normal());
    feed(&mut candidate, START, Input::Resign { again_after: None });
    assert_eq!(answer(&mut candidate, START, id, Ok(REFUSED)), [Output::Event(Event::Withdrawn)]);
    assert_eq!(candidate.deadline(), None);
}

/// The store uses the declared quarantine, which is shorter than a TTL that the candidate has seen.
#[test]
fn a_longer_ttl_is_waited_out() {
    let config = Config::normal();
    let longest = Duration::from_secs(60);
    for seen in [REFUSED, Reply::Held { token: Token::FIRST, remaining: LONG, ttl: longest }] {
        for wait in [Duration::ZERO, Duration::from_secs(7)] {
            let (mut candidate, id) = campaigning(config);
            answer(&mut candidate, START, id, Ok(seen));
            let due = candidate.deadline().unwrap();
            let id = sent(&feed(&mut candidate, due, Input::Wake));
            let token = Token::FIRST.next();
            let outputs = answer(&mut candidate, due, id, Ok(Reply::Granted { token, wait }));
            let until = due + wait + longest.saturating_sub(config.quarantine());
            assert_eq!(outputs, [Output::Event(Event::Quarantined { until })]);
        }
    }
}

#[test]
fn a_ttl_within_the_quarantine_costs_no_wait() {
    let (mut candidate, id) = campaigning(Config::normal());
    let ttl = Config::normal().quarantine();
    answer(
        &mut candidate,
        START,
        id,
        Ok(Reply::Held { token: Token::FIRST, remaining: LONG, ttl }),
    );
    let due = candidate.deadline().unwrap();
    let id = sent(&feed(&mut candidate, due, Input::Wake));
    let grant = Reply::Granted { token: Token::FIRST.next(), wait: Duration::ZERO };
    answer(&mut candidate, due, id, Ok(grant));
    assert!(candidate.claim(due).is_some());
}
