//! A sleep until a point on the host's clock, on any executor.
//!
//! The clock decides when a sleep is over, never a timer: a wake-up that comes early does no harm.

use std::pin::Pin;
use std::task::{Context, Poll};

use super::clock;
use super::timer::{Entry, Timer};
use crate::Instant;

/// Completes once the clock has reached its deadline.
pub(super) struct Sleep {
    deadline: Instant,
    entry: Option<Entry>,
}

impl Sleep {
    pub(super) fn until(deadline: Instant) -> Self {
        Self { deadline, entry: None }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if clock::now() >= this.deadline {
            this.entry = None;
            return Poll::Ready(());
        }
        let waits = this.entry.as_ref().is_some_and(|entry| entry.set_waker(context.waker()));
        if !waits {
            match Timer::get() {
                Ok(timer) => this.entry = Some(timer.register(this.deadline, context.waker())),
                // No thread can be started. The task reads the clock again at its next turn.
                Err(_) => context.waker().wake_by_ref(),
            }
        }
        Poll::Pending
    }
}
