//! For tests: a runtime whose clock the test moves, and connections that lead nowhere.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, task};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::slot::Connection;
use crate::Instant;
use crate::runtime::{self, Runtime};

/// A clock, tasks that are polled when it moves, and the longest pauses.
#[derive(Default)]
pub(super) struct Fake {
    nanos: AtomicU64,
    tasks: Mutex<Vec<BoxFuture<'static, ()>>>,
}

impl std::fmt::Debug for Fake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fake")
    }
}

/// The same as a runtime.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock(Arc<Fake>);

impl Runtime for Clock {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.0.nanos.load(Ordering::SeqCst))
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        let is_over = move |context: &mut task::Context<'_>| {
            if clock.now() >= deadline {
                return task::Poll::Ready(());
            }
            // Polled whenever the clock moves, also among futures of which only those are polled
            // that were woken.
            context.waker().wake_by_ref();
            task::Poll::Pending
        };
        std::future::poll_fn(is_over).boxed()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.tasks().push(task);
    }

    fn connect(&self, _: &str, _: u16) -> BoxFuture<'static, io::Result<runtime::Connection>> {
        unreachable!("no sockets here")
    }

    fn entropy(&self) -> io::Result<u128> {
        Ok(u128::MAX)
    }
}

impl Clock {
    pub(super) fn tasks(&self) -> MutexGuard<'_, Vec<BoxFuture<'static, ()>>> {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Polls each task once.
    pub(super) fn run(&self) {
        let tasks = std::mem::take(&mut *self.tasks());
        let poll =
            |mut task: BoxFuture<'static, ()>| (&mut task).now_or_never().is_none().then_some(task);
        let pending: Vec<_> = tasks.into_iter().filter_map(poll).collect();
        self.tasks().extend(pending);
    }

    pub(super) fn advance(&self, by: Duration) {
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.0.nanos.fetch_add(nanos, Ordering::SeqCst);
        self.run();
    }

    pub(super) fn millis(&self) -> u128 {
        self.now().since(Instant::ORIGIN).as_millis()
    }
}

/// A connection.
#[derive(Default)]
pub(super) struct Wire {
    pub(super) dead: CancellationToken,
    pub(super) served: AtomicBool,
}

impl Connection for Wire {
    fn dead(&self) -> &CancellationToken {
        &self.dead
    }

    fn has_served(&self) -> bool {
        self.served.load(Ordering::SeqCst)
    }
}
