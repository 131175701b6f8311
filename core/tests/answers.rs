//! A candidate's reaction to each answer of the store, and the time of its next request.

use std::time::Duration;

use crate::sights::{NAME, given_back, held, record, sight, unwatched};
use tenure_core::contract::Record;
use tenure_core::{
    Acquire, Candidate, Config, Event, Input, Instant, Loss, NameId, Output, Reply, Request,
    RequestId, Reservation, Seed, Sight, Stage, Stamp, Token, Unknown, UnwatchedPast, Watched,
};

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

/// The id of the one request that was sent.
fn sent(outputs: &[Output]) -> RequestId {
    match outputs {
        [Output::Send { id, .. }] => *id,
        other => panic!("one request: {other:?}"),
    }
}

/// A candidate that has asked at the start.
fn campaigning(config: Config) -> (Candidate, RequestId) {
    let mut candidate = Candidate::new(config, NAME, Seed::new(3));
    let id = sent(&feed(&mut candidate, START, Input::Campaign));
    (candidate, id)
}

/// The outputs of an answer, but for the request that may leave now.
fn answer(
    candidate: &mut Candidate,
    now: Instant,
    id: RequestId,
    result: Result<Reply, Unknown>,
) -> Vec<Output> {
    candidate.handle(now, Input::Reply { id, result });
    std::iter::from_fn(|| candidate.poll()).collect()
}

/// The next request: when it is sent, and which.
fn next(candidate: &mut Candidate) -> (Instant, RequestId, Request) {
    // An older reading of the clock counts as the latest.
    let waits = candidate.deadline().filter(|_| candidate.pending().is_none());
    let now = waits.unwrap_or(START);
    let outputs = feed(candidate, now, Input::Wake);
    match outputs[..] {
        [Output::Send { id, request, give_up_at }] => {
            (give_up_at - candidate.config().request_timeout(), id, request)
        }
        _ => panic!("one request: {outputs:?}"),
    }
}

