//! Candidates that share a connection, and what happens to it.

use std::sync::Arc;
use std::time::Duration;

use super::link::{Link, Mishap, Remote};
use crate::runtime::{PausedRuntime, Runtime};
use crate::store::{AnyStore, Memory, StoreErrorKind};
use crate::{CandidateBuilder, Elections};

/// One process of a [`World`](super::World): its candidates share a driver and a connection to the
/// store. Clones are the same process.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tenure::testing::World;
///
/// let world = World::new()?;
/// let (first, second) = (world.process(), world.process());
/// let leader = first.candidate("report").start()?;
/// let tenure = leader.elected().await?;
/// let follower = second.candidate("report").start()?;
/// first.cut();
/// let next = follower.elected().await?; // once the leader's lease has ended
/// assert!(next.token() > tenure.token() && !leader.is_leader());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Process {
    elections: Elections,
    link: Arc<Link>,
}

impl Process {
    pub(super) fn new(store: Memory, runtime: &Arc<PausedRuntime>) -> Self {
        let runtime: Arc<dyn Runtime> = Arc::<PausedRuntime>::clone(runtime);
        let link = Arc::new(Link::new(store, Arc::clone(&runtime)));
        let store = AnyStore::new(Remote(Arc::clone(&link)));
        Self { elections: Elections::with_runtime(store, runtime), link }
    }

    /// A candidate in the election `key`, on the world's store and clock.
    pub fn candidate(&self, key: impl AsRef<str>) -> CandidateBuilder {
        self.elections.candidate(key)
    }

    /// For code that starts its candidates or observers by itself.
    pub fn elections(&self) -> Elections {
        self.elections.clone()
    }

    /// Cuts the connection, until [`heal`](Self::heal): no request reaches the store, and no reply,
    /// wake-up or message the process. What is under way is lost for good, so the outcome of a
    /// request is unknown once its timeout is over: the store may have carried it out.
    pub fn cut(&self) {
        self.link.cut();
    }

    /// The connection carries requests again. Has no effect on one that was not cut.
    pub fn heal(&self) {
        self.link.heal();
    }

    /// From now on, each request reaches the store after half of that time, and its reply comes
    /// back after the other half; each half is rounded up to a whole millisecond. At first there is
    /// no delay. A request takes effect even if its candidate has given it up by then.
    pub fn delay(&self, round_trip: Duration) {
        self.link.delay(round_trip);
    }

    /// The next request fails at once with an error of that kind, and the store does not see it.
    /// Called again, the request after that one fails too.
    pub fn fail_next(&self, kind: StoreErrorKind) {
        self.link.plan(Mishap::Fails(kind));
    }

    /// The store carries out the next request, but the reply is lost: the outcome is unknown once
    /// the request's timeout is over. Called again, or after [`fail_next`](Self::fail_next), this
    /// happens to the request after that one.
    pub fn lose_next_reply(&self) {
        self.link.plan(Mishap::LosesReply);
    }
}
