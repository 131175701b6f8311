//! The shipped runtime under a clock with errors.

use std::fmt;
use std::io;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tenure::Instant;
use tenure::runtime::{Connection, NoRuntime, Runtime, TokioRuntime};

use super::process::Process;
use crate::plan::{FaultKind, SimTime};

/// The shipped runtime. Its clock counts from the beginning of the run, with the node's offset, rate and steps.
pub(super) struct ClockedRuntime(Arc<Process>);

impl ClockedRuntime {
    pub(super) fn of(process: &Arc<Process>) -> Self {
        Self(Arc::clone(process))
    }
}

impl fmt::Debug for ClockedRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClockedRuntime").field(&self.0.who).finish()
    }
}

/// True time of this moment, by the clock of the shipped runtime.
fn true_now(process: &Process) -> SimTime {
    let elapsed = TokioRuntime.now().as_nanos().saturating_sub(process.time().began());
    SimTime::from_nanos(elapsed)
}

impl Runtime for ClockedRuntime {
    fn now(&self) -> Instant {
        self.0.clock.read(true_now(&self.0))
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        let process = Arc::clone(&self.0);
        async move {
            while process.clock.read(true_now(&process)) < deadline {
                let at = process.clock.when(deadline).as_nanos();
                let wakes = Instant::from_nanos(process.time().began().saturating_add(at));
                let stepped = process.clock_stepped.notified();
                tokio::select! {
                    biased;
                    () = TokioRuntime.sleep_until(wakes) => {}
                    () = stepped => {}
                }
            }
            if process.clock.has_drifted(true_now(&process)) {
                process.drifted.call_once(|| process.took(FaultKind::Drift));
            }
        }
        .boxed()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        TokioRuntime.spawn(task);
    }

    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Connection>> {
        TokioRuntime.connect(host, port)
    }

    fn entropy(&self) -> io::Result<u128> {
        TokioRuntime.entropy()
    }

    fn available(&self) -> Result<(), NoRuntime> {
        TokioRuntime.available()
    }
}
