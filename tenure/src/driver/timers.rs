//! One timer for all elections.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::Instant;
use crate::runtime::Runtime;
use crate::shared::ElectionId;

/// The next deadline of each election. Deadlines are replaced, never cancelled: an election derives
/// its deadline from its state after every input.
pub(super) struct Timers {
    runtime: Arc<dyn Runtime>,
    queue: BTreeSet<(Instant, ElectionId)>,
    alarm: Option<(Instant, BoxFuture<'static, ()>)>,
}

impl Timers {
    pub(super) fn new(runtime: Arc<dyn Runtime>) -> Self {
        Self { runtime, queue: BTreeSet::new(), alarm: None }
    }

    #[cfg(test)]
    pub(super) fn remembers(&self) -> usize {
        self.queue.len()
    }

    /// Replaces the deadline of an election, which keeps it in `kept`.
    pub(super) fn set(
        &mut self,
        id: ElectionId,
        kept: &mut Option<Instant>,
        deadline: Option<Instant>,
    ) {
        let before = std::mem::replace(kept, deadline);
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

    /// An election whose deadline has come, and how late that is noticed; it is set anew at once.
    pub(super) fn due(&mut self) -> Option<(ElectionId, Duration)> {
        let (at, id) = self.queue.first()?;
        let now = self.runtime.now();
        (now >= *at).then(|| (*id, now.since(*at)))
    }

    /// Completes when an election's deadline may have come. An alarm that rings too early does no
    /// harm, so it is set anew only for an earlier deadline or after it has rung. Or when that
    /// other time has come.
    pub(super) async fn ring(&mut self, other: Option<Instant>) {
        let first = self.queue.first().map(|(at, _)| *at);
        let Some(at) = first.into_iter().chain(other).min() else {
            return std::future::pending().await;
        };
        let alarm = match &mut self.alarm {
            Some((set_to, alarm)) if *set_to <= at => alarm,
            Some(_) | None => &mut self.alarm.insert((at, self.runtime.sleep_until(at))).1,
        };
        alarm.await;
        self.alarm = None;
    }
}
