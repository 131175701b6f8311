//! Every state meets every input; the outcome is a snapshot that was read against DESIGN section 5.
//!
//! The lease lasts 15 s, of which drift (20 %) leaves 10 s and the stop margin 9 s; renewals are
//! sent every 3 s, wait 1 s for a reply and up to 1 s for the next try. States are reached by
//! inputs alone.

use std::fmt::Write as _;
use std::time::Duration;

use crate::sights::{NAME, RENEWED, record, sight, unwatched};
use tenure_core::contract::Record;
use tenure_core::{
    Acquire, Candidate, Config, ConfigBuilder, Input, Instant, Output, RenewErrorPolicy, Reply,
    Request, RequestId, Seed, Token, Unknown,
};

const ZERO: Duration = Duration::ZERO;

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn token(number: u64) -> Token {
    Token::new(number).expect("not zero")
}

fn settings() -> ConfigBuilder {
    // What is left of the TTL when the store's clock is read in nanoseconds is 15 s.
    let resolution = Duration::from_nanos(1);
    Config::builder(secs(15) + resolution)
        .granularity(resolution)
        .drift_ppm(200_000)
        .stop_margin(secs(1))
        .renew_interval(secs(3))
        .request_timeout(secs(1))
        .least_retry(ms(100))
        .largest_retry(secs(1))
        .drain_bound(secs(4))
}

/// The lease of another candidate, with the same settings.
fn short(number: u64) -> Record {
    let lasts = secs(15) + Duration::from_nanos(1);
    Record { ttl: lasts, quarantine: lasts, ..record(token(number)) }
}

/// A candidate after some inputs.
#[derive(Clone)]
struct Story {
    candidate: Candidate,
    now: Instant,
    last_sent: Option<RequestId>,
    /// True if each request is admitted as soon as it is pending.
    admits: bool,
}

impl Story {
    fn begins() -> Self {
        Self::with(settings())
    }

    fn with(settings: ConfigBuilder) -> Self {
        let config = settings.build().expect("valid");
        let candidate = Candidate::new(config, NAME, Seed::new(1));
        Self { candidate, now: Instant::ORIGIN + secs(100), last_sent: None, admits: true }
    }

    fn hand_in(&mut self, input: Input) -> Vec<Output> {
        self.candidate.handle(self.now, input);
        let mut outputs: Vec<_> = std::iter::from_fn(|| self.candidate.poll()).collect();
        while self.admits && self.candidate.pending().is_some() {
            self.candidate.handle(self.now, Input::Admitted);
            outputs.extend(std::iter::from_fn(|| self.candidate.poll()));
        }
        for output in &outputs {
            if let Output::Send { id, .. } = output {
                self.last_sent = Some(*id);
            }
        }
        outputs
    }

    fn then(mut self, input: Input) -> Self {
        self.hand_in(input);
        self
    }

    /// From now on, no request is admitted.
    fn waits(mut self) -> Self {
        self.admits = false;
        self
    }

    fn after(mut self, pause: Duration) -> Self {
        self.now = self.now + pause;
        self
    }

    fn answered(self, result: Result<Reply, Unknown>) -> Self {
        let id = self.last_sent.expect("has sent something");
        self.then(Input::Reply { id, result })
    }

    fn at_deadline(mut self) -> Self {
        self.now = self.candidate.deadline().expect("waits for something");
        self.then(Input::Wake)
    }

    fn granted(self) -> Self {
        self.answered(Ok(Reply::Granted { token: token(7) }))
    }

    fn leads() -> Self {
        Self::begins().then(Input::Campaign).after(ms(10)).granted()
    }

    fn resigned() -> Self {
        Self::leads().after(secs(1)).then(RESIGN)
    }
}

const RESIGN: Input = Input::Resign { again_after: None };
const RESIGN_FOR_A_WHILE: Input = Input::Resign { again_after: Some(secs(5)) };

