//! Carries out what the machine decides: many elections, one connection, one task, one timer.
//!
//! All decisions are those of [`tenure_driver`]. This shell takes what has happened, one thing after
//! the other, reads the clock, hands both to the machine, and carries its actions out. A claim ends
//! by the clock, in the handle's own thread, whether or not the driver ever runs again.

mod alarm;
mod calls;
mod commands;
mod dropped;
mod election;
mod hints;
mod inbox;
mod news;
mod outage;
mod outside;
mod purge;
#[cfg(test)]
mod remembers;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tenure_driver::{Action, Driver as Machine, InCall};
use tokio::sync::{mpsc, oneshot};

use crate::logging::{self, LIFE};
use crate::runtime::Runtime;
use crate::shared::{Command, ElectionId};
use crate::store::{AnyStore, Key, Store};
use crate::{Instant, metrics};
use alarm::Alarm;
use calls::{Calls, Ended};
use election::Election;
use hints::Hints;
use outage::Outage;
use outside::Outside;

/// The task that drives elections. A caller that builds candidates without starting them must run
/// it.
#[must_use = "elections make no progress unless their driver runs"]
pub struct Driver {
    machine: Machine<Key>,
    elections: Table<ElectionId, Box<Election>>,
    commands: mpsc::UnboundedReceiver<Command>,
    has_handles: bool,
    calls: Calls,
    /// Yields when all work of an election's last tenure has ended.
    drains: FuturesUnordered<BoxFuture<'static, ElectionId>>,
    hints: Hints,
    alarm: Alarm,
    /// The inputs of the machine that its actions have caused.
    echoes: VecDeque<Input>,
    /// The callers that wait until an election's resignation is complete. In order, as they wake if
    /// the driver is dropped.
    withdrawals: BTreeMap<ElectionId, Vec<oneshot::Sender<()>>>,
    outage: Outage,
    outside: Outside,
    store: AnyStore,
    runtime: Arc<dyn Runtime>,
    /// For how long the machine had been suspended, when that was last looked at.
    suspended: Duration,
    /// True if the store has said that it replaces no profile.
    has_refused_descriptions: bool,
    has_stopped: bool,
}

/// An event of the machine.
type Input = tenure_driver::Event<Key>;

/// Without random keys: a simulated run repeats the order in which elections are dropped.
type Table<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// Something that has happened, or a step of what is due.
enum Taken {
    Command(Command),
    HandlesGone,
    Ended(Ended),
    Drained(ElectionId),
    Hint(Key),
    Due,
}

/// No machine is suspended for a shorter time; two clocks that are read one after the other seldom
/// differ by as much.
const SUSPEND_LEAST: Duration = Duration::from_millis(100);

/// The most rounds before other tasks run. Most turns take two.
const ROUNDS: usize = 8;

/// The most hints in one turn.
const HINTS: usize = 64;

impl Driver {
    pub(crate) fn new(
        store: AnyStore,
        runtime: Arc<dyn Runtime>,
        commands: mpsc::UnboundedReceiver<Command>,
    ) -> Self {
        let traits = store.traits();
        Self {
            machine: Machine::new(InCall {
                renewals: traits.renewals_in_call,
                looks: traits.looks_in_call,
                acquires: traits.acquires_in_call,
            })
            .with_calls(traits.least_calls),
            elections: Table::default(),
            commands,
            has_handles: true,
            calls: Calls::default(),
            drains: FuturesUnordered::new(),
            hints: Hints::new(&store),
            alarm: Alarm::new(&runtime),
            echoes: VecDeque::new(),
            withdrawals: BTreeMap::new(),
            outage: Outage::new(traits.name),
            outside: Outside::new(&runtime),
            suspended: runtime.suspended(),
            store,
            runtime,
            has_refused_descriptions: false,
            has_stopped: false,
        }
    }

    /// Runs until every handle is gone and every lease was given back. Dropping this future
    /// abandons the elections: leases then end by themselves.
    pub async fn run(mut self) {
        let _purging = purge::begin(&self.store, &self.runtime);
        self.drive().await;
    }

    pub(crate) async fn drive(&mut self) {
        poll_fn(|context| self.poll(context)).await;
    }

