//! The waker for what application code does: it may block its thread right afterwards, and the driver must not wait for
//! that thread.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::runtime::Runtime;

pub(super) struct Outside {
    runtime: Arc<dyn Runtime>,
    /// The last waker of the driver's task, and the one that wakes it from outside.
    last: Option<(Waker, Waker)>,
}

impl Outside {
    pub(super) fn new(runtime: &Arc<dyn Runtime>) -> Self {
        Self { runtime: Arc::clone(runtime), last: None }
    }

    /// Wakes the task that asks for it, from outside.
    pub(super) async fn waker(&mut self) -> Waker {
        poll_fn(|context| {
            let own = context.waker();
            let last = self.last.take().filter(|(last, _)| last.will_wake(own));
            let (_, outside) = self.last.insert(
                last.unwrap_or_else(|| (own.clone(), self.runtime.waker_from_outside(own))),
            );
            Poll::Ready(outside.clone())
        })
        .await
    }
}
