//! Carries out what the state machines decide: many elections, one connection, one task, one timer.
//!
//! The driver makes no decision of its own. It reads the clock after an event, hands both to the
//! machine, and carries out the machine's outputs. A claim ends by the clock, in the handle's own
//! thread, whether or not the driver ever runs again.

mod admission;
mod asks;
mod calls;
mod commands;
mod election;
mod hints;
mod outage;
mod outside;
mod purge;
#[cfg(test)]
mod remembers;
mod spread;
mod timers;
mod turn;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::poll_fn;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use futures_core::Stream;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tenure_core::{Input, RequestId, Unknown};
use tokio::sync::{mpsc, oneshot};

use crate::runtime::Runtime;
use crate::shared::{Command, ElectionId};
use crate::store::{AnyStore, Key, Reply, Store, StoreError, StoreErrorKind};
use crate::{Instant, metrics};
use admission::{Admission, Left, Next};
use calls::{InCall, NextCall};
use election::{Description, Election};
use hints::Hints;
use outage::Outage;
use outside::Outside;
use spread::Phase;
use timers::Timers;
use turn::Turn;

/// The task that drives elections. A caller that builds candidates without starting them must run
/// it.
#[must_use = "elections make no progress unless their driver runs"]
pub struct Driver {
    commands: mpsc::UnboundedReceiver<Command>,
    elections: Elections,
    timers: Timers,
    hints: Hints,
    outside: Outside,
    turn: Turn,
    world: World,
}

/// No machine is suspended for a shorter time; two clocks that are read one after the other seldom
/// differ by as much.
const SUSPEND_LEAST: Duration = Duration::from_millis(100);

/// The most hints in one turn.
const HINTS: usize = 64;

/// Looked up several times for each request: a search tree of a hundred thousand would take a
/// quarter of a renewal's processor time. Boxed, since the table has free places. Without random
/// keys: a simulated run repeats the order in which elections are dropped.
type Elections = HashMap<ElectionId, Box<Election>, BuildHasherDefault<DefaultHasher>>;

/// The store, the runtime and the futures under way that all elections share.
struct World {
    store: AnyStore,
    runtime: Arc<dyn Runtime>,
    calls: FuturesUnordered<BoxFuture<'static, CallEnd>>,
    next_call: NextCall,
    in_call: InCall,
    /// Yields how long an answer took; `None` if there was none.
    asks: FuturesUnordered<BoxFuture<'static, (Left, Option<Duration>)>>,
    drains: FuturesUnordered<BoxFuture<'static, ElectionId>>,
    descriptions: FuturesUnordered<BoxFuture<'static, Description>>,
    /// True if the store has said that it replaces no profile.
    has_refused_descriptions: bool,
    /// The callers that wait until an election's resignation is complete. In order, as they wake if
    /// the driver is dropped.
    withdrawals: BTreeMap<ElectionId, Vec<oneshot::Sender<()>>>,
    admission: Admission,
    phase: Phase,
    outage: Outage,
    /// For how long the machine had been suspended, when that was last looked at.
    suspended: Duration,
}

/// A call to the store has ended, with a result for each request unless it was given up.
struct CallEnd {
    left: Left,
    results: Vec<CallResult>,
}

/// The end of a request.
struct CallResult {
    election: ElectionId,
    id: RequestId,
    name: &'static str,
    sent_at: Instant,
    result: Result<Reply, StoreError>,
}

impl Driver {
    pub(crate) fn new(
        store: AnyStore,
        runtime: Arc<dyn Runtime>,
        commands: mpsc::UnboundedReceiver<Command>,
    ) -> Self {
        let (timers, hints) = (Timers::new(Arc::clone(&runtime)), Hints::new(&store));
        let traits = store.traits();
        let (in_call, outage) = (InCall::new(&traits), Outage::new(traits.name));
        let suspended = runtime.suspended();
        let world = World {
            store,
            runtime,
            calls: FuturesUnordered::new(),
            next_call: NextCall::default(),
            in_call,
            asks: FuturesUnordered::new(),
            drains: FuturesUnordered::new(),
            descriptions: FuturesUnordered::new(),
            has_refused_descriptions: false,
            withdrawals: BTreeMap::new(),
            admission: Admission::default(),
            phase: Phase::default(),
            outage,
            suspended,
        };
        let (elections, outside) = (Elections::default(), Outside::new(&world.runtime));
        Self { commands, elections, timers, hints, outside, turn: Turn::default(), world }
    }

    /// Runs until every handle is gone and every lease was given back. Dropping this future
    /// abandons the elections: leases then end by themselves.
    pub async fn run(mut self) {
        let _purging = purge::begin(&self.world.store, &self.world.runtime);
        self.drive().await;
    }