    /// Takes what has happened, then does what is due, until there is neither. Events come before
    /// deadlines: after a pause, a reply that waits in the socket counts, and its request does not
    /// time out; and no deadline of an election is met before its own stop.
    ///
    /// Other threads may send commands without end, so it rests after some rounds: the runtime reads
    /// no socket before.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        for _ in 0..ROUNDS {
            if self.has_stopped {
                return Poll::Ready(());
            }
            let has_happened = self.take_all(context);
            let was_due = self.do_what_is_due();
            // A call that was begun has to be polled.
            if !has_happened && !was_due {
                ready!(self.alarm.poll_ring(context, self.machine.deadline()));
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Takes what there is by now; false if that is nothing. What comes later is left for the next
    /// turn: other threads may send commands without end, and no kind of event may hold back
    /// another one, or the deadlines.
    fn take_all(&mut self, context: &mut Context<'_>) -> bool {
        let mut count = 0;
        let mut take = |driver: &mut Self, taken| {
            count += 1;
            driver.take(taken);
        };
        // Application code sends commands and ends work.
        let outside = self.outside.waker(context.waker());
        let mut outside = Context::from_waker(&outside);
        for _ in 0..=self.commands.len() {
            let Poll::Ready(command) = self.poll_command(&mut outside) else { break };
            take(self, command.map_or(Taken::HandlesGone, Taken::Command));
        }
        for _ in 0..=self.calls.len() {
            let Poll::Ready(Some(ended)) = self.calls.poll_next(context) else { break };
            take(self, Taken::Ended(ended));
        }
        for _ in 0..=self.drains.len() {
            let Poll::Ready(Some(id)) = self.drains.poll_next_unpin(&mut outside) else { break };
            take(self, Taken::Drained(id));
        }
        for _ in 0..HINTS {
            let Poll::Ready(Some(key)) = self.hints.poll_next(context) else { break };
            take(self, Taken::Hint(key));
        }
        count > 0
    }

    /// The next command; `None` if every handle is gone. One that is there already is taken first:
    /// of what tokio hands to a waker, a task may take a part only before it must yield.
    fn poll_command(&mut self, context: &mut Context<'_>) -> Poll<Option<Command>> {
        if !self.has_handles {
            return Poll::Pending;
        }
        match self.commands.try_recv() {
            Ok(command) => Poll::Ready(Some(command)),
            Err(_) => self.commands.poll_recv(context),
        }
    }

    /// Lets the machine do what is due, one step after the other: each call leaves at a time of its
    /// own. False if nothing was due.
    fn do_what_is_due(&mut self) -> bool {
        let mut was_due = false;
        while !self.has_stopped
            && self.machine.deadline().is_some_and(|at| at <= self.runtime.now())
        {
            self.take(Taken::Due);
            was_due = true;
        }
        was_due
    }

    /// Hands the machine what was taken just now, and then what follows from the actions.
    fn take(&mut self, taken: Taken) {
        let now = self.time();
        match taken {
            Taken::Command(command) => self.command(now, command),
            Taken::HandlesGone => {
                self.has_handles = false;
                self.hand_in(now, Input::HandlesGone);
            }
            Taken::Ended(ended) => self.ended(now, ended),
            Taken::Drained(id) => self.drained(now, id),
            Taken::Hint(key) => self.hand_in(now, Input::Hint(key)),
            Taken::Due => self.hand_in(now, Input::Due),
        }
        while let Some(echo) = self.echoes.pop_front() {
            let now = self.time();
            self.hand_in(now, echo);
        }
    }

    /// Reads the clock, for what was taken just now. **Two candidates may lead if it is read at any
    /// other moment.**
    ///
    /// - After an answer was taken: a candidate's watch begins at this time. Before, the watch would
    ///   count time in which the answer was still under way, and end while the leader's claim holds.
    /// - Before the call of a request is polled: a leader's claim counts from this time. After, the
    ///   store would have granted the lease already, and the claim would outlive it.
    /// - For each event and each call anew: with a common time, one of both would be wrong.
    /// - The clock first, and then for how long the machine was suspended. So the elections know of
    ///   each suspend before the time that they are told, and of a later one before their next
    ///   event. The other way round, a suspend between both would count as watched.
    fn time(&mut self) -> Instant {
        let mut now = self.runtime.now();
        while self.was_suspended() {
            now = self.runtime.now();
            self.hand_in(now, Input::Resumed);
        }
        now
    }

    /// True if the machine was suspended since the last look.
    fn was_suspended(&mut self) -> bool {
        let suspended = self.runtime.suspended();
        let grew = suspended > self.suspended + SUSPEND_LEAST;
        if grew {
            self.suspended = suspended;
        }
        grew
    }

    /// Hands the machine an event, and carries out all its actions before anything else happens.
    fn hand_in(&mut self, now: Instant, input: Input) {
        self.machine.handle(now, input);
        while let Some(action) = self.machine.poll() {
            self.carry_out(now, action);
        }
    }

    fn carry_out(&mut self, now: Instant, action: Action<Key>) {
        match action {
            Action::Call(call, requests) => self.call(call, requests),
            Action::Ask(call, question) => self.ask(call, question),
            Action::Describe { call, election, holder, token } => {
                self.describe(call, election, holder, token);
            }
            Action::Cancel(call) => self.calls.cancel(call),
            Action::Drain(id) => {
                if let Some(drained) = self.elections.get(&id).and_then(|one| one.drained()) {
                    self.drains.push(drained);
                }
            }
            Action::LookAtWork(id) => {
                let due = self.elections.get(&id).and_then(|one| one.work_due());
                self.echoes.extend(due.map(|due| Input::Command(id, due)));
            }
            Action::Subscribe(key) => self.hints.subscribe(&key),
            Action::Unsubscribe(key) => self.hints.unsubscribe(&key),
            Action::WakeObserver(observer) => self.hints.wake(observer),
            Action::Publish(id, news) => self.publish(now, id, news),
            Action::Late(by) => metrics::driver_was_late(by),
            Action::TurnEnded { steps, most } => logging::error!(
                target: LIFE, steps, most,
                "a turn of the driver did not end by itself: please report this"
            ),
            Action::Stopped => self.has_stopped = true,
        }
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("elections", &self.elections.len()).finish_non_exhaustive()
    }
}
