//! The figures of `Config::explain` are true, for any settings: compared with exact arithmetic, and
//! tried with a healthy store.

use crate::sights::NAME;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::time::Duration;
use tenure_core::contract::{FOREVER, Moment, Past, Record, apply};
use tenure_core::{
    Candidate, Config, ConfigBuilder, Event, Input, Instant, Output, RenewErrorPolicy, Reply,
    Request, RequestId, Seed, Stamp, Token,
};

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn config() -> ProptestConfig {
    let regressions = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/figures.regressions");
    let mut config = ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 5_000;
    }
    config
}

/// Any settings; many of them valid.
fn settings() -> impl Strategy<Value = (u64, u64, u64, u32, ConfigBuilder)> {
    let ttl = prop_oneof![100_000_000_u64..2_000_000_000, 100_000_000_u64..86_400_000_000_000];
    let drift = prop_oneof![Just(1), Just(1_000), Just(200_000), 1_u32..=200_000];
    let parts = (0_u64..250, 5_u64..300, 5_u64..150, 1_u64..50);
    (ttl, 1_u64..50_000_000, drift, parts).prop_map(|(ttl, granularity, ppm, parts)| {
        let part = |permille: u64| Duration::from_nanos(ttl / 1_000 * permille);
        let (margin, renew, timeout, retry) = parts;
        let retry = part(retry).max(ms(1));
        let builder = Config::builder(Duration::from_nanos(ttl))
            .granularity(Duration::from_nanos(granularity))
            .drift_ppm(ppm)
            .stop_margin(part(margin))
            .renew_interval(part(renew).max(ms(1)))
            .request_timeout(part(timeout).max(ms(1)))
            .least_retry(ms(1))
            .largest_retry(retry);
        (ttl, granularity, ttl / 1_000 * margin, ppm, builder)
    })
}

