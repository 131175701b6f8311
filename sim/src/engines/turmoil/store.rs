//! The machine of the store: a simulated Redis behind simulated TCP, and its records after each
//! script.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tenure::Config;
use turmoil::net::TcpListener;

use super::journal::Of;
use super::late::{Late, Lateness};
use super::node::Node;
use super::schedule::SharedSchedule;
use super::scripts::{Call, Scripts, bits, number, text};
use super::stream::counted;
use super::wires::Wires;
use super::world::World;
use crate::engines::node::{election_of, key};
use crate::engines::redis::{Executed, Redis, Reply, Settings};
use crate::plan::clock::{Clock, true_time};
use crate::plan::{Plan, Point, SimTime};
use crate::trace::{Asked, Event, Kept, Mark, StoreStep};

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
    /// The server that carried out the last request.
    asked: Cell<Option<u32>>,
    /// The number of its processes that have ended.
    gone: Cell<u32>,
    /// True if it is silent until a fault that begins at a grant is carried out.
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
        let watch = Watch {
            world: Rc::clone(world),
            nodes: nodes.to_vec(),
            schedule: Arc::clone(schedule),
            drift_ppm: world.configs.iter().map(Config::drift_ppm).max().unwrap_or_default(),
            scripts: Scripts::shipped(),
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

    /// True if any election has a record.
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

    /// True if its clock has counted more or less than true time.
    pub(super) fn has_drifted(&self, at: SimTime) -> bool {
        self.clock.has_drifted(at)
    }

    /// True if it has waited at a grant, and need not wait any longer.
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
    world: Rc<World>,
    nodes: Vec<Arc<Node>>,
    schedule: Arc<SharedSchedule>,
    /// The most by which a candidate's clock may be fast.
    drift_ppm: u32,
    scripts: Scripts,
    state: Rc<State>,
}

impl Watch {
    fn observe(&self, executed: &Executed<'_>) {
        let &Executed { redis, args, reply, .. } = executed;
        for call in self.scripts.read(args, reply).unwrap_or_default() {
            if let Some((election, step)) = self.step(redis, &call) {
                self.stepped(redis, election, step);
            }
        }
    }

    fn stepped(&self, redis: &Redis, election: usize, step: StoreStep) {
        if step.new_tenure().is_some() {
            let holder = self.nodes.iter().find(|node| node.has_campaigned_as(step.holder));
            let node = holder.map(|node| node.index);
            if self.schedule.reached(self.world.true_now(), Point::Grant, node) {
                self.state.waits.set(true);
                // The reply is not sent.
                redis.stall(true);
            }
        }
        if let Some(event) = self.elsewhere(&step) {
            self.world.record(Of::AllBut(election), event);
        }
        self.world.record(Of::One(election), Event::Store(step));
    }

    /// The meaning of a step in one election for the others: the store keeps one past for all.
    fn elsewhere(&self, step: &StoreStep) -> Option<Event> {
        let server = step.server;
        let is_first = self.state.asked.replace(Some(server)) != Some(server);
        let knew_more = match step.request {
            Asked::Acquire { seen, .. } => seen > step.before.map_or(0, |record| record.token),
            Asked::Look { .. } | Asked::Renew { .. } | Asked::Release { .. } => false,
        };
        (is_first || knew_more).then_some(Event::Elsewhere { server, knew_more })
    }

    /// One step in one election.
    fn step(&self, redis: &Redis, call: &Call<'_>) -> Option<(usize, StoreStep)> {
        let &Call { record, holder, request, answer } = call;
        let election = election_of(text(record)?.strip_prefix(RECORD)?);
        let before = *self.state.last.borrow().get(election)?;
        let after = self.record(redis, record, before);
        self.state.last.borrow_mut()[election] = after;
        let server = self.state.server.get();
        Some((election, StoreStep { server, holder, request, answer, before, after }))
    }

    /// The present record. A mark is written when it is first seen.
    fn record(&self, redis: &Redis, name: &[u8], before: Option<Kept>) -> Option<Kept> {
        let read = [b"HMGET", name, b"token", b"holder", b"number", b"released", b"ttl"];
        let Reply::Array(values) = redis.execute(&read) else { return None };
        let [
            Reply::Bulk(token),
            Reply::Bulk(holder),
            Reply::Bulk(id),
            Reply::Bulk(released),
            Reply::Bulk(ttl),
        ] = &values[..]
        else {
            return None;
        };
        let mark = Mark { holder: bits(holder)?, number: number(id)? };
        let lease_ends = match before {
            Some(before) if before.mark == mark => before.lease_ends,
            _ => {
                let ttl = Duration::from_micros(number(ttl)?);
                self.world.true_now() + true_time(ttl, self.drift_ppm.into())
            }
        };
        Some(Kept { token: number(token)?, mark, lease_ends, released: text(released)? == "1" })
    }
}