    pub(crate) async fn drive(&mut self) {
        let mut open = true;
        while open || !self.elections.is_empty() || self.world.has_asks() {
            let outside = &self.outside;
            // Events come before deadlines: after a pause, a reply that waits in the socket counts,
            // and its request does not time out.
            tokio::select! {
                biased;
                // Application code sends commands and ends work.
                command = poll_fn(|context| {
                    let waker = outside.waker(context.waker());
                    self.commands.poll_recv(&mut Context::from_waker(&waker))
                }), if open => match command {
                    Some(command) => self.command(command),
                    None => open = false,
                },
                Some(call) = self.world.calls.next(), if !self.world.calls.is_empty() => {
                    self.call_ended(call);
                }
                Some((ask, took)) = self.world.asks.next(), if !self.world.asks.is_empty() => {
                    self.ask_ended(ask, took);
                }
                Some(id) = poll_fn(|context| {
                    let waker = outside.waker(context.waker());
                    self.world.drains.poll_next_unpin(&mut Context::from_waker(&waker))
                }), if !self.world.drains.is_empty() => {
                    self.step(id, Input::Drained);
                }
                Some(end) = self.world.descriptions.next(),
                    if !self.world.descriptions.is_empty() =>
                {
                    self.described(end);
                }
                Some(key) = self.hints.next() => self.hinted(&key),
                () = self.timers.ring(self.world.admission.resumes_at()) => {}
            }
            let commands = self.commands.len();
            self.turn.begins(self.elections.len() + commands + self.world.waiting());
            self.catch_up(commands);
            self.wake_due();
            self.admit();
            if self.turn.was_ended() {
                // Other tasks of the thread go on.
                let soon = self.world.runtime.now() + turn::REST;
                self.world.runtime.sleep_until(soon).await;
            }
        }
    }

    /// Wakes the elections whose deadlines have come.
    fn wake_due(&mut self) {
        if let Some((_, late)) = self.timers.due() {
            metrics::driver_was_late(late);
        }
        while let Some((id, _)) = self.timers.due()
            && self.turn.goes_on()
        {
            self.step(id, Input::Wake);
        }
    }

    /// Lets the requests leave for which there is room. Renewals that wait together leave in one
    /// call, and so do acquires, as far as the store takes them.
    fn admit(&mut self) {
        while self.turn.goes_on() {
            let now = self.world.runtime.now();
            let Some(next) = self.world.admission.next(now) else { return };
            match next {
                Next::Ask(ask) => self.world.ask(*ask),
                Next::Description(id) => {
                    if let Some(election) = self.elections.get_mut(&id) {
                        election.tell(&mut self.world);
                    }
                }
                Next::Alone(id) => self.admitted(id),
                Next::Request(kind, id) => {
                    let mut next = Some(id);
                    while let Some(id) = next
                        && self.turn.goes_on()
                    {
                        self.admitted(id);
                        next = self.world.next_alike(kind, now);
                    }
                }
            }
            self.world.call();
        }
    }

    fn admitted(&mut self, id: ElectionId) {
        if !self.elections.contains_key(&id) {
            self.world.admission.forget(id);
        }
        self.step(id, Input::Admitted);
    }

    /// Handles all that waits by now: a deadline of an election must not be met before its own
    /// stop, or before a reply that has arrived, and no kind of event may hold back another one.
    /// What comes later is left for the next turn, since other threads may send commands without
    /// end.
    fn catch_up(&mut self, commands: usize) {
        for _ in 0..commands {
            if let Ok(command) = self.commands.try_recv() {
                self.command(command);
            }
        }
        for _ in 0..self.world.calls.len() {
            let Some(call) = ready(&mut self.world.calls) else { break };
            self.call_ended(call);
        }
        for _ in 0..self.world.asks.len() {
            let Some((ask, took)) = ready(&mut self.world.asks) else { break };
            self.ask_ended(ask, took);
        }
        for _ in 0..self.world.drains.len() {
            let Some(id) = ready(&mut self.world.drains) else { break };
            self.step(id, Input::Drained);
        }
        for _ in 0..self.world.descriptions.len() {
            let Some(end) = ready(&mut self.world.descriptions) else { break };
            self.described(end);
        }
        for _ in 0..HINTS {
            let Some(key) = self.hints.next().now_or_never().flatten() else { break };
            self.hinted(&key);
        }
    }

    fn hinted(&mut self, key: &Key) {
        self.hints.wake_observers(key);
        for id in self.hints.of(key) {
            self.step(id, Input::Hint);
        }
    }

    fn call_ended(&mut self, CallEnd { left, results }: CallEnd) {
        let now = self.world.runtime.now();
        let answered = results.iter().find(|one| is_answer(&one.result));
        let took = answered.map(|one| now.since(one.sent_at));
        self.world.admission.ended(left, now, took);
        for one in &results {
            let Some(election) = self.elections.get_mut(&one.election) else { continue };
            let (id, result) = (one.id, election.call_ended(one, &mut self.world));
            self.step(one.election, Input::Reply { id, result: result.ok_or(Unknown) });
        }
    }

