//! A node's place in one election.

use std::rc::Rc;
use std::sync::Arc;

use tenure::runtime::Runtime;
use tenure::{Config, Elections};

use super::node::Node;
use super::world::World;
use crate::engines::node::NodeProcess;
use crate::trace::Event;

#[derive(Clone)]
pub(super) struct Seat {
    pub(super) world: Rc<World>,
    pub(super) node: Arc<Node>,
    pub(super) election: usize,
    pub(super) elections: Elections,
    pub(super) runtime: Arc<dyn Runtime>,
}

impl Seat {
    pub(super) fn record(&self, event: Event) {
        self.node.record(self.election, event);
    }

    pub(super) fn is_of_a_service(&self) -> bool {
        self.world.hosting.is_some()
    }

    pub(super) fn config(&self) -> Config {
        self.world.configs[self.node.index]
    }
}
