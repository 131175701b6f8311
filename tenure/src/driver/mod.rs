//! Carries out what the state machines decide: many elections, one connection, one task, one timer.
//!
//! The driver makes no decision of its own. It reads the clock after an event, hands both to the machine,
//! and carries out the machine's outputs. A claim ends by the clock, in the handle's own thread, whether
//! or not the driver ever runs again.

mod asks;
mod calls;
mod election;
mod timers;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::{Abortable, BoxFuture};
use futures_util::stream::{BoxStream, FuturesUnordered, SelectAll};
use futures_util::{FutureExt, StreamExt};
use tenure_core::{Input, RequestId, Unknown};
use tokio::sync::mpsc;

use crate::Instant;
use crate::runtime::Runtime;
use crate::shared::{Command, ElectionId};
use crate::store::{AnyStore, Reply, StoreError};
use election::Election;
use timers::Timers;

/// The task that drives elections. A caller that builds candidates without starting them must run it.
#[must_use = "elections make no progress unless their driver runs"]
pub struct Driver {
    commands: mpsc::UnboundedReceiver<Command>,
    elections: BTreeMap<ElectionId, Election>,
    timers: Timers,
    hints: SelectAll<BoxStream<'static, ElectionId>>,
    world: World,
}

/// The store, the runtime and the futures under way that all elections share.
struct World {
    store: AnyStore,
    runtime: Arc<dyn Runtime>,
    calls: FuturesUnordered<Abortable<BoxFuture<'static, CallResult>>>,
    asks: FuturesUnordered<BoxFuture<'static, ()>>,
    drains: FuturesUnordered<BoxFuture<'static, ElectionId>>,
}

/// How a call to the store has ended.
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
        let timers = Timers::new(Arc::clone(&runtime));
        let world = World {
            store,
            runtime,
            calls: FuturesUnordered::new(),
            asks: FuturesUnordered::new(),
            drains: FuturesUnordered::new(),
        };
        Self { commands, elections: BTreeMap::new(), timers, hints: SelectAll::new(), world }
    }

    /// Runs until every handle is gone and every lease was given back. Dropping this future abandons
    /// the elections: leases then end by themselves.
    pub async fn run(mut self) {
        let mut open = true;
        while open || !self.elections.is_empty() || !self.world.asks.is_empty() {
            // Events come before deadlines: after a pause, a reply that waits in the socket counts, and its
            // request does not time out.
            tokio::select! {
                biased;
                command = self.commands.recv(), if open => match command {
                    Some(command) => self.command(command),
                    None => open = false,
                },
                Some(call) = self.world.calls.next(), if !self.world.calls.is_empty() => {
                    // An aborted call was given up before.
                    if let Ok(call) = call {
                        self.call_ended(&call);
                    }
                }
                Some(()) = self.world.asks.next(), if !self.world.asks.is_empty() => {}
                Some(id) = self.world.drains.next(), if !self.world.drains.is_empty() => {
                    self.step(id, Input::Drained);
                }
                Some(id) = self.hints.next(), if !self.hints.is_empty() => {
                    self.step(id, Input::Hint);
                }
                () = self.timers.ring() => {}
            }
            self.catch_up();
            while let Some(id) = self.timers.due() {
                self.step(id, Input::Wake);
            }
        }
    }

    /// Handles the commands and replies that wait by now, above all those of other elections: a deadline of an
    /// election must not be met before its own stop, or before a reply that has arrived. Later ones are left
    /// for the next turn, since other threads may send commands without end.
    fn catch_up(&mut self) {
        for _ in 0..self.commands.len() {
            if let Ok(command) = self.commands.try_recv() {
                self.command(command);
            }
        }
        for _ in 0..self.world.calls.len() {
            match self.world.calls.next().now_or_never() {
                Some(Some(Ok(call))) => self.call_ended(&call),
                // An aborted call.
                Some(Some(Err(_))) => {}
                Some(None) | None => return,
            }
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Join(new) => {
                let id = new.shared.id;
                let (election, hints) = Election::new(*new, &self.world);
                self.elections.insert(id, election);
                self.hints.push(hints);
                self.step(id, Input::Campaign);
            }
            Command::Resign { id, again_after, done } => {
                if let Some(election) = self.elections.get_mut(&id) {
                    election.await_withdrawal(Some(done));
                    election.reopen();
                    let again_after = election.again_after(again_after);
                    self.step(id, Input::Resign { again_after });
                }
            }
            Command::Stop { id, done } => {
                if let Some(election) = self.elections.get_mut(&id) {
                    election.await_withdrawal(done);
                    election.stopping();
                    self.step(id, Input::Resign { again_after: None });
                } else if let Some(done) = done {
                    // It has stopped already.
                    let _ = done.send(());
                }
            }
            // Whether it campaigns now follows from the offers.
            Command::WorkOffered { id } => self.step(id, Input::Wake),
            Command::WorkLost { id, token, how } => {
                let now = self.world.runtime.now();
                let election = self.elections.get_mut(&id);
                if election.is_some_and(|election| election.lost_work(now, token, how)) {
                    self.step(id, Input::Resign { again_after: None });
                }
            }
            Command::Ask(ask) => self.world.ask(*ask),
            Command::Inbox(inbox) => self.world.open(*inbox),
        }
    }

    fn call_ended(&mut self, call: &CallResult) {
        let Some(election) = self.elections.get_mut(&call.election) else { return };
        let result = election.call_ended(call, &self.world);
        let id = call.id;
        self.step(call.election, Input::Reply { id, result: result.ok_or(Unknown) });
    }

    fn step(&mut self, id: ElectionId, input: Input) {
        let Some(election) = self.elections.get_mut(&id) else { return };
        election.handle(&mut self.world, input);
        if election.has_stopped() {
            self.elections.remove(&id);
            self.timers.set(id, None);
        } else {
            self.timers.set(id, election.deadline());
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            if let Command::Join(new) = command {
                new.shared.abandoned();
            }
        }
        let calls = std::mem::take(&mut self.world.calls);
        let asks = std::mem::take(&mut self.world.asks);
        let are_none = calls.is_empty() && asks.is_empty();
        if are_none || self.world.runtime.available().is_err() {
            return;
        }
        // Other drivers may share the connection, which a dropped call would condemn.
        let timeouts = self.elections.values().map(Election::request_timeout);
        let within = timeouts.max().unwrap_or_default();
        let late = self.world.runtime.sleep_until(self.world.runtime.now() + within);
        let rest = async move {
            // Asks have bounds of their own.
            let calls = async {
                tokio::select! {
                    biased;
                    () = calls.map(drop).collect::<()>() => {}
                    () = late => {}
                }
            };
            tokio::join!(calls, asks.collect::<()>());
        };
        self.world.runtime.spawn(rest.boxed());
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("elections", &self.elections.len()).finish_non_exhaustive()
    }
}
