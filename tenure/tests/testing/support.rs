//! A leader in a world, and bounds in that world's time.

use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tenure::testing::{Process, World};
use tenure::{Candidate, Config, Event, StepDownReason, Tenure};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn ttl() -> Duration {
    Config::default().ttl()
}

/// Fails instead of waiting for ever. Takes no time.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(3_600), future).await.expect("within an hour")
}

/// A leader of the election `job`.
pub(crate) struct Leading {
    pub(crate) world: World,
    pub(crate) process: Process,
    pub(crate) candidate: Candidate,
    pub(crate) tenure: Tenure,
}

impl Leading {
    pub(crate) async fn new() -> Self {
        let world = World::new().unwrap();
        let process = world.process();
        let candidate = process.candidate("job").name("first").start().unwrap();
        let tenure = soon(candidate.elected()).await.unwrap();
        Self { world, process, candidate, tenure }
    }

    /// A candidate in a process of its own.
    pub(crate) fn follower(&self) -> (Process, Candidate) {
        let process = self.world.process();
        let candidate = process.candidate("job").name("second").start().unwrap();
        (process, candidate)
    }
}

/// The reason of the next step down.
pub(crate) async fn stepped_down(events: impl Stream<Item = Event>) -> StepDownReason {
    let reason = |event| {
        let reason =
            if let Event::SteppedDown { reason, .. } = event { Some(reason) } else { None };
        std::future::ready(reason)
    };
    let mut reasons = std::pin::pin!(events.filter_map(reason));
    soon(reasons.next()).await.unwrap()
}
