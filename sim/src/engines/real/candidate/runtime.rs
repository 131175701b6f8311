//! The shipped runtime under a clock with errors.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::Waker;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tenure::Instant;
use tenure::runtime::{Connection, NoRuntime, Runtime, TokioRuntime};

use super::process::Process;
use crate::engines::real::protocol::{Place, Route};
use crate::plan::{FaultKind, SimTime};

/// The shipped runtime. Its clock counts from the beginning of the run, with the node's offset,
/// rate and steps, and its connections lead through the node's network, also those to servers that
/// other servers have named.
pub(super) struct NodeRuntime {
    process: Arc<Process>,
    routes: Vec<Route>,
}

impl NodeRuntime {
    pub(super) fn of(process: &Arc<Process>, store: &Place) -> Self {
        Self { process: Arc::clone(process), routes: store.routes().to_vec() }
    }
}

impl fmt::Debug for NodeRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NodeRuntime").field(&self.process.who).finish()
    }
}

/// True time of this moment, by the clock of the shipped runtime.
fn true_now(process: &Process) -> SimTime {
    let elapsed = TokioRuntime.now().as_nanos().saturating_sub(process.time().began());
    SimTime::from_nanos(elapsed)
}

impl Runtime for NodeRuntime {
    fn now(&self) -> Instant {
        self.process.clock.read(true_now(&self.process))
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        let process = Arc::clone(&self.process);
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

    fn waker_from_outside(&self, waker: &Waker) -> Waker {
        TokioRuntime.waker_from_outside(waker)
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        TokioRuntime.spawn(task);
    }

    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Connection>> {
        let route = self.routes.iter().find(|route| route.server == port);
        TokioRuntime.connect(host, route.map_or(port, |route| route.by))
    }

    fn entropy(&self) -> io::Result<u128> {
        TokioRuntime.entropy()
    }

    fn available(&self) -> Result<(), NoRuntime> {
        TokioRuntime.available()
    }
}
