//! The program of each node: the real driver and Redis adapter, over one connection, with a
//! candidate in each election.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::ready;
use std::time::Duration;

use futures_util::FutureExt;
use tenure::runtime::Runtime;
use tenure::store::AnyStore;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Candidate, CandidateBuilder, Elections, StartError};
use tokio::sync::mpsc;

use super::contest::{Order, Participant};
use super::journal::Of;
use super::node::Node;
use super::process::spawn;
use super::runtime::SimRuntime;
use super::seat::Seat;
use super::taking_part::TakingPart;
use super::world::World;
use crate::engines::node::{NodeProcess, Recording, key};
use crate::engines::{EngineError, panics};
use crate::plan::draw::Draw;
use crate::trace::Event;

pub(super) fn take_part(world: &Rc<World>, node: &Arc<Node>) -> turmoil::Result {
    let config = world.configs[node.index];
    let runtime: Arc<dyn Runtime> = Arc::new(SimRuntime(Arc::clone(node)));
    let settings = RedisConfig::new("store", 6379).connect_timeout(config.request_timeout());
    let store = Redis::with_runtime(settings, Arc::clone(&runtime));
    let store = AnyStore::new(Recording::new(store, Arc::clone(node)));
    let elections = Elections::with_runtime(store, Arc::clone(&runtime));
    for election in 0..world.elections() {
        let (world, node) = (Rc::clone(world), Arc::clone(node));
        let (elections, runtime) = (elections.clone(), Arc::clone(&runtime));
        let seat = Seat { world, node, election, elections, runtime };
        if election == 0 {
            let (candidate, driver) = seat.builder().build()?;
            spawn(driven(Rc::clone(&seat.world), Arc::clone(&seat.node), driver.run()));
            spawn(seat.attend(candidate));
            continue;
        }
        // The others begin while it runs, so that the requests of two elections have different
        // numbers.
        let most = u64::try_from(config.ttl().as_millis()).unwrap_or(u64::MAX);
        let who = seat.node.who();
        let key = u64::from(who.life) << 40 | (who.node as u64) << 32 | election as u64;
        let after = Draw::new(seat.node.seed, "joins", key).within(0..=most);
        spawn(async move {
            seat.runtime.sleep_until(seat.runtime.now() + Duration::from_millis(after)).await;
            match seat.builder().start() {
                Ok(candidate) => seat.attend(candidate).await,
                Err(error) => seat.did_not_start(&error),
            }
        });
    }
    world.record(Of::All, Event::Started { who: node.who() });
    Ok(())
}

/// The name of a node's candidates; beyond the last node, one that nobody has.
fn name(node: usize) -> String {
    format!("node-{node}")
}

/// The task that drives all of a node's candidates. A fault may starve it while other tasks run.
/// Its panic does not break the run: a property judges it.
pub(super) async fn driven(world: Rc<World>, node: Arc<Node>, driver: impl Future<Output = ()>) {
    let mut driver = pin!(driver);
    let run = poll_fn(|context| {
        ready!(node.poll_driven(context));
        driver.as_mut().poll(context)
    });
    if let Err(panic) = AssertUnwindSafe(run).catch_unwind().await {
        let what = panics::message(&*panic).to_owned();
        // Another task may have panicked before it, in the same poll of the process.
        if let Some(first) = panics::take().filter(|first| *first != what) {
            node.panicked(first);
        }
        world.record(Of::All, Event::DriverPanicked { who: node.who(), what });
    }
}

impl Seat {
    fn builder(&self) -> CandidateBuilder {
        self.elections
            .candidate(key(self.election))
            .name(name(self.node.index))
            .config(self.config())
            .hold_off(self.config().renew_interval())
    }

    /// Takes part in the election with that candidate, and carries out the engine's orders.
    async fn attend(self, candidate: Candidate) {
        let (orders, mut ordered) = mpsc::unbounded_channel();
        self.world.joins(self.election, Participant::new(&self.node, candidate.clone(), orders));
        let mut taking_part = Some(TakingPart::begin(&self, candidate));
        while let Some(order) = ordered.recv().await {
            taking_part = match (order, taking_part) {
                (Order::Resign, Some(part)) => {
                    part.resigns();
                    Some(part)
                }
                (Order::HandOver { to }, Some(part)) => {
                    part.hands_over(name(to));
                    Some(part)
                }
                (Order::Leave, Some(part)) => {
                    part.leaves(&self).await;
                    None
                }
                (Order::Rejoin, None) => self.rejoin(),
                (Order::Resign | Order::HandOver { .. } | Order::Leave, None) => None,
                (Order::Rejoin, Some(part)) => Some(part),
            };
        }
    }

    /// Takes part with a new candidate: the one that left can't campaign again.
    fn rejoin(&self) -> Option<TakingPart> {
        let who = self.node.who();
        match self.builder().start() {
            Ok(candidate) => {
                self.record(Event::Started { who });
                self.record(Event::CampaignAsked { who });
                self.world.replaces(self.election, self.node.index, Some(candidate.clone()));
                Some(TakingPart::begin(self, candidate))
            }
            Err(error) => {
                self.did_not_start(&error);
                None
            }
        }
    }

    /// Without its driver, which has panicked, no candidate starts.
    fn did_not_start(&self, error: &StartError) {
        if !matches!(error, StartError::DriverGone) {
            self.node.breaks(EngineError::Simulation(error.to_string()));
        }
    }
}