proptest! {
    #![proptest_config(config())]

    /// `validity + margin` is the largest whole number not above `(ttl - g) (1 - rho) / (1 + rho)`.
    #[test]
    fn validity_is_the_exact_quotient_rounded_down(
        (ttl, granularity, margin, ppm, builder) in settings()
    ) {
        let Ok(config) = builder.build() else { return Ok(()) };
        let counted = config.validity().as_nanos() + u128::from(margin);
        let (slow, fast) = (u128::from(1_000_000 - ppm), u128::from(1_000_000 + ppm));
        let exact = u128::from(ttl - granularity) * slow;
        prop_assert!(counted * fast <= exact, "rounded up");
        prop_assert!((counted + 1) * fast > exact, "rounded down by more than needed");
    }

    /// The tolerated drift is safe, and one ppm more would not be.
    #[test]
    fn the_drift_tolerated_is_the_largest((ttl, granularity, _, _, builder) in settings()) {
        let Ok(config) = builder.build() else { return Ok(()) };
        let explained = config.explain();
        let safe = |ppm: u32| {
            let (slow, fast) = (u128::from(1_000_000 - ppm), u128::from(1_000_000 + ppm));
            explained.validity.as_nanos() * fast <= u128::from(ttl - granularity) * slow
        };
        prop_assert!(explained.drift_tolerated_ppm >= config.drift_ppm());
        prop_assert!(safe(explained.drift_tolerated_ppm));
        prop_assert!(!safe(explained.drift_tolerated_ppm + 1));
    }

    /// A pause of the explained length costs no lead, whenever it begins, however slow the store
    /// is, and even if the first reply after it is lost.
    #[test]
    fn the_largest_pause_costs_no_lead(
        (_, _, _, _, builder) in settings(), begins in 0_u64..1_000, slowness in 0_u64..=1_000,
        seed in any::<u128>(),
    ) {
        let Ok(config) = builder.build() else { return Ok(()) };
        let explained = config.explain();
        let mut leader = Leader::elected(config, seed, slowness);
        // Any time from the last renewal to the next one and its reply.
        let span = config.renew_interval() + config.request_timeout();
        let begin = leader.now + part_of(span, begins);
        leader.run_until(begin);
        leader.pause_until(begin + explained.largest_pause);
        leader.run_until(begin + explained.largest_pause + config.ttl());
        prop_assert!(!leader.lost, "lost by a pause of {:?}", explained.largest_pause);
    }

    /// A cut of the explained length costs no lead, whenever it begins, however slow the store is.
    #[test]
    fn the_longest_cut_costs_no_lead(
        (_, _, _, _, builder) in settings(), begins in 0_u64..1_000, slowness in 0_u64..=1_000,
        seed in any::<u128>(),
    ) {
        let Ok(config) = builder.build() else { return Ok(()) };
        let longest = config.explain().longest_cut;
        let mut leader = Leader::elected(config, seed, slowness);
        // Any time from the last renewal to the next one and its reply.
        let span = config.renew_interval() + config.request_timeout();
        let begin = leader.now + part_of(span, begins);
        leader.run_until(begin);
        leader.cut_until(begin + longest);
        leader.run_until(begin + longest + config.ttl());
        prop_assert!(!leader.lost, "lost by a cut of {longest:?}");
    }

    /// Single leadership holds while a clock jumps by the tolerated amount: the claim ends on the
    /// slowest clock no later than its lease on the fastest one.
    #[test]
    fn the_clock_jump_tolerated_is_covered((ttl, granularity, _, ppm, builder) in settings()) {
        let Ok(config) = builder.build() else { return Ok(()) };
        let explained = config.explain();
        let (slow, fast) = (u128::from(1_000_000 - ppm), u128::from(1_000_000 + ppm));
        let (valid, jump) = (explained.validity.as_nanos(), explained.clock_jump_tolerated.as_nanos());
        let lasts = u128::from(ttl - granularity);
        // The leader's clock goes back or stops: the claim lasts that much longer.
        prop_assert!((valid + jump) * fast <= lasts * slow, "the leader's clock");
        prop_assert!((valid + jump + 1) * fast > lasts * slow, "more is tolerated than said");
        // A watching candidate's clock goes forward: it takes the lease that much earlier.
        prop_assert!(valid * fast <= (lasts - jump.min(lasts)) * slow, "the watcher's clock");
    }

    /// The explained number of attempts fits before the claim ends, if each takes as long as it
    /// can.
    #[test]
    fn as_many_renewals_as_promised_fit((_, _, _, _, builder) in settings(), seed in any::<u128>()) {
        // The least retry, so that randomness can't shorten the attempts by much.
        let Ok(config) = builder.least_retry(ms(1)).largest_retry(ms(1)).build() else { return Ok(()) };
        let promised = config.explain().renewal_attempts;
        prop_assert!(promised >= 3, "the inequality promises three");
        let mut leader = Leader::elected(config, seed, 0);
        leader.unanswered = promised - 1;
        leader.delay = slowest_reply(config);
        leader.run_until(leader.now + config.ttl() + config.ttl());
        prop_assert!(!leader.lost, "fewer than {promised} attempts fit");
    }
}

fn part_of(span: Duration, permille: u64) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).expect("days fit") / 1_000 * permille)
}

/// A reply that arrives just before the candidate stops waiting for it.
fn slowest_reply(config: Config) -> Duration {
    config.request_timeout().saturating_sub(Duration::from_micros(1))
}

/// One leader and a store that loses nothing, on one clock without drift.
struct Leader {
    candidate: Candidate,
    now: Instant,
    /// The reply on its way, and when it arrives.
    reply: Option<(Instant, RequestId, Reply)>,
    /// From a request to its reply: at most just below the request timeout.
    delay: Duration,
    /// The number of requests from now on that get no reply.
    unanswered: u32,
    record: Option<Record>,
    past: Option<Past>,
    lost: bool,
}

impl Leader {
    fn elected(config: Config, seed: u128, slowness: u64) -> Self {
        let now = Instant::from_nanos(1_790_000_000_000_000_000);
        let (stamp, longest) = (Stamp::from_bits(1), Duration::ZERO);
        let past = Past { identity: 1, stamp, watched: FOREVER, longest, purged: None };
        let delay = part_of(slowest_reply(config), slowness);
        let mut leader = Self {
            candidate: Candidate::new(config, NAME, Seed::new(seed)),
            now,
            reply: None,
            delay,
            unanswered: 0,
            record: None,
            past: Some(past),
            lost: false,
        };
        leader.handle(Input::Campaign);
        leader.run_until(now + delay);
        assert!(leader.candidate.claim(leader.now).is_some(), "a healthy store elects at once");
        leader
    }

    fn run_until(&mut self, end: Instant) {
        while !self.lost {
            let deadline = self.candidate.deadline().expect("campaigns or leads");
            let arrival = self.reply.map(|(at, _, _)| at).filter(|at| *at <= deadline);
            let next = arrival.unwrap_or(deadline).max(self.now);
            if next > end {
                break;
            }
            self.now = next;
            self.happens(arrival.is_some());
        }
        self.now = end;
    }

