//! A candidate's health, from what it knows by itself.

use std::time::Duration;

use crate::Token;
use crate::shared::{Shared, Sighting, Standing, State, StoreState};
use crate::store::{Incumbent, StoreErrorKind};
use crate::{Candidate, Instant};

/// The state of a candidate and of its store at one moment, without a request to the store: for
/// readiness endpoints, dashboards and logs. See [`Candidate::health`].
///
/// **Not guaranteed**: that any of it still holds at a later moment, or that an incumbent still
/// leads. Only "this candidate leads" is certain, for the moment of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Health {
    /// The candidate's role.
    pub role: Role,
    /// The store's state.
    pub store: StoreHealth,
}

/// The role of a candidate. Durations are by the candidate's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Role {
    /// It leads, at an instant within the call.
    Leading {
        /// The tenure's token.
        token: Token,
        /// For how long it still leads if no renewal succeeds. Never zero.
        #[cfg_attr(
            feature = "serde",
            serde(rename = "remaining_ms", serialize_with = "as_millis")
        )]
        remaining: Duration,
        /// For how long it has led.
        #[cfg_attr(feature = "serde", serde(rename = "elapsed_ms", serialize_with = "as_millis"))]
        elapsed: Duration,
    },
    /// It waits for the lease that another candidate held when the store was last asked.
    Following {
        /// The incumbent, as the store last showed it.
        incumbent: Incumbent,
        /// For how long this candidate has seen its lease without a renewal. From the incumbent's
        /// TTL on, it is overdue: it leads no more, and a successor takes over soon.
        #[cfg_attr(
            feature = "serde",
            serde(rename = "unchanged_ms", serialize_with = "as_millis")
        )]
        unchanged: Duration,
        /// For how long this tenure has been known.
        #[cfg_attr(feature = "serde", serde(rename = "elapsed_ms", serialize_with = "as_millis"))]
        elapsed: Duration,
    },
    /// It watches a store that may have lost an older leader's lease, and is granted nothing before
    /// the longest lease would have ended.
    Watching {
        /// The time left to wait.
        #[cfg_attr(
            feature = "serde",
            serde(rename = "remaining_ms", serialize_with = "as_millis")
        )]
        remaining: Duration,
    },
    /// It asks for the lease, and knows no incumbent.
    Campaigning {
        /// For how long.
        #[cfg_attr(feature = "serde", serde(rename = "elapsed_ms", serialize_with = "as_millis"))]
        elapsed: Duration,
    },
    /// It does not ask for the lease for now: its last tenure is over and its work is ending, or it
    /// has resigned, or its work was lost. It campaigns again by itself, after lost work only once
    /// work is offered.
    HoldingOff,
    /// It was asked to stop, and still gives back what it holds.
    Stopping,
    /// It has left the election for good.
    Stopped,
    /// Its driver is gone: the runtime has ended, or the driver was dropped. It never leads again.
    DriverGone,
}

/// The state of the store, as far as the candidate's own requests show.
///
/// Both a leader and a waiting candidate ask about once in a renew interval (the latter more often
/// if nothing wakes it, and more rarely with a larger [`look_every`](crate::ConfigBuilder::look_every)):
/// an outage is known that much later, at most one request timeout after the next request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum StoreHealth {
    /// It has not answered yet, and no request has failed.
    NotAnswered,
    /// It answered the last request whose outcome is known.
    Answering,
    /// Requests fail.
    Unavailable {
        /// Time since the first request that failed was sent.
        #[cfg_attr(feature = "serde", serde(rename = "elapsed_ms", serialize_with = "as_millis"))]
        elapsed: Duration,
        /// The last error's kind: why there is no connection, if known.
        kind: StoreErrorKind,
        /// The same for people: the error and its causes, as the log shows them. It may name the
        /// server and the user, and never has a password or a URL.
        cause: String,
        /// True if it had answered before.
        has_answered: bool,
    },
}

