//! A clock that tests move.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tenure::Instant;
use tenure::runtime::{Connection, Runtime, TokioRuntime};
use tokio::sync::Notify;

/// Stopped until it is moved. Clones are the same clock.
#[derive(Clone, Default)]
pub(crate) struct Clock(Arc<Hands>);

#[derive(Default)]
struct Hands {
    nanos: AtomicU64,
    /// The part of it in which the machine was suspended.
    suspended: AtomicU64,
    moved: Notify,
    /// Readings of the clock, and of how long the machine was suspended.
    pauses: [Pause; 2],
}

/// A function to call after a number of readings, as if the reader were paused there.
#[derive(Default)]
struct Pause(Mutex<Option<(u32, Meanwhile)>>);

type Meanwhile = Box<dyn FnOnce() + Send>;

impl Pause {
    fn reading(&self) {
        let mut pause = self.0.lock().unwrap();
        if let Some((readings, _)) = &mut *pause {
            *readings -= 1;
        }
        let due = pause.take_if(|(readings, _)| *readings == 0);
        drop(pause);
        if let Some((_, meanwhile)) = due {
            meanwhile();
        }
    }
}

/// A kind of readings.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading {
    Clock,
    Suspended,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let clock = Self::default();
        clock.advance(Duration::from_secs(100));
        clock
    }

    pub(crate) fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_nanos()).unwrap();
        self.0.nanos.fetch_add(by, Ordering::SeqCst);
        self.0.moved.notify_waiters();
    }

    /// The machine was suspended for that time.
    pub(crate) fn suspend(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap();
        self.0.suspended.fetch_add(nanos, Ordering::SeqCst);
        self.advance(time);
    }

    pub(crate) fn pause_after(
        &self,
        readings: u32,
        of: Reading,
        meanwhile: impl FnOnce() + Send + 'static,
    ) {
        let pause = &self.0.pauses[of as usize];
        *pause.0.lock().unwrap() = Some((readings, Box::new(meanwhile)));
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.0.nanos).finish()
    }
}

impl Runtime for Clock {
    fn now(&self) -> Instant {
        let now = Instant::from_nanos(self.0.nanos.load(Ordering::SeqCst));
        self.0.pauses[Reading::Clock as usize].reading();
        now
    }

    fn suspended(&self) -> Duration {
        let suspended = Duration::from_nanos(self.0.suspended.load(Ordering::SeqCst));
        self.0.pauses[Reading::Suspended as usize].reading();
        suspended
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        async move {
            loop {
                let moved = clock.0.moved.notified();
                if Instant::from_nanos(clock.0.nanos.load(Ordering::SeqCst)) >= deadline {
                    return;
                }
                moved.await;
            }
        }
        .boxed()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }

    fn connect(&self, _: &str, _: u16) -> BoxFuture<'static, io::Result<Connection>> {
        async { Err(io::ErrorKind::Unsupported.into()) }.boxed()
    }

    fn entropy(&self) -> io::Result<u128> {
        TokioRuntime.entropy()
    }
}