fn states() -> Vec<(&'static str, Story)> {
    let campaigns = || Story::begins().then(Input::Campaign);
    let held = Reply::Not(sight(short(6)));
    let contradicts = Reply::Not(sight(Record { ttl: secs(20), ..short(6) }));
    let waits_for_past = || campaigns().after(ms(10)).answered(Ok(unwatched(1, secs(15))));
    let waits = || campaigns().after(ms(10)).answered(Ok(held));
    let renews = || Story::leads().at_deadline();
    let superseded = Reply::Superseded { last: Some(token(8)) };
    let expired = || Story::leads().after(secs(9)).then(Input::Wake);
    let patient = Story::with(settings().drain_bound(secs(60)));
    let strict = Story::with(settings().on_renew_error(RenewErrorPolicy::StepDown));
    vec![
        ("idle", Story::begins()),
        ("idle, an abandoned acquire may still be granted", campaigns().then(RESIGN).at_deadline()),
        (
            "idle, the grant of an abandoned acquire arrived, its release pending",
            campaigns().then(RESIGN).at_deadline().waits().granted(),
        ),
        ("holding off", campaigns().answered(Ok(held)).then(RESIGN_FOR_A_WHILE)),
        ("campaigning, acquire in flight", campaigns()),
        ("campaigning, acquire in flight, hinted", campaigns().then(Input::Hint)),
        ("campaigning, acquire pending", Story::begins().waits().then(Input::Campaign)),
        ("campaigning, backing off", campaigns().at_deadline()),
        ("campaigning, waiting for the incumbent's end", waits()),
        (
            "campaigning, waiting, just tried because of a hint",
            waits().then(Input::Hint).answered(Ok(held)),
        ),
        ("campaigning, #6 known, look in flight", waits().at_deadline()),
        ("campaigning beside other settings", campaigns().after(ms(10)).answered(Ok(contradicts))),
        ("campaigning, watching the past", waits_for_past()),
        ("campaigning, watching the past, look in flight", waits_for_past().at_deadline()),
        ("withdrawing, for good", campaigns().then(RESIGN)),
        ("withdrawing, to hold off", campaigns().then(RESIGN_FOR_A_WHILE)),
        ("withdrawing, campaign asked for again", campaigns().then(RESIGN).then(Input::Campaign)),
        ("leading, renewal due", Story::leads()),
        ("leading, renewal pending", Story::leads().waits().at_deadline()),
        ("leading, renewal in flight", renews()),
        ("leading, retrying the renewal", renews().at_deadline()),
        (
            "leading by the strict policy, renewal in flight",
            strict.then(Input::Campaign).granted().at_deadline(),
        ),
        ("draining, resigned for good, lease kept", Story::resigned()),
        ("draining, resigned, renewal pending", Story::resigned().waits().at_deadline()),
        ("draining, resigned, renewal in flight", Story::resigned().at_deadline()),
        (
            "draining, resigned, drain bound beyond the lease, renewal in flight",
            patient.then(Input::Campaign).granted().then(RESIGN).at_deadline(),
        ),
        (
            "draining, resigned, drain bound passed",
            Story::resigned().after(secs(5)).then(Input::Wake),
        ),
        ("draining, expired", expired()),
        ("draining, expired and resigned", expired().then(RESIGN)),
        ("draining, superseded", renews().answered(Ok(superseded))),
        ("releasing for good, pending", Story::resigned().waits().then(Input::Drained)),
        ("releasing for good, in flight", Story::resigned().then(Input::Drained)),
        ("releasing after an expiry, in flight", expired().then(Input::Drained)),
        (
            "releasing for good, trying again",
            Story::resigned().then(Input::Drained).answered(Err(Unknown)),
        ),
    ]
}

fn inputs(story: &Story) -> Vec<(&'static str, Duration, Input)> {
    let granted = |number| Ok(Reply::Granted { token: token(number) });
    let renewed = Record { number: RequestId::new(9).expect("not zero"), ..short(6) };
    let results = [
        ("granted #9", granted(9)),
        ("granted #5, already known to be over", granted(5)),
        ("not: held by #9", Ok(Reply::Not(sight(short(9))))),
        ("at: held by #6", Ok(Reply::At(sight(short(6))))),
        ("at: #6 renewed", Ok(Reply::At(sight(renewed)))),
        ("not: #9 given back", Ok(Reply::Not(sight(Record { released: true, ..short(9) })))),
        ("not: an unwatched past", Ok(unwatched(2, ZERO))),
        ("renewed", Ok(RENEWED)),
        ("superseded, last #9", Ok(Reply::Superseded { last: Some(token(9)) })),
        ("superseded, nothing known", Ok(Reply::Superseded { last: None })),
        ("released", Ok(Reply::Released)),
        ("not held", Ok(Reply::NotHeld)),
        ("unknown", Err(Unknown)),
    ];
    let mut inputs = vec![
        ("Campaign", ms(100), Input::Campaign),
        ("Resign for good", ms(100), RESIGN),
        ("Resign for 5 s", ms(100), RESIGN_FOR_A_WHILE),
        ("Drained", ms(100), Input::Drained),
        ("Admitted", ms(100), Input::Admitted),
    ];
    // A candidate that has sent nothing can only receive a stray reply.
    let answers = story
        .last_sent
        .into_iter()
        .flat_map(|id| results.map(|(name, result)| (name, ms(100), Input::Reply { id, result })));
    inputs.extend(answers);
    let stray = Input::Reply { id: foreign_id(), result: granted(9) };
    inputs.push(("stray granted #9", ms(100), stray));
    inputs.push(("Resumed", ms(100), Input::Resumed));
    inputs.push(("Hint after 50 ms", ms(50), Input::Hint));
    inputs.push(("Hint", ms(100), Input::Hint));
    inputs.push(("Wake at once", ZERO, Input::Wake));
    if let Some(deadline) = story.candidate.deadline() {
        inputs.push((
            "Wake just before the deadline",
            (deadline - Duration::from_nanos(1)).since(story.now),
            Input::Wake,
        ));
        inputs.push(("Wake at the deadline", deadline.since(story.now), Input::Wake));
    }
    inputs.push(("Wake an hour later", secs(3_600), Input::Wake));
    inputs
}

