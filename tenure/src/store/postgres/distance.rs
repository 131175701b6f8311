//! The distance of the server, in round-trip time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The shortest time that a request on the connection has taken, in nanoseconds. The shortest one is the network's;
/// others include waiting for locks, disks and processors. A request that is given up resets it, since the network
/// may have changed.
#[derive(Debug)]
pub(super) struct Distance(AtomicU64);

/// Two such round trips fit into the request timeout of the least TTL (a tenth of 100 ms), and one takes ten times as
/// long as the work that a plain statement saves the server.
const SHORT: Duration = Duration::from_millis(2);

const UNKNOWN: u64 = u64::MAX;

impl Distance {
    /// Whether one more round trip costs little. False until a request was answered.
    pub(super) fn is_short(&self) -> bool {
        Duration::from_nanos(self.0.load(Ordering::Relaxed)) < SHORT
    }

    pub(super) fn measured(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(UNKNOWN);
        self.0.fetch_min(took, Ordering::Relaxed);
    }

    pub(super) fn given_up(&self) {
        self.0.store(UNKNOWN, Ordering::Relaxed);
    }
}

impl Default for Distance {
    fn default() -> Self {
        Self(AtomicU64::new(UNKNOWN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_counts_until_one_is_given_up() {
        let distance = Distance::default();
        assert!(!distance.is_short(), "unknown");
        distance.measured(Duration::from_millis(300));
        assert!(!distance.is_short());
        distance.measured(Duration::from_micros(200));
        distance.measured(Duration::from_millis(300));
        assert!(distance.is_short());
        distance.given_up();
        assert!(!distance.is_short());
        distance.measured(SHORT);
        assert!(!distance.is_short());
    }
}
