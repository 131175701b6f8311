//! Replicas that must have acknowledged a grant before it counts.
//!
//! `WAIT` tells how many have acknowledged everything that its own connection wrote before it. So it is
//! sent right behind the script, in one go: what answers both is one server, and nothing in between.

use std::time::Duration;

use redis::{Cmd, Value};

use super::config::Replicas;
use super::reply::server_error;
use crate::store::{Request, StoreError, StoreErrorKind};

impl Replicas {
    /// What is to be sent behind that request; nothing if no lease begins or goes on by it. A release
    /// that gets lost keeps a lease that nobody believes in any more.
    pub(super) fn wait_after(&self, request: &Request) -> Option<Cmd> {
        let counts = match request {
            Request::Acquire { .. } | Request::Renew { .. } => self.least > 0,
            Request::Release { .. } | Request::Observe | Request::Notify { .. } => false,
        };
        counts.then(|| {
            let mut wait = redis::cmd("WAIT");
            wait.arg(self.least).arg(whole_millis(self.within));
            wait
        })
    }

    /// Whether enough of them have what was written.
    ///
    /// # Errors
    /// If not, or if that is not known: then what the server promised is void.
    pub(super) fn vouch_for(&self, acknowledged: &Value) -> Result<(), StoreError> {
        match acknowledged {
            Value::Int(count) if *count >= i64::from(self.least) => Ok(()),
            Value::Int(count) => {
                let Self { least, within } = self;
                let detail =
                    format!("{count} of {least} replicas have acknowledged it within {within:?}");
                Err(StoreError::new(StoreErrorKind::NotDurable, detail))
            }
            Value::ServerError(error) => {
                Err(server_error(error.code(), error.details().unwrap_or_default()))
            }
            _ => Err(StoreError::new(StoreErrorKind::UnexpectedReply, "to WAIT")),
        }
    }
}

/// Rounded up: 0 would be for ever.
fn whole_millis(within: Duration) -> u64 {
    let millis = within.as_nanos().div_ceil(1_000_000).max(1);
    // What the server takes for a timeout.
    u64::try_from(millis).map_or(u64::from(u32::MAX), |millis| millis.min(u32::MAX.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_whole_milliseconds_and_never_for_ever() {
        for (nanos, millis) in [(0, 1), (1, 1), (1_000_000, 1), (1_000_001, 2), (50_000_000, 50)] {
            assert_eq!(whole_millis(Duration::from_nanos(nanos)), millis);
        }
        assert_eq!(whole_millis(Duration::MAX), u64::from(u32::MAX));
    }

    #[test]
    fn fewer_than_enough_vouch_for_nothing() {
        let replicas = Replicas { least: 2, within: Duration::from_millis(50) };
        for (acknowledged, expected) in [
            (Value::Int(2), None),
            (Value::Int(3), None),
            (Value::Int(1), Some(StoreErrorKind::NotDurable)),
            (Value::Nil, Some(StoreErrorKind::UnexpectedReply)),
        ] {
            let kind = replicas.vouch_for(&acknowledged).err().map(|error| error.kind());
            assert_eq!(kind, expected, "{acknowledged:?}");
        }
        let few = replicas.vouch_for(&Value::Int(1)).unwrap_err().to_string();
        assert!(few.ends_with("1 of 2 replicas have acknowledged it within 50ms"), "{few}");
    }
}