/// The looks that are sent until the next acquire, all of which show the same; and when that is
/// sent.
fn watches(candidate: &mut Candidate, shown: Sight) -> (Vec<Instant>, Instant, Acquire) {
    let mut looks = Vec::new();
    loop {
        match next(candidate) {
            (now, id, Request::Look { .. }) => {
                looks.push(now);
                answer(candidate, now, id, Ok(Reply::At(shown)));
            }
            (now, _, Request::Acquire(asks)) => return (looks, now, asks),
            (.., other) => panic!("{other:?}"),
        }
    }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

const JITTER: Duration = Duration::from_millis(5);

/// Asking again at once is useful only if the answer says something new.
#[test]
fn a_lease_given_back_is_asked_for_at_once() {
    let config = Config::normal();
    let (mut candidate, id) = campaigning(config);
    let second = Token::FIRST.next();
    answer(&mut candidate, START, id, Ok(given_back(second)));
    let (now, id, request) = next(&mut candidate);
    assert!(
        now == START
            && matches!(request, Request::Acquire(Acquire { seen, .. }) if seen == Some(second))
    );
    assert_eq!(answer(&mut candidate, START, id, Ok(given_back(second))), []);
    assert_eq!(candidate.deadline(), Some(START + config.retry().0), "no tight loop");
}

/// A store that was restored to an older state may grant it.
#[test]
fn a_grant_of_a_known_token_is_released() {
    let (mut candidate, id) = campaigning(Config::normal());
    answer(&mut candidate, START, id, Ok(held(Token::FIRST)));
    candidate.handle(START, Input::Hint);
    let (now, id, _) = next(&mut candidate);
    answer(&mut candidate, now, id, Ok(Reply::Granted { token: Token::FIRST }));
    let (_, _, Request::Release { token, .. }) = next(&mut candidate) else {
        panic!("it is handed back")
    };
    assert_eq!(token, Token::FIRST);
    assert_eq!(candidate.claim(now), None);
}

/// A candidate that was told of a lease and asks for it again: when, its request, and the record of
/// its grant.
fn asking_again() -> (Candidate, Instant, RequestId, Record) {
    let (mut candidate, id) = campaigning(Config::normal());
    answer(&mut candidate, START, id, Ok(held(Token::FIRST)));
    candidate.handle(START, Input::Hint);
    let (now, id, Request::Acquire(Acquire { holder, number, .. })) = next(&mut candidate) else {
        panic!("it may be vacant now")
    };
    let own = Record { holder, number, ..record(Token::FIRST.next()) };
    (candidate, now, id, own)
}

/// A look shows the grant of such a request, after that answer, only when its claim would be over.
fn is_not_taken_late(answered: Result<Reply, Unknown>) {
    let (mut candidate, now, id, own) = asking_again();
    answer(&mut candidate, now, id, answered);
    let (_, id, request) = next(&mut candidate);
    assert!(matches!(request, Request::Look { .. }), "{request:?}");
    let late = now + candidate.config().validity();
    answer(&mut candidate, late, id, Ok(Reply::At(sight(own))));
    let (_, id, request) = next(&mut candidate);
    let Request::Acquire(asks) = request else { panic!("it asks at once: {request:?}") };
    assert!(asks.holder != own.holder && asks.mark.is_none(), "{asks:?}");
    answer(&mut candidate, late, id, Ok(Reply::Not(sight(own))));
    let (_, taken, asks) = watches(&mut candidate, sight(own));
    assert!(taken >= late + candidate.config().ttl(), "{taken:?}");
    assert!(asks.holder != own.holder && asks.mark == Some(own.mark()), "{asks:?}");
}

/// A store that was restored to it may have lost a later tenure, whose token is higher.
#[test]
fn a_lost_grant_is_not_taken_late() {
    is_not_taken_late(Err(Unknown));
}

/// The network may repeat an acquire that was answered, and the store grant it, while its sender is
/// paused; another candidate leads, and the store is restored to that grant.
#[test]
fn a_grant_to_a_late_duplicate_is_not_taken_late() {
    is_not_taken_late(Ok(held(Token::FIRST)));
}

/// A look may show the grant before the acquire is sent again. Nobody has led under that token.
#[test]
fn a_grant_whose_reply_was_lost_is_taken() {
    let (mut candidate, now, id, own) = asking_again();
    let token = own.token;
    answer(&mut candidate, now, id, Err(Unknown));
    let (now, id, request) = next(&mut candidate);
    assert!(matches!(request, Request::Look { .. }), "{request:?}");
    answer(&mut candidate, now, id, Ok(Reply::At(sight(own))));
    let (now, id, request) = next(&mut candidate);
    assert!(matches!(request, Request::Acquire(_)), "{request:?}");
    answer(&mut candidate, now, id, Ok(Reply::Granted { token }));
    assert_eq!(candidate.claim(now).map(|claim| claim.token()), Some(token));
}

/// A grant answers an acquire, and nothing else.
#[test]
fn a_look_is_granted_nothing() {
    let (mut candidate, id) = campaigning(Config::normal());
    answer(&mut candidate, START, id, Ok(held(Token::FIRST)));
    let (now, id, request) = next(&mut candidate);
    assert!(matches!(request, Request::Look { .. }));
    let token = Token::FIRST.next();
    answer(&mut candidate, now, id, Ok(Reply::Granted { token }));
    assert_eq!(candidate.claim(now), None);
}

/// A hint while a request is under way leads to one more, and not to one after each answer from
/// then on.
#[test]
fn a_hint_causes_one_attempt() {
    let (mut candidate, id) = campaigning(Config::normal());
    assert_eq!(feed(&mut candidate, START, Input::Hint), []);
    answer(&mut candidate, START, id, Ok(held(Token::FIRST)));
    let (now, id, request) = next(&mut candidate);
    assert!(now == START && matches!(request, Request::Acquire(_)), "it may be vacant now");
    assert_eq!(answer(&mut candidate, START, id, Ok(held(Token::FIRST))), []);
    assert!(candidate.deadline().unwrap() > START + seconds(4));
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
    let config = Config::builder(seconds(15)).drain_bound(Duration::ZERO);
    let (mut candidate, id) = campaigning(config.build().unwrap());
    answer(&mut candidate, START, id, Ok(Reply::Granted { token: Token::FIRST }));
    feed(&mut candidate, START, Input::Resign { again_after: None });
    assert_eq!(candidate.deadline(), None, "only the work's end is waited for");
}

/// A lease that stays as it is is watched for its TTL, from the first answer on. Looks are few
/// until it is overdue.
#[test]
fn a_lease_is_watched_for_its_ttl() {
    let config = Config::normal();
    let (mut candidate, id) = campaigning(config);
    answer(&mut candidate, START, id, Ok(held(Token::FIRST)));
    let (looks, taken, asks) = watches(&mut candidate, sight(record(Token::FIRST)));
    let first = looks[0].since(START);
    assert!(first > config.renew_interval() && first <= config.renew_interval() + 2 * JITTER);
    assert!(looks.len() < 10, "{looks:?}");
    let taken = taken.since(START);
    assert!(taken >= config.ttl() && taken <= config.ttl() + JITTER, "{taken:?}");
    assert_eq!(asks.mark, Some(record(Token::FIRST).mark()));
}

/// The age that the store hints at is taken for one only if it can be one.
#[test]
fn looks_are_timed_by_the_age() {
    let config = Config::normal();
    for (age, wait) in [(2, 3), (60, 5)] {
        let (mut candidate, id) = campaigning(config);
        let aged = Sight { now: Instant::ORIGIN + seconds(age), ..sight(record(Token::FIRST)) };
        answer(&mut candidate, START, id, Ok(Reply::Not(aged)));
        let waits = candidate.deadline().unwrap().since(START);
        assert_eq!(waits, seconds(wait) + 2 * JITTER);
    }
}

/// A renewal that is seen begins the watch anew.
#[test]
fn a_renewed_lease_is_watched_anew() {
    let (mut candidate, id) = campaigning(Config::normal());
    answer(&mut candidate, START, id, Ok(held(Token::FIRST)));
    let renewed = Record { number: RequestId::new(2).unwrap(), ..record(Token::FIRST) };
    let (at, id, _) = next(&mut candidate);
    answer(&mut candidate, at, id, Ok(Reply::At(sight(renewed))));
    let (_, taken, asks) = watches(&mut candidate, sight(renewed));
    assert_eq!(asks.mark, Some(renewed.mark()));
    assert!(taken >= at + seconds(15));
}

/// A suspended machine has watched nothing.
#[test]
fn a_resumed_candidate_watches_anew() {
    let (mut candidate, id) = campaigning(Config::normal());
    answer(&mut candidate, START, id, Ok(held(Token::FIRST)));
    let later = START + seconds(3_600);
    let outputs = feed(&mut candidate, later, Input::Resumed);
    let [Output::Send { id, request: Request::Look { .. }, .. }] = outputs[..] else {
        panic!("it looks: {outputs:?}")
    };
    answer(&mut candidate, later, id, Ok(Reply::At(sight(record(Token::FIRST)))));
    let (_, taken, asks) = watches(&mut candidate, sight(record(Token::FIRST)));
    assert!(asks.mark.is_some() && taken >= later + seconds(15));
}

/// Both watches begin anew.
#[test]
fn a_resumed_candidate_watches_the_past_anew() {
    let config = Config::normal();
    let (mut candidate, id) = campaigning(config);
    let past = Some(UnwatchedPast { stamp: Stamp::from_bits(1), longest: Duration::ZERO });
    let shown = Sight { past, ..sight(record(Token::FIRST)) };
    answer(&mut candidate, START, id, Ok(Reply::Not(shown)));
    let later = START + seconds(10);
    feed(&mut candidate, later, Input::Resumed);
    assert_eq!(candidate.stage(), Stage::Watching { until: later + config.quarantine() });
}

/// A lease that is kept for another name is watched for the reserve, from its release on; for this
/// name, not at all.
#[test]
fn a_reserve_is_watched() {
    let reserve = seconds(3);
    let kept = |name| Record {
        released: true,
        reservation: Some(Reservation { name, reserve }),
        ..record(Token::FIRST)
    };
    for (name, wait) in [(NAME, Duration::ZERO), (NameId::from_bits(7), reserve)] {
        let (mut candidate, id) = campaigning(Config::normal());
        answer(&mut candidate, START, id, Ok(held(Token::FIRST)));
        let (released, id, _) = next(&mut candidate);
        let shown = sight(kept(name));
        answer(&mut candidate, released, id, Ok(Reply::At(shown)));
        let (_, taken, asks) = watches(&mut candidate, shown);
        let taken = taken.since(released);
        assert!(taken >= wait && taken <= wait + JITTER, "{taken:?}");
        assert_eq!(asks.mark, Some(kept(name).mark()));
    }
}

fn watching(outputs: &[Output]) -> Vec<(Watched, Instant)> {
    let watches = |output: &Output| match output {
        Output::Event(Event::Watching { watched, until }) => Some((*watched, *until)),
        _ => None,
    };
    outputs.iter().filter_map(watches).collect()
}

/// Each cause is reported once.
#[test]
fn contradictory_settings_are_reported_once() {
    let (mut candidate, mut id) = campaigning(Config::normal());
    let other = |ttl| Record { ttl, quarantine: ttl, ..record(Token::FIRST) };
    let (mut now, mut reported) = (START, Vec::new());
    for shown in [other(seconds(60)), other(seconds(60)), other(seconds(30))] {
        let outputs = answer(&mut candidate, now, id, Ok(Reply::At(sight(shown))));
        if let [(Watched::Settings, _)] = watching(&outputs)[..] {
            let other = candidate.contradiction().unwrap();
            reported.push((other.ttl().as_secs(), other.quarantine().as_secs()));
        }
        (now, id, _) = next(&mut candidate);
    }
    assert_eq!(reported, [(60, 60), (30, 30)]);
}

/// A past is watched for the quarantine, or the longest TTL that was granted, and reported once for
/// each stamp.
#[test]
fn a_past_is_watched() {
    let config = Config::normal();
    for (longest, wait) in [(Duration::ZERO, config.quarantine()), (seconds(60), seconds(60))] {
        let (mut candidate, id) = campaigning(config);
        let outputs = answer(&mut candidate, START, id, Ok(unwatched(1, longest)));
        assert_eq!(watching(&outputs), [(Watched::Past, START + wait)]);
        assert_eq!(candidate.stage(), Stage::Watching { until: START + wait });
        let Reply::Not(shown) = unwatched(1, longest) else { unreachable!() };
        let (_, taken, asks) = watches(&mut candidate, shown);
        assert_eq!(asks.stamp.expect("told").time, taken.since(START));
        assert!(taken >= START + wait && taken <= START + wait + JITTER);
    }
}

/// A candidate that knows a token which the store lost reports it, watches the store, and says then
/// what it has watched.
#[test]
fn a_loss_is_reported_and_watched() {
    let config = Config::normal();
    let (mut candidate, id) = campaigning(config);
    answer(&mut candidate, START, id, Ok(held(Token::FIRST.next())));
    let (at, id, _) = next(&mut candidate);
    let nothing = Sight { last: None, record: None, past: None, now: START };
    let outputs = answer(&mut candidate, at, id, Ok(Reply::At(nothing)));
    assert_eq!(watching(&outputs), [(Watched::Past, at + config.quarantine())]);
    let (again, id, request) = next(&mut candidate);
    let Request::Acquire(asks) = request else { panic!("the store has to learn: {request:?}") };
    assert_eq!((again, asks.seen, asks.lost), (at, Some(Token::FIRST.next()), None));
    answer(&mut candidate, at, id, Ok(unwatched(5, Duration::ZERO)));
    let Reply::Not(shown) = unwatched(5, Duration::ZERO) else { unreachable!() };
    let (_, taken, asks) = watches(&mut candidate, shown);
    assert_eq!(asks.lost, Some(Loss { last: None }));
    assert!(taken >= at + config.quarantine());
}

/// A store may lose more before its loss was watched out.
#[test]
fn each_loss_is_watched_out() {
    let config = Config::normal();
    let (mut candidate, id) = campaigning(config);
    let second = Token::FIRST.next();
    answer(&mut candidate, START, id, Ok(held(second.next())));
    for last in [second, Token::FIRST] {
        let (at, id, _) = next(&mut candidate);
        assert!(at > START && at < START + config.quarantine());
        let outputs = answer(&mut candidate, at, id, Ok(Reply::At(sight(record(last)))));
        assert_eq!(watching(&outputs), [(Watched::Past, at + config.quarantine())], "{last:?}");
        let (_, id, request) = next(&mut candidate);
        assert!(matches!(request, Request::Acquire(_)), "it is reported: {request:?}");
        answer(&mut candidate, at, id, Ok(held(last)));
    }
}

/// Others may have watched the new past for long enough; a loss is watched out by the candidate
/// itself.
#[test]
fn a_loss_is_watched_out_whatever_others_watched() {
    let config = Config::normal();
    let (mut candidate, id) = campaigning(config);
    answer(&mut candidate, START, id, Ok(held(Token::FIRST.next())));
    candidate.handle(START, Input::Hint);
    let (at, id, _) = next(&mut candidate);
    let shown = Sight { last: None, record: None, past: None, now: START };
    answer(&mut candidate, at, id, Ok(Reply::Not(shown)));
    let (looks, taken, asks) = watches(&mut candidate, shown);
    assert!(!looks.is_empty() && taken >= at + config.quarantine());
    assert_eq!(asks.lost, Some(Loss { last: None }));
}

/// A leader is told of a past too, and reports what it has watched.
#[test]
fn a_leader_watches_a_past() {
    let (mut candidate, id) = campaigning(Config::normal());
    answer(&mut candidate, START, id, Ok(Reply::Granted { token: Token::FIRST }));
    let (stamp, longest) = (Stamp::from_bits(3), Duration::ZERO);
    let past = Some(UnwatchedPast { stamp, longest });
    let mut told = Vec::new();
    for _ in 0..3 {
        let (now, id, request) = next(&mut candidate);
        let Request::Renew { stamp, .. } = request else { panic!("{request:?}") };
        told.push(stamp.map(|watch| watch.time));
        answer(&mut candidate, now, id, Ok(Reply::Renewed { asked: None, wanted: None, past }));
    }
    let interval = Config::normal().renew_interval();
    assert_eq!(told, [None, Some(interval), Some(interval * 2)]);
}

/// A store that was away while the lead ended still has the lease: its last holder gives it back,
/// and need not watch it.
#[test]
fn a_lease_left_in_an_outage_is_released_after_it() {
    let (mut candidate, id) = campaigning(Config::normal());
    answer(&mut candidate, START, id, Ok(Reply::Granted { token: Token::FIRST }));
    let holder = candidate.leads_as().unwrap();
    let mut work_ends = true;
    let (now, id) = loop {
        let now = candidate.deadline().unwrap_or(START);
        let outputs = feed(&mut candidate, now, Input::Wake);
        if candidate.deadline().is_none() && candidate.pending().is_none() {
            assert!(std::mem::take(&mut work_ends), "once");
            feed(&mut candidate, now, Input::Drained);
        }
        if let [.., Output::Send { id, request: Request::Acquire(_), give_up_at }] = outputs[..] {
            break (give_up_at - candidate.config().request_timeout(), id);
        }
    };
    let own = Record { holder, ..record(Token::FIRST) };
    answer(&mut candidate, now, id, Ok(Reply::Not(sight(own))));
    let (_, id, request) = next(&mut candidate);
    assert!(matches!(request, Request::Release { token: Token::FIRST, .. }), "{request:?}");
    answer(&mut candidate, now, id, Ok(Reply::Released));
    let (at, _, request) = next(&mut candidate);
    assert!(at <= now + seconds(1) && matches!(request, Request::Acquire(_)), "{at:?} {request:?}");
}
