//! A store and a clock in a test's hands: how does *your* service behave when it loses the lead?
//!
//! A [`World`] has one store in memory and one clock. Each [`Process`] in it has a connection to
//! that store, which the test cuts, heals, delays or makes fail. The candidates are real: the state
//! machine, driver and handles are those of production.
//!
//! ```
//! use std::error::Error;
//! use std::time::Duration;
//! use tenure::{Config, testing::World};
//!
//! // #[tokio::test]
//! async fn work_ends_with_the_lead() -> Result<(), Box<dyn Error>> {
//!     let process = World::new()?.process();
//!     let candidate = process.candidate("report").start()?;
//!     let tenure = candidate.elected().await?;
//!     process.cut();
//!     tenure.ended().await; // takes 13 s of the world's time, and none of yours
//!     assert!(!candidate.is_leader());
//!     process.heal();
//!     assert!(candidate.elected().await?.token() > tenure.token());
//!     Ok(())
//! }
//! # let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
//! # tokio.block_on(work_ends_with_the_lead()).unwrap();
//! ```
//!
//! **Time** is tokio's, paused: it jumps to the next timer whenever no task can run. So elections
//! and all code that uses [`tokio::time`] see the same time, and a test that takes an hour of it
//! ends within milliseconds. A test that awaits what never comes does not hang, but runs for ever:
//! put [`tokio::time::timeout`] around it, which costs no time either. [`tokio::time::advance`]
//! moves the clock in one jump while nothing runs, as a pause of the process does.
//!
//! **Not simulated**: other clocks than tokio's (`std::time::Instant`, `SystemTime`, the timers of
//! other libraries) and I/O. While a task waits for a socket or a file, no task can run, so time
//! jumps ahead; wait for it in [`spawn_blocking`](tokio::task::spawn_blocking), which holds the
//! clock.
//!
//! A world shows what a service does in the situations that the test thinks of. To search for
//! situations, use the simulator: `docs/simulating-your-code.md`.

mod link;
mod process;

use std::sync::Arc;
use std::time::Duration;

pub use process::Process;

use crate::runtime::{NoRuntime, PausedRuntime};
use crate::store::{Key, LimitError, Memory, Profile};
use crate::{HolderId, Token};

/// A store, a clock, and the processes of a test. Clones are the same world.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tenure::testing::World;
///
/// let world = World::new()?;
/// let candidate = world.process().candidate("report").start()?;
/// candidate.elected().await?;
/// let token = world.supersede("report")?;
/// world.advance(Duration::from_secs(6)).await; // the next renewal is refused
/// assert!(!candidate.is_leader());
/// assert_eq!(candidate.incumbent().await?.map(|incumbent| incumbent.token), Some(token));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct World {
    runtime: Arc<PausedRuntime>,
    store: Memory,
}

/// A test's request that a store can't carry out: no candidate holds the lease, or the key is empty
/// or too long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct WorldError(Problem);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error(transparent)]
    Limit(LimitError),
    #[error("no candidate holds the lease of {0:?}: await elected() of one first")]
    NotHeld(Key),
}

impl From<LimitError> for WorldError {
    fn from(error: LimitError) -> Self {
        Self(Problem::Limit(error))
    }
}

impl World {
    /// An empty store, and the clock of this tokio runtime, which is paused from now on if it was
    /// not before (`#[tokio::test(start_paused = true)]`).
    ///
    /// Like [`Memory`], the store makes no first leader wait. All that is random in candidates is
    /// the same in each world.
    ///
    /// # Errors
    /// Outside of a tokio runtime, in one with several threads, or in one without timers.
    pub fn new() -> Result<Self, NoRuntime> {
        let runtime = Arc::new(PausedRuntime::new()?);
        let store = Memory::with_runtime(Arc::<PausedRuntime>::clone(&runtime));
        Ok(Self { runtime, store })
    }

    /// Another process, connected to the store.
    pub fn process(&self) -> Process {
        Process::new(self.store.clone(), &self.runtime)
    }

    /// Lets time pass, in order: every timer rings at its time, and all that follows from it
    /// happens at that time. Then lets the tasks run that have become ready, until each has waited
    /// or 250 turns are over.
    ///
    /// The end is rounded up to a whole millisecond of tokio's timers. Takes no time by the wall,
    /// unless a blocking task runs, whose end it waits for.
    pub async fn advance(&self, by: Duration) {
        self.runtime.advance(by).await;
    }

    /// Ends a lease at the store at once, before its time, as if the store's clock had been stepped
    /// ahead or its record deleted. No waiting candidate is woken.
    ///
    /// **This breaks an assumption** (A2 of `docs/guarantees.md`): the leader learns of it with its
    /// next renewal, and believes that it leads until then, while another candidate may be elected.
    /// For a lease that ends as promised, [cut](Process::cut) the leader off and let its TTL pass.
    ///
    /// # Errors
    /// If no candidate holds the lease.
    pub fn expire(&self, key: impl AsRef<str>) -> Result<(), WorldError> {
        let key = Key::new(key)?;
        if self.store.expire(&key) { Ok(()) } else { Err(WorldError(Problem::NotHeld(key))) }
    }

    /// Ends a lease as [`expire`](Self::expire) does, and grants it to another holder in the same
    /// step. That one is called `another holder`, has the same TTL, and never renews: it leads
    /// until its lease ends, or until you [`expire`](Self::expire) that one too. Returns its token.
    ///
    /// For a rival that lives, start a candidate in another [process](Self::process).
    ///
    /// # Errors
    /// If no candidate holds the lease.
    pub fn supersede(&self, key: impl AsRef<str>) -> Result<Token, WorldError> {
        let key = Key::new(key)?;
        let holder = HolderId::from_bits(self.runtime.random());
        let profile = Profile::new("another holder", "")?;
        self.store.supersede(&key, holder, profile).ok_or(WorldError(Problem::NotHeld(key)))
    }

    /// Replaces the store's server by another one, which knows no lease and no token. Leaders learn
    /// of it with their next renewal. A candidate that is granted a lease afterwards waits until
    /// the longest lease that may have been lost would have ended
    /// ([`Event::Watching`](crate::Event::Watching)).
    pub fn lose_data(&self) {
        self.store.lose_data();
    }
}
