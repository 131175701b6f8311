//! The machine of the store: a simulated Redis behind simulated TCP, and its records after each script.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sha1_smol::Sha1;
use tenure::Instant;
use tenure::store::redis::SCRIPTS;
use turmoil::net::TcpListener;

use super::journal::Of;
use super::late::{Late, Lateness};
use super::node::Node;
use super::schedule::SharedSchedule;
use super::stream::counted;
use super::wires::Wires;
use super::world::World;
use crate::engines::node::{election_of, key};
use crate::engines::redis::{Executed, Redis, Reply, Settings};
use crate::plan::clock::Clock;
use crate::plan::{Plan, Point, SimTime};
use crate::trace::{Answer, Asked, Event, Kept, StoreStep};

/// 2026-01-01 since 1970: the reading of the store's clock at the beginning of a run.
const EPOCH: Duration = Duration::from_secs(1_767_225_600);
/// The prefix of an election's key in the name of its record.
const RECORD: &str = "{tenure}:leader:";

/// A server of leases, with its own clock.
pub(super) struct Store {
    pub(super) redis: Redis,
    clock: Rc<Clock>,
    state: Rc<State>,
    last_words: Rc<LastWords>,
}

/// The times at which the server reads the last bytes of clients that have left.
struct LastWords {
    lateness: Lateness,
    world: Rc<World>,
}

/// The observed state of the server.
#[derive(Default)]
struct State {
    /// The number of times that another process has replaced it.
    server: Cell<u32>,
    /// Each election's record after its last script.
    last: RefCell<Vec<Option<Kept>>>,
    /// The server that was last seen to grant a lease of any election, and to renew one.
    granted: Cell<Option<u32>>,
    renewed: Cell<Option<u32>>,
    /// The number of its processes that have ended.
    gone: Cell<u32>,
    /// Whether it is silent until a fault that begins at a grant is carried out.
    waits: Cell<bool>,
}

impl Store {
    pub(super) fn new(
        plan: &Plan,
        rate_ppm: i64,
        world: &Rc<World>,
        nodes: &[Arc<Node>],
        schedule: &Arc<SharedSchedule>,
    ) -> Self {
        let clock = Rc::new(Clock::new(EPOCH, rate_ppm));
        let settings = Settings { seed: plan.seed, ..Settings::default() };
        let redis = Redis::new(settings, {
            let (clock, world) = (Rc::clone(&clock), Rc::clone(world));
            move || clock.read(world.true_now()).as_nanos() / 1_000
        });
        let last = RefCell::new(vec![None; world.elections()]);
        let state = Rc::new(State { last, ..State::default() });
        let digest = |text: &str| Bytes::from(Sha1::from(text).digest().to_string());
        let watch = Watch {
            redis: redis.clone(),
            world: Rc::clone(world),
            nodes: nodes.to_vec(),
            schedule: Arc::clone(schedule),
            clock: Rc::clone(&clock),
            scripts: SCRIPTS.iter().map(|(name, text)| (digest(text), *name)).collect(),
            state: Rc::clone(&state),
        };
        redis.observe(Box::new(move |executed| watch.observe(executed)));
        let last_words = LastWords { lateness: Lateness::of(plan), world: Rc::clone(world) };
        Self { redis, clock, state, last_words: Rc::new(last_words) }
    }

    /// The process ends; answers that it has sent are still delivered.
    pub(super) fn crash(&self, keeps_data: bool) {
        self.redis.restart(keeps_data);
        self.state.server.set(self.state.server.get() + 1);
        if !keeps_data {
            self.state.last.borrow_mut().fill(None);
        }
    }

    /// Whether any election has a record.
    pub(super) fn has_a_record(&self) -> bool {
        let exists = |election| {
            let record = format!("{RECORD}{}", key(election));
            matches!(self.redis.execute(&[b"EXISTS", record.as_bytes()]), Reply::Integer(1))
        };
        (0..self.state.last.borrow().len()).any(exists)
    }

    /// The number of its processes that have ended.
    pub(super) fn processes_gone(&self) -> u32 {
        self.state.gone.get()
    }

