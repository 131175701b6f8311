//! Work that only a leader may do: it checks that it leads, then writes, again and again.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tenure::runtime::Runtime;
use tenure::{Candidate, Tenure};

use super::node::Node;
use super::world::World;
use crate::draw::Draw;
use crate::plan::Point;
use crate::trace::Event;

pub(super) async fn works(
    world: Rc<World>,
    node: Arc<Node>,
    runtime: Arc<dyn Runtime>,
    candidate: Candidate,
) {
    let mut tenures = 0;
    loop {
        tenures += 1;
        let work = |tenure| work(&world, &node, &*runtime, tenure, tenures);
        if candidate.run_while_leader(work).await.is_err() {
            return;
        }
    }
}

/// Takes a while to tidy up in the end.
async fn work(world: &World, node: &Arc<Node>, runtime: &dyn Runtime, tenure: Tenure, id: u64) {
    let under_way = UnderWay::begin(node, &tenure);
    while tenure.is_current() {
        let (checked, next) = (node.true_now(), runtime.now() + world.work_every);
        node.reaches(Point::Guard);
        std::future::poll_fn(|context| node.poll_running(context)).await;
        world.write(node, tenure.token().get(), checked).await;
        runtime.sleep_until(next).await;
    }
    let config = &world.configs[node.index];
    let most = 2 * config.drain_bound().max(config.stop_margin()).as_millis();
    let key = (node.index as u64) << 32 | id;
    let tidies = Draw::new(node.seed, "tidy", key).within(0..=u64::try_from(most).unwrap_or(0));
    runtime.sleep_until(runtime.now() + Duration::from_millis(tidies)).await;
    under_way.ends_by_itself();
}

/// Work under way, until it is dropped.
struct UnderWay<'a> {
    node: &'a Node,
    tenure: Tenure,
    dropped: bool,
}

impl<'a> UnderWay<'a> {
    fn begin(node: &'a Node, tenure: &Tenure) -> Self {
        node.tell(Event::WorkBegan { who: node.who(), token: tenure.token().get() });
        Self { node, tenure: tenure.clone(), dropped: true }
    }

    /// Whether it was let is judged by the time that it has to drain by now.
    fn ends_by_itself(mut self) {
        self.dropped = false;
        let drain_ends = self.node.clock.when(self.tenure.drain_until());
        let (who, token) = (self.node.who(), self.tenure.token().get());
        self.node.tell(Event::DrainMoved { who, token, drain_ends });
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let (who, token) = (self.node.who(), self.tenure.token().get());
        self.node.tell(Event::WorkEnded { who, token, dropped: self.dropped });
    }
}
