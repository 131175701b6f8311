//! One timer for all that is due.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::Instant;
use crate::runtime::Runtime;

pub(super) struct Alarm {
    runtime: Arc<dyn Runtime>,
    set: Option<(Instant, BoxFuture<'static, ()>)>,
}

impl Alarm {
    pub(super) fn new(runtime: &Arc<dyn Runtime>) -> Self {
        Self { runtime: Arc::clone(runtime), set: None }
    }

    /// Completes when the deadline may have come. An alarm that rings too early does no harm, so it
    /// is set anew only for an earlier deadline or after it has rung.
    pub(super) fn poll_ring(
        &mut self,
        context: &mut Context<'_>,
        deadline: Option<Instant>,
    ) -> Poll<()> {
        let Some(at) = deadline else { return Poll::Pending };
        let alarm = match &mut self.set {
            Some((set_to, alarm)) if *set_to <= at => alarm,
            Some(_) | None => &mut self.set.insert((at, self.runtime.sleep_until(at))).1,
        };
        ready!(alarm.poll_unpin(context));
        self.set = None;
        Poll::Ready(())
    }
}
