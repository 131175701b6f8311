//! The time of the state machine for each kind of input: to handle it, and to poll until there is
//! no more output.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use tenure_core::contract::Record;
use tenure_core::{
    Candidate, Config, HolderId, Input, Instant, NameId, Output, Reply, RequestId, Seed, Sight,
    Token, Unknown,
};

const RESIGN: Input = Input::Resign { again_after: None };

/// A candidate that has lived through some inputs.
#[derive(Clone)]
struct Story {
    candidate: Candidate,
    now: Instant,
    last_sent: Option<RequestId>,
}

impl Story {
    fn begins() -> Self {
        let name = NameId::from_bits(1);
        let candidate = Candidate::new(Config::normal(), name, Seed::new(1));
        Self { candidate, now: Instant::ORIGIN + secs(100), last_sent: None }
    }

    fn then(mut self, input: Input) -> Self {
        self.candidate.handle(self.now, input);
        while let Some(output) = self.candidate.poll() {
            if let Output::Send { id, .. } = output {
                self.last_sent = Some(id);
            }
        }
        if self.candidate.pending().is_some() { self.then(Input::Admitted) } else { self }
    }

    fn after(mut self, pause: Duration) -> Self {
        self.now = self.now + pause;
        self
    }

    fn at_deadline(mut self) -> Self {
        self.now = self.candidate.deadline().expect("waits for something");
        self
    }

    fn answer(&self, result: Result<Reply, Unknown>) -> Input {
        Input::Reply { id: self.last_sent.expect("has sent something"), result }
    }

    fn answered(self, reply: Reply) -> Self {
        let input = self.answer(Ok(reply));
        self.then(input)
    }

    fn campaigns() -> Self {
        Self::begins().then(Input::Campaign).after(Duration::from_millis(1))
    }

    fn waits() -> Self {
        Self::campaigns().answered(Reply::Not(held(1)))
    }

    fn leads() -> Self {
        Self::campaigns().answered(granted()).after(secs(1))
    }

    fn renews() -> Self {
        Self::leads().at_deadline().then(Input::Wake).after(Duration::from_millis(1))
    }
}

/// The moments that are measured: a candidate's life so far, and its next input.
fn moments() -> Vec<(&'static str, Story, Input)> {
    let (campaigns, waits) = (Story::campaigns(), Story::waits());
    let (leads, renews) = (Story::leads(), Story::renews());
    let resigned = leads.clone().then(RESIGN);
    let releases = resigned.clone().then(Input::Drained);
    let grant = campaigns.answer(Ok(granted()));
    let refusal = campaigns.answer(Ok(Reply::Not(held(1))));
    let failure = campaigns.answer(Err(Unknown));
    let looks = waits.clone().at_deadline().then(Input::Wake).after(Duration::from_millis(1));
    let [unchanged, renewed] = [1, 2].map(|number| looks.answer(Ok(Reply::At(held(number)))));
    let renewal = renews.answer(Ok(Reply::Renewed { asked: None, wanted: None, past: None }));
    let loss = renews.answer(Ok(Reply::Superseded { last: Token::new(8) }));
    let release = releases.answer(Ok(Reply::Released));
    vec![
        ("idle: campaign", Story::begins(), Input::Campaign),
        ("campaigning: granted", campaigns.clone(), grant),
        ("campaigning: held by another", campaigns.clone(), refusal),
        ("campaigning: unknown outcome", campaigns, failure),
        ("waiting: wake that changes nothing", waits.clone(), Input::Wake),
        ("waiting: hint", waits.clone(), Input::Hint),
        ("waiting: wake that looks", waits.clone().at_deadline(), Input::Wake),
        ("looking: renewed meanwhile", looks.clone(), renewed),
        ("looking: not renewed", looks, unchanged),
        ("leading: wake that changes nothing", leads.clone(), Input::Wake),
        ("leading: wake that renews", leads.clone().at_deadline(), Input::Wake),
        ("leading: renewed", renews.clone(), renewal),
        ("leading: superseded", renews, loss),
        ("leading: expired", leads.clone().after(secs(60)), Input::Wake),
        ("leading: resign", leads, RESIGN),
        ("draining: drained", resigned, Input::Drained),
        ("releasing: released", releases, release),
    ]
}

fn machine(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("machine");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(secs(1));
    for (name, story, input) in moments() {
        let Story { candidate, now, .. } = story;
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || candidate.clone(),
                |candidate| {
                    candidate.handle(black_box(now), black_box(input));
                    while let Some(output) = candidate.poll() {
                        black_box(output);
                    }
                    if candidate.pending().is_some() {
                        candidate.handle(black_box(now), Input::Admitted);
                        while let Some(output) = candidate.poll() {
                            black_box(output);
                        }
                    }
                },
                BatchSize::SmallInput,
            );
        });
    }
    let leads = Story::leads();
    group.bench_function("leading: claim", |bencher| {
        bencher.iter(|| black_box(&leads.candidate).claim(black_box(leads.now)));
    });
    group.bench_function("leading: deadline", |bencher| {
        bencher.iter(|| black_box(&leads.candidate).deadline());
    });
    group.finish();
}

fn granted() -> Reply {
    Reply::Granted { token: Token::new(7).expect("not zero") }
}

/// A lease of another candidate, as its request of that number has left it.
fn held(number: u64) -> Sight {
    let token = Token::new(6).expect("not zero");
    let record = Record {
        token,
        holder: HolderId::from_bits(2),
        number: RequestId::new(number).expect("not zero"),
        released: false,
        reservation: None,
        ttl: secs(15),
        quarantine: secs(15),
        wanted: None,
        asked: None,
        written: Instant::ORIGIN + secs(95),
    };
    let now = Instant::ORIGIN + secs(100);
    Sight { last: Some(token), record: Some(record), past: None, now }
}

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

criterion_group!(benches, machine);
criterion_main!(benches);