    fn ask_ended(&mut self, ask: Left, took: Option<Duration>) {
        let now = self.world.runtime.now();
        self.world.admission.ended(ask, now, took);
    }

    fn described(&mut self, end: Description) {
        let now = self.world.runtime.now();
        self.world.admission.described(end.left, now, end.took);
        let id = end.election;
        if let Some(election) = self.elections.get_mut(&id) {
            election.was_described(&mut self.world, end);
            self.step(id, Input::Wake);
        }
    }

    /// Hands an input to an election.
    ///
    /// The clock is read first, and then for how long the machine was suspended. So the elections
    /// know of each suspend before the time that they are told, and of a later one before their
    /// next input. The other way round, a suspend between both would count as watched.
    fn step(&mut self, id: ElectionId, input: Input) {
        let mut now = self.world.runtime.now();
        while self.world.was_suspended() {
            now = self.world.runtime.now();
            let all: Vec<ElectionId> = self.elections.keys().copied().collect();
            for id in all {
                self.take(id, now, Input::Resumed);
            }
        }
        self.take(id, now, input);
    }

    fn take(&mut self, id: ElectionId, now: Instant, input: Input) {
        self.turn.takes_a_step();
        let Some(election) = self.elections.get_mut(&id) else { return };
        election.handle(&mut self.world, now, input);
        let has_stopped = election.has_stopped();
        let deadline = if has_stopped { None } else { election.deadline() };
        self.timers.set(id, &mut election.alarm, deadline);
        if has_stopped {
            // Nothing names it afterwards: an id that is left in a queue would be met again and again.
            election.leave_queue(&mut self.world);
            self.world.outage.leaves(id);
            self.hints.leave(election.key(), id);
            for done in self.world.withdrawals.remove(&id).unwrap_or_default() {
                let _ = done.send(());
            }
            self.elections.remove(&id);
        }
    }
}

impl World {
    /// The amount that waits or is under way.
    fn waiting(&self) -> usize {
        let futures = self.calls.len() + self.asks.len() + self.drains.len();
        futures + self.descriptions.len() + self.admission.len()
    }
}

/// The stream's item now, if any.
fn ready<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    stream.next().now_or_never().flatten()
}

/// True if a server answered, be it with a refusal: then the connection carries requests.
fn is_answer(result: &Result<Reply, StoreError>) -> bool {
    match result.as_ref().map_err(StoreError::kind) {
        Ok(_) => true,
        Err(
            StoreErrorKind::Timeout
            | StoreErrorKind::Unreachable
            | StoreErrorKind::Disconnected
            | StoreErrorKind::Tls,
        ) => false,
        Err(_) => true,
    }
}

/// The error of a request that was given up: why there is no connection, or that there was no
/// reply.
fn given_up(store: &AnyStore, within: Duration) -> StoreError {
    store
        .connect_error()
        .unwrap_or_else(|| StoreError::new(StoreErrorKind::Timeout, format!("{within:?}")))
}

fn no_answer() -> Result<Reply, StoreError> {
    Err(StoreError::new(StoreErrorKind::UnexpectedReply, "no answer to this request of a call"))
}

impl World {
    /// True if the machine was suspended since the last call. A watch must not count that time.
    fn was_suspended(&mut self) -> bool {
        let suspended = self.runtime.suspended();
        let grew = suspended > self.suspended + SUSPEND_LEAST;
        if grew {
            self.suspended = suspended;
        }
        grew
    }

    fn has_asks(&self) -> bool {
        !self.asks.is_empty() || self.admission.has_asks()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            if let Command::Join(new) = command {
                // Abandoned, like the others.
                drop(Election::new(*new));
            }
        }
        let calls = std::mem::take(&mut self.world.calls);
        let asks = std::mem::take(&mut self.world.asks);
        let descriptions = std::mem::take(&mut self.world.descriptions);
        let are_none = calls.is_empty() && asks.is_empty() && descriptions.is_empty();
        if are_none || self.world.runtime.available().is_err() {
            return;
        }
        // Other drivers may share the connection, which a dropped call would condemn.
        let timeouts = self.elections.values().map(|election| election.request_timeout());
        let within = timeouts.max().unwrap_or_default();
        let late = self.world.runtime.sleep_until(self.world.runtime.now() + within);
        let rest = async move {
            // The others have bounds of their own.
            let calls = async {
                tokio::select! {
                    biased;
                    () = calls.map(drop).collect::<()>() => {}
                    () = late => {}
                }
            };
            let (asks, descriptions) = (asks.map(drop), descriptions.map(drop));
            tokio::join!(calls, asks.collect::<()>(), descriptions.collect::<()>());
        };
        self.world.runtime.spawn(rest.boxed());
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("elections", &self.elections.len()).finish_non_exhaustive()
    }
}