impl Health {
    /// True if the candidate can take part in its election, for a readiness endpoint: it has not
    /// stopped, it does not follow a leader that is overdue, and its store has answered once and
    /// has not been unavailable for longer than `outage`.
    ///
    /// A follower is ready, as is a leader, since traffic for a process is seldom traffic for its
    /// leader; match on [`role`](Self::role) to route to the leader alone. `outage` is a choice:
    /// zero turns unready with the first failed request, which takes all replicas out of service
    /// together when the store is gone; [`Duration::MAX`] leaves the store out, except that it must
    /// have answered once.
    pub fn is_ready(&self, outage: Duration) -> bool {
        let takes_part = match self.role {
            Role::Leading { .. }
            | Role::Watching { .. }
            | Role::Campaigning { .. }
            | Role::HoldingOff => true,
            Role::Following { ref incumbent, unchanged, .. } => unchanged < incumbent.ttl,
            Role::Stopping | Role::Stopped | Role::DriverGone => false,
        };
        takes_part
            && match &self.store {
                StoreHealth::NotAnswered => false,
                StoreHealth::Answering => true,
                StoreHealth::Unavailable { elapsed, has_answered, .. } => {
                    *has_answered && *elapsed <= outage
                }
            }
    }
}

impl Candidate {
    /// Returns the state of this candidate and of its store. Asks nothing of the store or the
    /// driver, so that it is cheap enough for every probe, and answers in an outage too.
    ///
    /// The answer about leading obeys the rule of [`is_leader`](Self::is_leader): the clock
    /// decides, whether or not the driver has run since the claim ended. The rest is as the driver
    /// last saw it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use tenure::{Candidate, Role, store::Memory};
    ///
    /// let candidate = Candidate::builder(Memory::new(), "nightly-report").start()?;
    /// candidate.elected().await?;
    /// let health = candidate.health();
    /// assert!(matches!(health.role, Role::Leading { .. }));
    /// // The answer of a readiness endpoint that tolerates an outage of one minute:
    /// assert!(health.is_ready(Duration::from_secs(60)));
    ///
    /// candidate.stop().await?;
    /// assert_eq!(candidate.health().role, Role::Stopped);
    /// assert!(!candidate.health().is_ready(Duration::MAX));
    /// # Ok(())
    /// # }
    /// ```
    pub fn health(&self) -> Health {
        let shared = self.shared();
        let state = shared.standing.look();
        Health { role: role(shared, &state), store: store(&state, shared.runtime.now()) }
    }
}

fn role(shared: &Shared, state: &State) -> Role {
    match &state.standing {
        Standing::Stopped => return Role::Stopped,
        Standing::Abandoned => return Role::DriverGone,
        Standing::Leading(tenure) => {
            // The tenure's own clock reading comes last: it decides.
            let remaining = tenure.remaining();
            let elapsed = shared.runtime.now().since(state.since);
            let leads = shared.leads_until.holds(|| shared.runtime.now());
            if leads && !remaining.is_zero() && tenure.is_current() {
                return Role::Leading { token: tenure.token(), remaining, elapsed };
            }
        }
        Standing::Campaigning(_)
        | Standing::Watching(_)
        | Standing::Ending
        | Standing::HoldingOff => {}
    }
    if state.is_stopping {
        return Role::Stopping;
    }
    let now = shared.runtime.now();
    let elapsed = now.since(state.since);
    match &state.standing {
        Standing::Campaigning(Some(sighting)) => sighting.following(now),
        Standing::Campaigning(None) => Role::Campaigning { elapsed },
        Standing::Watching(until) => Role::Watching { remaining: until.since(now) },
        // The claim is over, and the driver has not run since.
        Standing::Leading(_) | Standing::Ending | Standing::HoldingOff => Role::HoldingOff,
        Standing::Stopped => Role::Stopped,
        Standing::Abandoned => Role::DriverGone,
    }
}

impl Sighting {
    fn following(&self, now: Instant) -> Role {
        Role::Following {
            incumbent: self.incumbent.clone(),
            unchanged: now.since(self.unchanged_since),
            elapsed: now.since(self.first_seen_at),
        }
    }
}

fn store(state: &State, now: Instant) -> StoreHealth {
    match &state.store {
        StoreState::NotAnswered => StoreHealth::NotAnswered,
        StoreState::Answering => StoreHealth::Answering,
        StoreState::Unavailable(outage) => StoreHealth::Unavailable {
            elapsed: now.since(outage.since),
            kind: outage.error.kind(),
            cause: outage.error.with_causes(),
            has_answered: outage.has_answered,
        },
    }
}

#[cfg(feature = "serde")]
fn as_millis<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
