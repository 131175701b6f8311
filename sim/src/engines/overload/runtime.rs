//! Tokio's virtual time as a runtime of the driver.
//!
//! A tokio runtime of one thread whose clock is paused jumps to the next timer as soon as no task
//! can run. So a run takes no longer than its tasks, and has one order of events.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tenure::Instant;
use tenure::runtime::{Connection, NoRuntime, Runtime};

use crate::plan::SimTime;
use crate::plan::draw::Draw;

/// A process's clock when the run begins: spread renewals need a past.
const BOOTED: Duration = Duration::from_secs(3_600);

/// Virtual time, in true time and as the clock of all processes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(tokio::time::Instant);

impl Clock {
    /// A clock that begins now.
    pub(super) fn begin() -> Self {
        Self(tokio::time::Instant::now())
    }

    pub(super) fn now(self) -> SimTime {
        SimTime::START + self.0.elapsed()
    }

    /// Completes at that time, to the next millisecond.
    pub(super) async fn sleep_until(self, at: SimTime) {
        tokio::time::sleep_until(self.0 + at.since(SimTime::START)).await;
    }
}

/// The true time at which the clock of a process shows that.
pub(super) fn true_time(reading: Instant) -> SimTime {
    SimTime::START + reading.since(Instant::ORIGIN + BOOTED)
}

/// The runtime of one process.
#[derive(Clone)]
pub(super) struct PausedRuntime(Arc<Inner>);

struct Inner {
    clock: Clock,
    seed: u64,
    process: u32,
    drawn: AtomicU64,
    over: AtomicBool,
}

impl PausedRuntime {
    pub(super) fn new(clock: Clock, seed: u64, process: u32) -> Self {
        let (drawn, over) = (AtomicU64::new(0), AtomicBool::new(false));
        Self(Arc::new(Inner { clock, seed, process, drawn, over }))
    }

    /// Nothing can be spawned any more.
    pub(super) fn end(&self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

impl fmt::Debug for PausedRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PausedRuntime").field(&self.0.process).finish()
    }
}

impl Runtime for PausedRuntime {
    fn now(&self) -> Instant {
        Instant::ORIGIN + BOOTED + self.0.clock.now().since(SimTime::START)
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        self.0.clock.sleep_until(true_time(deadline)).boxed()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }

    fn connect(&self, _: &str, _: u16) -> BoxFuture<'static, io::Result<Connection>> {
        // The store of this engine is no server.
        async { Err(io::ErrorKind::Unsupported.into()) }.boxed()
    }

    fn entropy(&self) -> io::Result<u128> {
        let id = self.0.drawn.fetch_add(1, Ordering::Relaxed);
        let mut draw =
            Draw::new(self.0.seed, "overload entropy", (u64::from(self.0.process) << 32) | id);
        Ok((u128::from(draw.bits()) << 64) | u128::from(draw.bits()))
    }

    fn available(&self) -> Result<(), NoRuntime> {
        if self.0.over.load(Ordering::Relaxed) {
            Err(NoRuntime::new("the process is over"))
        } else {
            Ok(())
        }
    }
}
