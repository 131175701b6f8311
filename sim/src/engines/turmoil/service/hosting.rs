//! The processes of services. Each life of a node has a tokio runtime of its own, so that all its
//! tasks are paused together, and end together, however they were spawned.
//!
//! turmoil polls a machine's runtime in each tick, and can't leave out the tasks of one process. So
//! services don't run on turmoil's machines, as the driver does: once turmoil has ticked, each
//! runtime here runs for the same tick. Its clock is tokio's, paused, and follows true time: timers
//! that are due during a pause fire together at its end.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tenure::Candidate;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;
use tokio_util::sync::CancellationToken;

use super::outside::{Calls, Outside};
use super::{Hosted, Process};
use crate::engines::node::NodeProcess;
use crate::engines::turmoil::TICK;
use crate::engines::turmoil::landings::Landings;
use crate::engines::turmoil::node::Node;
use crate::engines::{EngineError, panics};
use crate::judge::Outcome;
use crate::plan::draw::Draw;
use crate::plan::{Plan, SimTime, nanos};

/// The service of a run, on all nodes.
pub(in crate::engines::turmoil) struct Hosting {
    service: Arc<dyn Hosted>,
    /// True if the plan keeps the assumptions of the service's own property.
    is_judged: bool,
    /// The duration of a call, in whole ticks: rounded down, so that it keeps the plan's
    /// assumptions.
    takes: Duration,
    calls: Calls,
    /// The number of calls at the last verification.
    verified: Cell<u64>,
    lives: RefCell<Vec<Option<Life>>>,
}

/// One life of a node's process.
struct Life {
    node: Arc<Node>,
    tasks: LocalSet,
    runtime: Runtime,
    /// The true time up to which its clock has counted.
    reads: SimTime,
    shutdown: CancellationToken,
    has_returned: Rc<Cell<bool>>,
}

impl Hosting {
    pub(super) fn new(plan: &Plan, service: Arc<dyn Hosted>) -> Self {
        let broken = plan.broken();
        let takes = plan.work.takes_us * 1_000;
        Self {
            is_judged: !service.assumes().iter().any(|rests| broken.contains(rests)),
            service,
            takes: Duration::from_nanos(takes - takes % nanos(TICK)),
            calls: Calls::default(),
            verified: Cell::new(0),
            lives: RefCell::new(plan.nodes.iter().map(|_| None).collect()),
        }
    }

    /// A process of that node begins, with that candidate.
    pub(in crate::engines::turmoil) fn begins(
        &self,
        node: &Arc<Node>,
        candidate: Candidate,
        landings: &Arc<Landings>,
    ) {
        let who = node.who();
        let key = (node.index as u64) << 32 | u64::from(who.life);
        let process = Process {
            candidate,
            outside: Outside::new(node, self.takes, landings, &self.calls),
            shutdown: CancellationToken::new(),
            who,
            seed: Draw::new(node.seed, "service", key).bits(),
        };
        match Life::new(node, &self.service, process) {
            Ok(life) => self.lives.borrow_mut()[node.index] = Some(life),
            Err(error) => node.breaks(EngineError::Simulation(error.to_string())),
        }
    }

    /// The process of that node has ended: all its tasks are dropped.
    pub(in crate::engines::turmoil) fn left(&self, node: usize) {
        let gone = self.lives.borrow_mut()[node].take();
        drop(gone);
    }

    /// The run has ended, and all processes with it.
    pub(in crate::engines::turmoil) fn ends(&self) {
        self.lives.borrow_mut().fill_with(|| None);
    }

    /// Runs all processes up to that time, except for paused ones.
    pub(in crate::engines::turmoil) fn advance(&self, now: SimTime) {
        for life in self.lives.borrow_mut().iter_mut().flatten() {
            if !life.node.is_frozen() {
                life.advance(now);
            }
        }
    }

    /// Asks the process of that node to end. Returns whether it runs.
    pub(in crate::engines::turmoil) fn shut_down(&self, node: usize) -> bool {
        let lives = self.lives.borrow();
        let life = lives[node].as_ref();
        life.inspect(|life| life.shutdown.cancel()).is_some()
    }

    /// True if the process of that node runs, though it was asked to end.
    pub(in crate::engines::turmoil) fn is_shutting_down(&self, node: usize) -> bool {
        self.lives.borrow()[node].as_ref().is_some_and(|life| life.shutdown.is_cancelled())
    }

    /// The nodes whose processes have returned.
    pub(in crate::engines::turmoil) fn returned(&self) -> Vec<usize> {
        let lives = self.lives.borrow();
        let returned = lives.iter().flatten().filter(|life| life.has_returned.get());
        returned.map(|life| life.node.index).collect()
    }

    /// Verifies the service if calls have landed since the last time.
    pub(in crate::engines::turmoil) fn verify(&self, at: SimTime, outcome: &mut Outcome) {
        let count = self.calls.count();
        if self.verified.replace(count) < count {
            self.judge(at, outcome, self.service.verify());
        }
    }

    /// Verifies the whole run at its end.
    pub(in crate::engines::turmoil) fn finish(&self, at: SimTime, outcome: &mut Outcome) {
        self.judge(at, outcome, self.service.finish());
        if self.is_judged {
            outcome.judge.also(self.service.name(), self.calls.count());
        }
    }

    fn judge(&self, at: SimTime, outcome: &mut Outcome, verdict: Result<(), String>) {
        if let (Err(what), true) = (verdict, self.is_judged) {
            outcome.judge.accuse(at, self.service.name(), what.into());
        }
    }
}

impl Life {
    fn new(node: &Arc<Node>, service: &Arc<dyn Hosted>, process: Process) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
        let (tasks, has_returned) = (LocalSet::new(), Rc::new(Cell::new(false)));
        let (service, returns) = (Arc::clone(service), Rc::clone(&has_returned));
        let shutdown = process.shutdown.clone();
        tasks.spawn_local(async move {
            service.serve(process).await;
            returns.set(true);
        });
        let (node, reads) = (Arc::clone(node), node.true_now() - TICK);
        Ok(Self { node, tasks, runtime, reads, shutdown, has_returned })
    }

    fn advance(&mut self, now: SimTime) {
        let missed = now.since(self.reads).saturating_sub(TICK);
        self.reads = now;
        self.runtime.block_on(self.tasks.run_until(async {
            if !missed.is_zero() {
                tokio::time::advance(missed).await;
            }
            tokio::time::sleep(TICK).await;
        }));
        if let Some(what) = panics::take() {
            self.node.panicked(what);
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // Destructors of tasks may use the runtime.
        let _inside = self.runtime.enter();
        self.tasks = LocalSet::new();
    }
}
