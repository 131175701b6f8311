//! The nodes to which slots are being moved.

use std::sync::{Arc, Mutex, PoisonError};

use super::config::Address;
use super::rounds::Rounds;
use crate::store::slot::{Connection, Slot};

/// The node to which a slot is being moved, and the connection to it.
pub(super) struct Target<L: Connection> {
    pub(super) at: Address,
    /// Only a port was named: the host is the one that was asked.
    pub(super) is_same_host: bool,
    pub(super) current: Slot<L>,
    pub(super) rounds: Rounds,
}

/// The node for which a connection was last redirected: a slot moves to one node at a time.
pub(super) struct Targets<L: Connection>(Mutex<Option<Arc<Target<L>>>>);

impl<L: Connection> Default for Targets<L> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<L: Connection> Targets<L> {
    /// The target, whose connection begins as `unconnected` if it is another one than before.
    pub(super) fn at(
        &self,
        at: Address,
        is_same_host: bool,
        unconnected: impl FnOnce() -> Slot<L>,
    ) -> Arc<Target<L>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(target) = &*last
            && target.at == at
            && target.is_same_host == is_same_host
        {
            return Arc::clone(target);
        }
        let (current, rounds) = (unconnected(), Rounds::default());
        let target = Arc::new(Target { at, is_same_host, current, rounds });
        *last = Some(Arc::clone(&target));
        target
    }
}
