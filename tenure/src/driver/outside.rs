//! The waker for what application code does: it may block its thread right afterwards, and the
//! driver must not wait for that thread.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use crate::runtime::Runtime;

pub(super) struct Outside {
    runtime: Arc<dyn Runtime>,
    /// The last waker of the driver's task, and the one that wakes it from outside.
    last: Mutex<Option<(Waker, Waker)>>,
}

impl Outside {
    pub(super) fn new(runtime: &Arc<dyn Runtime>) -> Self {
        Self { runtime: Arc::clone(runtime), last: Mutex::new(None) }
    }

    /// Wakes the task of `own` from outside. Asked at each poll: a driver may be moved to another
    /// task half way.
    pub(super) fn waker(&self, own: &Waker) -> Waker {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((task, outside)) = &*last
            && task.will_wake(own)
        {
            return outside.clone();
        }
        let outside = self.runtime.waker_from_outside(own);
        *last = Some((own.clone(), outside.clone()));
        outside
    }
}
