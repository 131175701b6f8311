//! What runs on each node: the shipped driver and Redis adapter, and a reporter of what they say.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tenure::runtime::Runtime;
use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Candidate, StepDownReason, Tenure};
use tokio::sync::mpsc;

use super::node::Node;
use super::process::spawn;
use super::recording::Recording;
use super::runtime::SimRuntime;
use super::work::works;
use super::world::World;
use crate::engine::EngineError;
use crate::trace::{Event, Reason};

pub(super) fn take_part(world: &Rc<World>, node: &Arc<Node>) -> turmoil::Result {
    let config = world.configs[node.index];
    let hold_off = config.renew_interval();
    let runtime: Arc<dyn Runtime> = Arc::new(SimRuntime(Arc::clone(node)));
    let settings = RedisConfig::new("store", 6379).connect_timeout(config.request_timeout());
    let store = Redis::with_runtime(settings, Arc::clone(&runtime));
    let candidate = Candidate::builder(Recording::new(store, Arc::clone(node)), "job")
        .name(format!("node-{}", node.index))
        .config(config)
        .hold_off(hold_off)
        .runtime(Arc::clone(&runtime))
        .start()?;
    let (resign, resignations) = mpsc::unbounded_channel();
    spawn(report(Rc::clone(world), Arc::clone(node), candidate.clone()));
    spawn(resigns(Arc::clone(node), candidate.clone(), hold_off, resignations));
    spawn(works(Rc::clone(world), Arc::clone(node), runtime, candidate.clone()));
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
                world.was_elected(&node);
                let token = tenure.token().get();
                Event::Elected { who, token, claim_ends: claim_ends(&tenure) }
            }
            tenure::Event::Renewed(tenure) => {
                let token = tenure.token().get();
                Event::Renewed { who, token, claim_ends: claim_ends(&tenure) }
            }
            tenure::Event::SteppedDown { tenure, reason } => {
                let (token, reason) = (tenure.token().get(), in_words(reason));
                let drain_ends = node.clock.when(tenure.drain_until());
                Event::SteppedDown { who, token, reason, drain_ends }
            }
            tenure::Event::Quarantined { .. } => Event::Quarantined { who },
            tenure::Event::Lagged(_) => {
                // A trace with holes can't be judged.
                let why = "a reporter lagged behind its candidate".into();
                node.breaks(EngineError::Simulation(why));
                continue;
            }
            _ => continue,
        };
        node.tell(told);
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

async fn resigns(
    node: Arc<Node>,
    candidate: Candidate,
    hold_off: Duration,
    mut wanted: mpsc::UnboundedReceiver<()>,
) {
    let hold_off = u64::try_from(hold_off.as_nanos()).ok();
    while wanted.recv().await.is_some() {
        node.tell(Event::ResignAsked { who: node.who(), hold_off });
        // Whether the lease could be handed back in time is for the properties to judge.
        let _ = candidate.resign().await;
        node.tell(Event::Withdrawn { who: node.who() });
    }
}
