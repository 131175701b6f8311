//! Tokio with a clock that only waiting moves: for tests.
//!
//! A runtime of one thread whose clock is paused jumps to the next timer as soon as no task can
//! run. So time passes in order and takes none, for elections and for all other code that uses
//! tokio's timers.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time;

use super::tokio::has_timers;
use super::{Connection, NoRuntime, Runtime};
use crate::Instant;

/// The clock's first reading: renewals that are spread need a past.
const BOOTED: Duration = Duration::from_secs(3_600);

/// The turns of all other tasks after time was advanced: far more than one wakes another in a row.
const TURNS: u32 = 250;

/// The tokio runtime in which it was made.
#[derive(Debug)]
pub(crate) struct PausedRuntime {
    /// Its clock also counts for threads outside of it.
    tokio: Handle,
    began: time::Instant,
    drawn: AtomicU64,
}

impl PausedRuntime {
    /// Pauses the clock of this tokio runtime, if it runs.
    ///
    /// # Errors
    /// Where there is no runtime, or one whose clock can't be paused.
    pub(crate) fn new() -> Result<Self, NoRuntime> {
        let tokio = Handle::try_current().map_err(|_| NoRuntime::ABSENT)?;
        if tokio.runtime_flavor() != RuntimeFlavor::CurrentThread {
            return Err(NoRuntime::new(
                "this tokio runtime has several threads, and its clock can't be paused: use a current-thread runtime, \
                 as #[tokio::test] does by default",
            ));
        }
        if !has_timers() {
            return Err(NoRuntime::NO_TIMERS);
        }
        if !is_paused() {
            time::pause();
        }
        Ok(Self { tokio, began: time::Instant::now(), drawn: AtomicU64::new(0) })
    }

    /// The same numbers in every run, none of them twice.
    pub(crate) fn random(&self) -> u128 {
        // The golden ratio, and odd: multiplication by it maps no two numbers to one, and spreads
        // them.
        const SPREAD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed);
        (u128::from(drawn) + 1).wrapping_mul(SPREAD)
    }

    /// Time passes; then what has become due runs.
    pub(crate) async fn advance(&self, by: Duration) {
        if !by.is_zero() {
            self.sleep_until(self.now() + by).await;
        }
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
    }
}

/// True if the clock does not move by itself. Tokio does not say so, and panics if it is paused
/// twice.
fn is_paused() -> bool {
    let (before, began) = (time::Instant::now(), std::time::Instant::now());
    while began.elapsed().is_zero() {
        std::hint::spin_loop();
    }
    time::Instant::now() == before
}

impl Runtime for PausedRuntime {
    fn now(&self) -> Instant {
        let _tokio = self.tokio.enter();
        Instant::ORIGIN + BOOTED + (time::Instant::now() - self.began)
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        let _tokio = self.tokio.enter();
        time::sleep_until(self.began + deadline.since(Instant::ORIGIN + BOOTED)).boxed()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.tokio.spawn(task);
    }

    fn connect(&self, _: &str, _: u16) -> BoxFuture<'static, io::Result<Connection>> {
        // While a packet is under way no task can run, and the clock would jump.
        async { Err(io::ErrorKind::Unsupported.into()) }.boxed()
    }

    fn entropy(&self) -> io::Result<u128> {
        Ok(self.random())
    }
}
