//! One timer for all elections.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::Instant;
use crate::runtime::Runtime;
use crate::shared::ElectionId;

/// The next deadline of each election. Deadlines are replaced, never cancelled: an election derives its
/// deadline from its state after every input.
pub(super) struct Timers {
    runtime: Arc<dyn Runtime>,
    queue: BTreeSet<(Instant, ElectionId)>,
    set: BTreeMap<ElectionId, Instant>,
    alarm: Option<(Instant, BoxFuture<'static, ()>)>,
}

impl Timers {
    pub(super) fn new(runtime: Arc<dyn Runtime>) -> Self {
        Self { runtime, queue: BTreeSet::new(), set: BTreeMap::new(), alarm: None }
    }

    pub(super) fn set(&mut self, id: ElectionId, deadline: Option<Instant>) {
        let before = match deadline {
            Some(at) => self.set.insert(id, at),
            None => self.set.remove(&id),
        };
        if before == deadline {
            return;
        }
        if let Some(before) = before {
            self.queue.remove(&(before, id));
        }
        if let Some(at) = deadline {
            self.queue.insert((at, id));
        }
    }

    /// An election whose deadline has come.
    pub(super) fn due(&mut self) -> Option<ElectionId> {
        let (at, _) = self.queue.first()?;
        if self.runtime.now() < *at {
            return None;
        }
        let (_, id) = self.queue.pop_first()?;
        self.set.remove(&id);
        Some(id)
    }

    /// Completes when an election's deadline may have come. An alarm that rings too early does no harm,
    /// so it is set anew only for an earlier deadline or after it has rung.
    pub(super) async fn ring(&mut self) {
        let Some((at, _)) = self.queue.first() else { return std::future::pending().await };
        let alarm = match &mut self.alarm {
            Some((set_to, alarm)) if *set_to <= *at => alarm,
            Some(_) | None => &mut self.alarm.insert((*at, self.runtime.sleep_until(*at))).1,
        };
        alarm.await;
        self.alarm = None;
    }
}