    /// The program of one life of its process.
    pub(super) fn program(&self, wires: &Arc<Wires>) -> impl Fn() -> BoxedProgram + use<> {
        let (redis, wires, state) = (self.redis.clone(), Arc::clone(wires), Rc::clone(&self.state));
        let last_words = Rc::clone(&self.last_words);
        move || {
            let life = Life(Rc::clone(&state));
            Box::pin(program(redis.clone(), Arc::clone(&wires), Rc::clone(&last_words), life))
        }
    }

    /// Returns false if the clock's reading has not changed.
    pub(super) fn step_clock(&self, at: SimTime, by_ms: i64) -> bool {
        let before = self.clock.read(at);
        self.clock.step(at, by_ms);
        self.clock.read(at) != before
    }

    /// Whether its clock has counted more or less than true time.
    pub(super) fn has_drifted(&self, at: SimTime) -> bool {
        self.clock.has_drifted(at)
    }

    /// Whether it has waited at a grant, and need not wait any longer.
    pub(super) fn take_wait(&self) -> bool {
        self.state.waits.take()
    }
}

type BoxedProgram = Pin<Box<dyn Future<Output = turmoil::Result>>>;

/// Dropped with the process.
struct Life(Rc<State>);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.gone.set(self.0.gone.get() + 1);
    }
}

/// The server's program: one life of its process.
async fn program(
    redis: Redis,
    wires: Arc<Wires>,
    last_words: Rc<LastWords>,
    _life: Life,
) -> turmoil::Result {
    let listener = TcpListener::bind(("0.0.0.0", 6379)).await?;
    loop {
        let (stream, peer) = listener.accept().await?;
        let (redis, end) = (redis.clone(), wires.at_store(peer));
        let (lag, world) = (last_words.lateness.next(), Rc::clone(&last_words.world));
        let stream = Late::new(counted(stream, end), lag, move || world.true_now());
        tokio::task::spawn_local(async move {
            // Only its client handles a broken connection.
            let _ = redis.serve(stream, &peer.to_string()).await;
        });
    }
}

/// Reads the record after each script, before anything else is executed.
struct Watch {
    redis: Redis,
    world: Rc<World>,
    nodes: Vec<Arc<Node>>,
    schedule: Arc<SharedSchedule>,
    clock: Rc<Clock>,
    scripts: BTreeMap<Bytes, &'static str>,
    state: Rc<State>,
}

impl Watch {
    fn observe(&self, executed: &Executed<'_>) {
        for (election, step) in self.steps(executed).unwrap_or_default() {
            self.stepped(election, step);
        }
    }

    fn stepped(&self, election: usize, step: StoreStep) {
        if step.new_tenure().is_some() {
            let holder = self.nodes.iter().find(|node| node.has_campaigned_as(step.holder));
            let node = holder.map(|node| node.index);
            if self.schedule.reached(self.world.true_now(), Point::Grant, node) {
                self.state.waits.set(true);
                // The reply is not sent.
                self.redis.stall(true);
            }
        }
        if let Some(event) = self.elsewhere(&step) {
            self.world.record(Of::AllBut(election), event);
        }
        self.world.record(Of::One(election), Event::Store(step));
    }

    /// The meaning of a step in one election for the others: the store keeps one history for all.
    fn elsewhere(&self, step: &StoreStep) -> Option<Event> {
        let server = step.server;
        match (step.request, step.answer) {
            (Asked::Acquire { seen }, Answer::Granted { .. }) => {
                let knew_more = seen > step.before.map_or(0, |record| record.token);
                let is_first = self.state.granted.replace(Some(server)) != Some(server);
                let event = Event::Elsewhere { server, granted: true, knew_more };
                (is_first || knew_more).then_some(event)
            }
            (Asked::Renew { .. }, Answer::Renewed) => {
                let is_first = self.state.renewed.replace(Some(server)) != Some(server);
                let event = Event::Elsewhere { server, granted: false, knew_more: false };
                is_first.then_some(event)
            }
            _ => None,
        }
    }

    /// The steps of a command, one for each election that it names; `None` if it is not a request of any.
    fn steps(&self, executed: &Executed<'_>) -> Option<Vec<(usize, StoreStep)>> {
        let [command, sha, keys, rest @ ..] = executed.args else { return None };
        if !command.eq_ignore_ascii_case(b"EVALSHA") || is_noscript(executed.reply) {
            return None;
        }
        let (keys, arguments) = rest.split_at_checked(number::<usize>(text(keys)?)?)?;
        let script = *self.scripts.get(sha)?;
        let first = asked(script, arguments)?;
        let (Some(words), Reply::Array(replies)) = (words_of(&first.1), executed.reply) else {
            return Some(vec![self.step(keys.first()?, first, executed.reply)?]);
        };
        // The key of the history comes after those of the elections.
        let each = keys.iter().zip(arguments.chunks(words)).zip(replies);
        let step = |((key, words), reply)| self.step(key, asked(script, words)?, reply);
        each.map(step).collect()
    }