    /// Nothing is read and nothing sent; afterwards the timer may come before the reply.
    fn pause_until(&mut self, end: Instant) {
        self.now = end;
        self.happens(false);
    }

    /// The reply on its way is lost, and so is every request that is sent.
    fn cut_until(&mut self, end: Instant) {
        self.reply = None;
        self.unanswered = u32::MAX;
        self.run_until(end);
        self.unanswered = 0;
    }

    fn happens(&mut self, arrival: bool) {
        if arrival {
            let (_, id, reply) = self.reply.take().expect("is on its way");
            self.handle(Input::Reply { id, result: Ok(reply) });
        } else {
            self.handle(Input::Wake);
        }
    }

    fn handle(&mut self, input: Input) {
        self.candidate.handle(self.now, input);
        while let Some(output) = self.candidate.poll() {
            match output {
                Output::Send { id, request, .. } => self.send(id, request),
                Output::Event(Event::SteppedDown { .. }) => self.lost = true,
                Output::Event(_) => {}
            }
        }
        if self.candidate.pending().is_some() {
            self.handle(Input::Admitted);
        }
    }

    fn send(&mut self, id: RequestId, request: Request) {
        let at = Moment {
            now: self.now,
            identity: 1,
            fresh: Stamp::from_bits(2),
            first: false,
            trust_empty_store: false,
        };
        let reply = apply(&mut self.record, &mut self.past, at, request);
        let renewal = matches!(request, Request::Renew { .. });
        let answered = !renewal || self.unanswered == 0;
        self.unanswered -= u32::from(!answered);
        self.reply = answered.then_some((self.now + self.delay, id, reply));
    }
}

/// A leader whose store no longer answers resigns just after it stepped down. Returns how long the
/// resignation takes if work drains for as long as it may.
fn a_stop_after_an_end(config: Config) -> Duration {
    let mut candidate = Candidate::new(config, NAME, Seed::new(3));
    let mut feed = |now, input| {
        candidate.handle(now, input);
        let mut outputs: Vec<Output> = std::iter::from_fn(|| candidate.poll()).collect();
        while candidate.pending().is_some() {
            candidate.handle(now, Input::Admitted);
            outputs.extend(std::iter::from_fn(|| candidate.poll()));
        }
        (outputs, candidate.deadline())
    };
    let mut now = Instant::from_nanos(100_000_000_000);
    let (sent, _) = feed(now, Input::Campaign);
    let [Output::Send { id, .. }] = sent[..] else { panic!("one acquire: {sent:?}") };
    let granted = Reply::Granted { token: Token::FIRST };
    let (mut outputs, mut deadline) = feed(now, Input::Reply { id, result: Ok(granted) });
    let drain_until = loop {
        let down = outputs.iter().find_map(|output| match output {
            Output::Event(Event::SteppedDown { drain_until, .. }) => Some(*drain_until),
            _ => None,
        });
        if let Some(until) = down {
            break until;
        }
        now = deadline.expect("a leader has one");
        (outputs, deadline) = feed(now, Input::Wake);
    };
    let asked = now;
    feed(now, Input::Resign { again_after: None });
    now = drain_until;
    (outputs, deadline) = feed(now, Input::Drained);
    while !outputs.contains(&Output::Event(Event::Withdrawn)) {
        now = deadline.expect("it is not done");
        (outputs, deadline) = feed(now, Input::Wake);
    }
    now.since(asked)
}

#[test]
fn the_longest_stop_covers_work_that_drains_already() {
    let short = Config::builder(Duration::from_secs(15))
        .stop_margin(Duration::from_secs(3))
        .request_timeout(Duration::from_millis(500))
        .drain_bound(Duration::ZERO);
    let expires = short.build().expect("valid");
    assert_eq!(a_stop_after_an_end(expires), Duration::from_secs(3 + 1));
    assert_eq!(expires.explain().longest_stop, Duration::from_secs(3 + 1));
    // Most of its claim was still left.
    let strict = short.on_renew_error(RenewErrorPolicy::StepDown).build().expect("valid");
    let takes = a_stop_after_an_end(strict);
    assert!(Duration::from_secs(8) < takes && takes <= strict.explain().longest_stop, "{takes:?}");
}