/// An id that none of the stories has come to yet.
fn foreign_id() -> RequestId {
    let mut other = Story::begins().then(Input::Campaign);
    while other.last_sent.is_none_or(|id| id.get() < 50) {
        other = other.at_deadline();
    }
    other.last_sent.expect("has sent fifty")
}

#[test]
fn every_state_meets_every_input() {
    let mut text = String::new();
    for (name, story) in states() {
        writeln!(text, "## {name}\n{}", phase(&story.candidate)).expect("a string grows");
        let stage = story.candidate.stage();
        writeln!(text, "{}, {stage:?}", standing(&story)).expect("a string grows");
        for (outcome, names) in outcomes(&story) {
            writeln!(text, "  {}\n{outcome}", names.join(" | ")).expect("a string grows");
        }
        text.push('\n');
    }
    insta::assert_snapshot!(text);
}

/// The outcome of each input, with inputs of the same outcome side by side.
fn outcomes(story: &Story) -> Vec<(String, Vec<&'static str>)> {
    let mut outcomes: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, pause, input) in inputs(story) {
        let mut story = story.clone().after(pause);
        let mut outcome = String::new();
        for output in story.hand_in(input) {
            writeln!(outcome, "      -> {}", show(output)).expect("a string grows");
        }
        write!(outcome, "      {}; {}", brief(&story.candidate), standing(&story))
            .expect("a string grows");
        match outcomes.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, names)) => names.push(name),
            None => outcomes.push((outcome, vec![name])),
        }
    }
    outcomes
}

fn show(output: Output) -> String {
    match output {
        Output::Send { id, request, give_up_at } => {
            let request = match request {
                Request::Acquire(Acquire { holder, seen, lost, mark, stamp, .. }) => {
                    let mark = mark.map(|mark| mark.number.get());
                    let stamp = stamp.map(|watch| (watch.stamp.to_bits(), watch.time));
                    let seen = seen.map_or(0, Token::get);
                    format!(
                        "acquire as {holder:?}, seen {seen}, lost {lost:?}, mark {mark:?}, stamp {stamp:?}"
                    )
                }
                Request::Look { seen, .. } => format!("look, seen {}", seen.map_or(0, Token::get)),
                Request::Ask { .. } | Request::Want { .. } | Request::Purge { .. } => {
                    unreachable!("a candidate sends none")
                }
                Request::Renew { holder, token, .. } => format!("renew {token:?} of {holder:?}"),
                Request::Release { holder, token, .. } => {
                    format!("release {token:?} of {holder:?}")
                }
            };
            format!("send {}: {request}, give up {give_up_at:?}", id.get())
        }
        Output::Event(event) => format!("{event:?}"),
    }
}

fn standing(story: &Story) -> String {
    let deadline = story.candidate.deadline().map_or("never".into(), |at| format!("{at:?}"));
    let claim = story.candidate.claim(story.now).map_or("none".into(), |claim| {
        format!("{:?} until {:?}", claim.token(), claim.valid_until())
    });
    let pending =
        story.candidate.pending().map_or(String::new(), |pending| format!(", pending {pending:?}"));
    format!("at {:?}, deadline {deadline}, claim {claim}{pending}", story.now)
}

/// The candidate's phase, as it prints itself.
fn phase(candidate: &Candidate) -> String {
    let all = format!("{candidate:?}");
    let (_, phase) = all.rsplit_once(", phase: ").expect("has a phase");
    let (phase, _) = phase.split_once(", outbox: ").expect("has an outbox");
    phase.into()
}

/// The phase's name, the state of its lease, the state of its attempt, and what follows.
fn brief(candidate: &Candidate) -> String {
    let phase = phase(candidate);
    let word =
        |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric()).collect() };
    let mut brief = word(&phase);
    for part in ["hold: ", "attempt: "] {
        if let Some((_, rest)) = phase.split_once(part) {
            write!(brief, " {}", word(rest)).expect("a string grows");
        }
    }
    if let Some((_, then)) = phase.split_once("then: ") {
        let then = then.trim_end_matches([' ', '}', ')']);
        write!(brief, ", then {}", then.replace('(', " ")).expect("a string grows");
    }
    brief
}
