//! What runs on each node: the shipped driver and Redis adapter, and work that only a leader may do.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::StreamExt;
use tenure::runtime::Runtime;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Candidate, StartError, StepDownReason, Tenure};
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use super::node::{Node, Point};
use super::runtime::SimRuntime;
use super::world::World;
use crate::draw::Draw;
use crate::trace::{Event, Reason};

/// The program of one life of a node. Ends only by a crash.
pub(super) async fn program(world: Rc<World>, node: Arc<Node>) -> turmoil::Result {
    let tasks = LocalSet::new();
    {
        let _inside = tasks.enter();
        take_part(&world, &node)?;
        tokio::task::spawn_local(std::future::pending::<()>());
    }
    Process { tasks, node }.await;
    Ok(())
}

/// All tasks of a process, which stand still together: a garbage collection, a throttled container, a
/// suspended machine.
struct Process {
    tasks: LocalSet,
    node: Arc<Node>,
}

impl Future for Process {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.node.poll_running(context));
        Pin::new(&mut self.tasks).poll(context)
    }
}

fn take_part(world: &Rc<World>, node: &Arc<Node>) -> Result<(), StartError> {
    let runtime: Arc<dyn Runtime> = Arc::new(SimRuntime(Arc::clone(node)));
    let settings = RedisConfig::new("store", 6379).connect_timeout(world.config.request_timeout());
    let store = Redis::with_runtime(settings, Arc::clone(&runtime));
    let candidate = Candidate::builder(store, "job")
        .name(format!("node-{}", node.index))
        .config(world.config)
        .runtime(Arc::clone(&runtime))
        .start()?;
    let (resign, resignations) = mpsc::unbounded_channel();
    tokio::task::spawn_local(report(Rc::clone(world), Arc::clone(node), candidate.clone()));
    tokio::task::spawn_local(resigns(candidate.clone(), resignations));
    tokio::task::spawn_local(works(Rc::clone(world), Arc::clone(node), runtime, candidate.clone()));
    world.joined(node, candidate, resign);
    Ok(())
}

/// Writes what the candidate says into the trace.
async fn report(world: Rc<World>, node: Arc<Node>, candidate: Candidate) {
    let mut events = candidate.events();
    while let Some(event) = events.next().await {
        let who = node.who();
        let claim_ends = |tenure: &Tenure| node.clock.when(tenure.valid_until());
        let told = match event {
            tenure::Event::Elected(tenure) => {
                let token = tenure.token().get();
                Event::Elected { who, token, claim_ends: claim_ends(&tenure) }
            }
            tenure::Event::Renewed(tenure) => {
                let token = tenure.token().get();
                Event::Renewed { who, token, claim_ends: claim_ends(&tenure) }
            }
            tenure::Event::SteppedDown { tenure, reason } => {
                Event::SteppedDown { who, token: tenure.token().get(), reason: in_words(reason) }
            }
            tenure::Event::Quarantined { .. } => Event::Quarantined { who },
            tenure::Event::Lagged(_) => {
                world.missed_events();
                continue;
            }
            _ => continue,
        };
        world.record_of(&node, told);
    }
}

fn in_words(reason: StepDownReason) -> Reason {
    match reason {
        StepDownReason::Expired => Reason::Expired,
        StepDownReason::Superseded => Reason::Superseded,
        StepDownReason::Resigned => Reason::Resigned,
        StepDownReason::RenewFailed => Reason::RenewFailed,
        _ => Reason::Other,
    }
}

async fn resigns(candidate: Candidate, mut wanted: mpsc::UnboundedReceiver<()>) {
    while wanted.recv().await.is_some() {
        // Whether the lease could be handed back in time is for the properties to judge.
        let _ = candidate.resign().await;
    }
}

async fn works(world: Rc<World>, node: Arc<Node>, runtime: Arc<dyn Runtime>, candidate: Candidate) {
    let mut tenures = 0;
    loop {
        tenures += 1;
        let work = |tenure| work(&world, &node, &*runtime, tenure, tenures);
        if candidate.run_while_leader(work).await.is_err() {
            return;
        }
    }
}

/// Checks, then writes, again and again; and takes a while to tidy up in the end.
async fn work(world: &World, node: &Arc<Node>, runtime: &dyn Runtime, tenure: Tenure, id: u64) {
    let _under_way = Work::begin(world, node, &tenure);
    while tenure.is_current() {
        stands_still_at_the_guard(node).await;
        world.write(node, tenure.token().get());
        runtime.sleep_until(runtime.now() + world.work_every).await;
    }
    let most = 2 * world.config.drain_bound().as_millis();
    let key = (node.index as u64) << 32 | id;
    let tidies = Draw::new(node.seed, "tidy", key).within(0..=u64::try_from(most).unwrap_or(0));
    runtime.sleep_until(runtime.now() + Duration::from_millis(tidies)).await;
}

async fn stands_still_at_the_guard(node: &Node) {
    if node.reaches(Point::Guard) {
        std::future::poll_fn(|context| node.poll_running(context)).await;
    }
}

/// Work under way, until it is dropped.
struct Work<'a> {
    world: &'a World,
    node: &'a Arc<Node>,
    token: u64,
}

impl<'a> Work<'a> {
    fn begin(world: &'a World, node: &'a Arc<Node>, tenure: &Tenure) -> Self {
        let token = tenure.token().get();
        world.record_of(node, Event::WorkBegan { who: node.who(), token });
        Self { world, node, token }
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let ended = Event::WorkEnded { who: self.node.who(), token: self.token };
        self.world.record_of(self.node, ended);
    }
}
