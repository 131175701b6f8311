//! A sleep until a point on the host's clock.
//!
//! The clock decides when a sleep is over, never a timer: a wake-up that comes early does no harm.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::runtime::Handle;

use super::clock;
use super::timer::{Entry, Timer};
use crate::Instant;

/// How long a sleep without a timerfd lasts before it tries to get one again. Tokio's timers stop in a suspend,
/// so this is also how late such a sleep can be after a resume.
const FALLBACK: Duration = Duration::from_secs(1);

/// Whether the last attempt to open a timerfd has failed, so that the log says it once.
static FAILING: AtomicBool = AtomicBool::new(false);

/// Completes once the clock has reached its deadline.
///
/// It waits for the timer of the runtime in which it is polled or, on a thread outside of any, of the runtime in
/// which it was made. It panics, as tokio's own sleep does, if there is neither or if that runtime has ended.
pub(super) struct Sleep {
    deadline: Instant,
    made_in: Option<Handle>,
    wait: Option<Wait>,
}

enum Wait {
    Timer(Entry),
    /// There is no timerfd. A coarser timer is better than none.
    Fallback(Pin<Box<tokio::time::Sleep>>),
}

impl Sleep {
    pub(super) fn until(deadline: Instant) -> Self {
        Self { deadline, made_in: Handle::try_current().ok(), wait: None }
    }

    fn wait_in(&self, runtime: &Handle, waker: &Waker) -> Wait {
        match Timer::of(runtime).and_then(|timer| timer.register(self.deadline, waker)) {
            Ok(entry) => {
                if FAILING.load(Ordering::Relaxed) {
                    FAILING.store(false, Ordering::Relaxed);
                }
                Wait::Timer(entry)
            }
            Err(error) => {
                if !FAILING.swap(true, Ordering::Relaxed) {
                    // Out of file descriptors, most likely.
                    tracing::warn!(%error, "no timerfd; falling back to the runtime's timer");
                }
                let _runtime = runtime.enter();
                let pause = self.deadline.since(clock::now()).min(FALLBACK);
                Wait::Fallback(Box::pin(tokio::time::sleep(pause)))
            }
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        loop {
            if clock::now() >= this.deadline {
                this.wait = None;
                return Poll::Ready(());
            }
            if let Some(Wait::Fallback(pause)) = &mut this.wait {
                ready!(pause.as_mut().poll(context));
                this.wait = None;
                continue;
            }
            let made_in = || this.made_in.clone();
            let runtime = Handle::try_current().ok().or_else(made_in);
            // Panics with tokio's explanation.
            let runtime = runtime.unwrap_or_else(Handle::current);
            if let Some(Wait::Timer(entry)) = &this.wait
                && entry.is_of(&runtime)
                && entry.set_waker(context.waker())
            {
                return Poll::Pending;
            }
            let wait = this.wait.insert(this.wait_in(&runtime, context.waker()));
            if matches!(wait, Wait::Timer(_)) {
                return Poll::Pending;
            }
        }
    }
}