    /// One step in one election.
    fn step(
        &self,
        record: &Bytes,
        (holder, request): (u128, Asked),
        reply: &Reply,
    ) -> Option<(usize, StoreStep)> {
        let election = election_of(text(record)?.strip_prefix(RECORD)?);
        let before = *self.state.last.borrow().get(election)?;
        let answer = answer(reply);
        let mut after = self.record(record);
        if let (
            Answer::Held
            | Answer::Refused
            | Answer::Stale
            | Answer::Superseded
            | Answer::Released
            | Answer::NotHeld
            | Answer::Other,
            Some(before),
            Some(after),
        ) = (answer, before, &mut after)
        {
            // The end by the last grant or renewal: the clock may have been stepped since.
            after.lease_ends = before.lease_ends;
        }
        self.state.last.borrow_mut()[election] = after;
        let (server, now) = (self.state.server.get(), self.micros() * 1_000);
        Some((election, StoreStep { server, now, holder, request, answer, before, after }))
    }

    /// The reading of the clock, as scripts see it.
    fn micros(&self) -> u64 {
        self.clock.read(self.world.true_now()).as_nanos() / 1_000
    }

    /// The present record, with its end by the present clock.
    fn record(&self, name: &[u8]) -> Option<Kept> {
        let read = [b"HMGET", name, b"token", b"holder", b"lease_end", b"released"];
        let Reply::Array(values) = self.redis.execute(&read) else { return None };
        let [
            Reply::Bulk(token),
            Reply::Bulk(holder),
            Reply::Bulk(lease_end),
            Reply::Bulk(released),
        ] = &values[..]
        else {
            return None;
        };
        let micros: u64 = number(text(lease_end)?)?;
        let lease_end = micros.saturating_mul(1_000);
        Some(Kept {
            token: number(text(token)?)?,
            holder: u128::from_str_radix(text(holder)?, 16).ok()?,
            lease_end,
            lease_ends: self.clock.when(Instant::from_nanos(lease_end)),
            released: text(released)? == "1",
        })
    }
}

/// How many arguments a script takes for each such request; `None` if it takes a single one.
fn words_of(asked: &Asked) -> Option<usize> {
    match asked {
        // Holder, seen, TTL, quarantine, name and metadata.
        Asked::Acquire { .. } => Some(6),
        // Holder, token and TTL.
        Asked::Renew { .. } => Some(3),
        Asked::Release { .. } => None,
    }
}

fn is_noscript(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(text) if text.starts_with(b"NOSCRIPT"))
}

fn asked(script: &str, arguments: &[Bytes]) -> Option<(u128, Asked)> {
    let [holder, number_of, ..] = arguments else { return None };
    let holder = u128::from_str_radix(text(holder)?, 16).ok()?;
    let token = number(text(number_of)?)?;
    let request = match script {
        "acquire" => Asked::Acquire { seen: token },
        "renew" | "renew_and_compare" => Asked::Renew { token },
        "release" => Asked::Release { token },
        _ => return None,
    };
    Some((holder, request))
}

fn answer(reply: &Reply) -> Answer {
    let Reply::Array(fields) = reply else { return Answer::Other };
    let [Reply::Bulk(word), rest @ ..] = &fields[..] else { return Answer::Other };
    match (&word[..], rest) {
        (b"granted", [Reply::Integer(token), Reply::Integer(wait)]) => {
            Answer::Granted { token: token.unsigned_abs(), waits: *wait > 0 }
        }
        (b"held", _) => Answer::Held,
        (b"contradicted", _) => Answer::Refused,
        (b"stale", _) => Answer::Stale,
        (b"renewed", _) => Answer::Renewed,
        (b"superseded", _) => Answer::Superseded,
        (b"released", _) => Answer::Released,
        (b"not_held", _) => Answer::NotHeld,
        _ => Answer::Other,
    }
}

fn text(bytes: &Bytes) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}
