//! Carries out what the state machines decide: many elections, one connection, one task, one timer.
//!
//! The driver adds no decision of its own. It reads the clock after something has happened, hands both
//! to the machine, and does what the machine says. A claim ends by the clock, in the handle's own
//! thread, whether or not the driver ever runs again.

mod calls;
mod election;
mod elections;
mod timers;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{Abortable, BoxFuture};
use futures_util::stream::{BoxStream, FuturesUnordered, SelectAll};
use tenure_core::{Input, RequestId, Seed, Unknown};
use tokio::sync::{mpsc, oneshot};

use crate::Instant;
use crate::candidate::Shared;
use crate::runtime::Runtime;
use crate::store::{AnyStore, Profile, Reply, StoreError};
use election::Election;
pub use elections::Elections;
use timers::Timers;

/// Names an election within its driver.
pub(crate) type ElectionId = u64;

/// What handles ask of their driver.
pub(crate) enum Command {
    Join(Box<NewElection>),
    Resign { id: ElectionId, again_after: Duration, done: oneshot::Sender<()> },
    Stop { id: ElectionId, done: Option<oneshot::Sender<()>> },
}

pub(crate) struct NewElection {
    pub(crate) shared: Arc<Shared>,
    pub(crate) profile: Profile,
    pub(crate) seed: Seed,
}

/// The task that drives elections. Whoever builds candidates without starting them runs it.
#[must_use = "elections stand still unless their driver runs"]
pub struct Driver {
    commands: mpsc::UnboundedReceiver<Command>,
    elections: BTreeMap<ElectionId, Election>,
    timers: Timers,
    hints: SelectAll<BoxStream<'static, ElectionId>>,
    world: World,
}

/// What elections act upon.
struct World {
    store: AnyStore,
    runtime: Arc<dyn Runtime>,
    calls: FuturesUnordered<Abortable<BoxFuture<'static, Called>>>,
    drains: FuturesUnordered<BoxFuture<'static, ElectionId>>,
}

/// A call to the store that has ended.
struct Called {
    election: ElectionId,
    id: RequestId,
    name: &'static str,
    sent_at: Instant,
    result: Result<Reply, StoreError>,
}

impl Driver {
    fn new(
        store: AnyStore,
        runtime: Arc<dyn Runtime>,
        commands: mpsc::UnboundedReceiver<Command>,
    ) -> Self {
        let timers = Timers::new(Arc::clone(&runtime));
        let world = World {
            store,
            runtime,
            calls: FuturesUnordered::new(),
            drains: FuturesUnordered::new(),
        };
        Self { commands, elections: BTreeMap::new(), timers, hints: SelectAll::new(), world }
    }

    /// Runs until every handle is gone and every lease was given back. Dropping this future abandons
    /// the elections: leases then end by themselves.
    pub async fn run(mut self) {
        let mut open = true;
        while open || !self.elections.is_empty() {
            // What has happened comes before what is due: a reply that waits in the socket after a
            // pause is better than a timeout.
            tokio::select! {
                biased;
                command = self.commands.recv(), if open => match command {
                    Some(command) => self.command(command),
                    None => open = false,
                },
                Some(called) = self.world.calls.next(), if !self.world.calls.is_empty() => {
                    // An aborted call was given up before; nobody waits for it.
                    if let Ok(called) = called {
                        self.called(&called);
                    }
                }
                Some(id) = self.world.drains.next(), if !self.world.drains.is_empty() => {
                    self.step(id, Input::Drained);
                }
                Some(id) = self.hints.next(), if !self.hints.is_empty() => {
                    self.step(id, Input::Hint);
                }
                () = self.timers.ring() => {}
            }
            while let Some(id) = self.timers.due() {
                self.step(id, Input::Wake);
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
                    self.step(id, Input::Resign { again_after: Some(again_after) });
                }
            }
            Command::Stop { id, done } => {
                if let Some(election) = self.elections.get_mut(&id) {
                    election.await_withdrawal(done);
                    election.stopping();
                    self.step(id, Input::Resign { again_after: None });
                } else if let Some(done) = done {
                    // It stopped before; whoever asks again has what it wants.
                    let _ = done.send(());
                }
            }
        }
    }

    fn called(&mut self, called: &Called) {
        let Some(election) = self.elections.get_mut(&called.election) else { return };
        let result = election.called(called, &self.world);
        let id = called.id;
        self.step(called.election, Input::Reply { id, result: result.ok_or(Unknown) });
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

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("elections", &self.elections.len()).finish_non_exhaustive()
    }
}
