//! The properties of a store.

use std::time::Duration;

use crate::{Config, ConfigError};

/// The properties of a store that candidates and operators rely on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each says whether one thing is kept, and all combine"
)]
pub struct StoreTraits {
    /// The store's kind, for logs.
    pub name: &'static str,
    /// The time that a lease may end early because the store counts coarsely.
    pub granularity: Duration,
    /// The shortest TTL that the store can keep.
    pub least_ttl: Duration,
    /// The shortest time between two renewals that the store can show to all who watch a lease.
    pub least_renew_interval: Duration,
    /// The most round trips that a request takes once there is a connection, except for one that
    /// stamps a past. [`Explanation::longest_round_trip`](crate::Explanation) is computed from it.
    pub round_trips: u8,
    /// The most renewals in one call of [`Store::call_all`](super::Store::call_all): as many as the
    /// store carries out faster together, within about half a millisecond.
    pub renewals_in_call: usize,
    /// The same for looks.
    pub looks_in_call: usize,
    /// The same for acquires.
    pub acquires_in_call: usize,
    /// While none fails, so many calls may be in flight however long their answers take: more than 8
    /// in a store that carries out together what waits for its connection.
    pub least_calls: u16,
    /// True if the store wakes waiting candidates; otherwise they poll, by default at a fiftieth of
    /// the TTL.
    pub push: bool,
    /// True if the store delivers messages to the leader.
    pub messages: bool,
    /// The kind of its tokens.
    pub tokens: TokenKind,
    /// The handling of lost history.
    pub history: HistoryKind,
    /// True if each election has a past of its own: then each is watched once before its first
    /// lease. Otherwise all elections of one prefix share one.
    pub past_per_election: bool,
    /// True if the server ends leases itself, by its own clock.
    pub ends_leases: bool,
    /// The promises that this store does not keep.
    pub gives_up: &'static [Promise],
}

impl StoreTraits {
    /// A store of that name which keeps every promise, with a granularity of a millisecond, tokens
    /// floored by its wall clock, wake-ups, and no messages.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            granularity: Duration::from_millis(1),
            least_ttl: Duration::from_millis(100),
            least_renew_interval: Duration::ZERO,
            round_trips: 1,
            renewals_in_call: 1,
            looks_in_call: 1,
            acquires_in_call: 1,
            least_calls: tenure_driver::LEAST_CALLS,
            push: true,
            messages: false,
            tokens: TokenKind::WallClockFloor,
            history: HistoryKind::Quarantine,
            past_per_election: false,
            ends_leases: false,
            gives_up: &[],
        }
    }

    /// Adapts the settings to such a store, for [`Config::explain`]. Candidates do it themselves.
    ///
    /// # Errors
    /// If what the granularity leaves of the TTL is too short for the renewals as they were set.
    pub fn config(&self, config: Config) -> Result<Config, ConfigError> {
        let config = config.with_granularity(self.granularity.max(config.granularity()))?;
        let config = if self.push { config } else { config.without_hints() };
        let config = config.with_round_trips(self.round_trips);
        Ok(config.with_leases_ended_by_server(self.ends_leases))
    }
}

/// The kind of a store's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenKind {
    /// One more than the last, and at least the store's wall clock in microseconds.
    WallClockFloor,
    /// The store's own revision of its whole state, continued from a higher number after each loss
    /// of history.
    Revision,
}

/// A store's handling of possibly lost grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryKind {
    /// It notices that its server changed or data is gone, and its candidates watch that for a
    /// quarantine.
    Quarantine,
    /// The same, but acknowledged writes survive a restart of its servers and a change among them,
    /// so that neither costs a wait.
    Durable,
    /// It can't lose data without losing every candidate with it.
    SharesFate,
}

/// The promises of `docs/guarantees.md` that a store may give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Promise {
    /// G1: single leader.
    SingleLeader,
    /// G3: fencing.
    Fencing,
    /// G6: no two leaders after store loss.
    StoreLoss,
    /// G8: prompt handover.
    PromptHandover,
}
