//! The outcome of a candidate's first attempt.

use std::time::Duration;

use super::{Candidate, Stopped};
use crate::shared::{Shared, Standing, State, StoreState};
use crate::store::{Incumbent, StoreError};
use crate::tenure::Tenure;

/// The outcome of a candidate's first attempt to lead. A candidate that does not lead continues to
/// campaign by itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FirstAttempt {
    /// It leads.
    Leading(Tenure),
    /// Another candidate holds the lease.
    Following(Incumbent),
    /// It watches a store that may have lost an older leader's lease, and is granted nothing before
    /// that time is over.
    Watching {
        /// The time left to wait.
        remaining: Duration,
    },
    /// The store did not answer, or answered with an error.
    Unreachable(StoreError),
}

impl Candidate {
    /// Waits until the first attempt to lead has an outcome: for programs that want to say at their
    /// start whether they lead, and to fail early on a wrong password.
    /// [`start`](crate::CandidateBuilder::start) itself returns at once.
    ///
    /// Takes about one request timeout at most, if the driver runs; requests of other elections
    /// over the same connection may go first. It takes longer while nobody leads and the candidate
    /// lets others go first: as it [defers](crate::ConfigBuilder::defer), or a lease was handed
    /// over to another one, or was given back under other settings. Once the first attempt is over,
    /// it says at once what holds then, and while the candidate holds off, it waits for the next
    /// attempt. Dropping the future costs nothing.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tenure::{Candidate, FirstAttempt, store::Memory};
    ///
    /// let candidate = Candidate::builder(Memory::new(), "nightly-report").start()?;
    /// match candidate.first_attempt().await? {
    ///     FirstAttempt::Leading(tenure) => println!("leads under token {}", tenure.token()),
    ///     FirstAttempt::Following(leader) => println!("{} leads", leader.name),
    ///     FirstAttempt::Unreachable(error) => return Err(error.into()),
    ///     other => println!("waits: {other:?}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the candidate has stopped.
    pub async fn first_attempt(&self) -> Result<FirstAttempt, Stopped> {
        let shared = self.shared();
        shared.standing.wait_for_state(|state| outcome(shared, state)).await
    }
}

/// The outcome of the attempt, if it is over.
fn outcome(shared: &Shared, state: State) -> Option<Result<FirstAttempt, Stopped>> {
    let now = shared.runtime.now();
    let State { standing, store, .. } = state;
    match &standing {
        Standing::Stopped | Standing::Abandoned => return Some(Err(Stopped)),
        Standing::Leading(tenure) if tenure.is_current() => {
            return Some(Ok(FirstAttempt::Leading(tenure.clone())));
        }
        Standing::Leading(_)
        | Standing::Campaigning(_)
        | Standing::Watching(_)
        | Standing::Ending
        | Standing::HoldingOff => {}
    }
    if let StoreState::Unavailable(outage) = store {
        return Some(Ok(FirstAttempt::Unreachable(outage.error)));
    }
    match standing {
        Standing::Campaigning(Some(seen)) => {
            Some(Ok(FirstAttempt::Following(seen.incumbent.clone())))
        }
        Standing::Watching(until) => {
            Some(Ok(FirstAttempt::Watching { remaining: until.since(now) }))
        }
        Standing::Campaigning(None)
        | Standing::Ending
        | Standing::HoldingOff
        | Standing::Leading(_)
        | Standing::Stopped
        | Standing::Abandoned => None,
    }
}
