//! Replicas that must have acknowledged a grant before it counts.
//!
//! `WAIT` returns how many replicas have acknowledged everything that its own connection wrote
//! before it. So it is sent together with the script: one server answers both, and no other command
//! comes in between.

use std::time::Duration;

use redis::{Cmd, Value};

use super::config::Replicas;
use super::refusal::server_error;
use crate::store::{Request, StoreError, StoreErrorKind};

impl Replicas {
    /// The command to send behind that request; `None` if the request neither grants nor extends a
    /// lease. A release that gets lost only keeps a lease that no candidate uses any more.
    pub(super) fn wait_after(&self, request: &Request) -> Option<Cmd> {
        let counts = match request {
            Request::Acquire { .. } | Request::Renew { .. } => self.least > 0,
            Request::Look { .. } | Request::Ask { .. } | Request::Want { .. } => false,
            Request::Release { .. } | Request::Describe { .. } => false,
            Request::Observe | Request::Notify { .. } => false,
        };
        counts.then(|| {
            let mut wait = redis::cmd("WAIT");
            wait.arg(self.least).arg(whole_millis(self.within));
            wait
        })
    }

    /// Confirms that enough replicas have the write.
    ///
    /// # Errors
    /// If they do not, or that is not known: then the server's promise is void.
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

/// Rounded up: 0 would wait without a bound.
fn whole_millis(within: Duration) -> u64 {
    let millis = within.as_nanos().div_ceil(1_000_000).max(1);
    // The largest timeout that the server accepts.
    u64::try_from(millis).map_or(u64::from(u32::MAX), |millis| millis.min(u32::MAX.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_whole_milliseconds_and_bounded() {
        for (nanos, millis) in [(0, 1), (1, 1), (1_000_000, 1), (1_000_001, 2), (50_000_000, 50)] {
            assert_eq!(whole_millis(Duration::from_nanos(nanos)), millis);
        }
        assert_eq!(whole_millis(Duration::MAX), u64::from(u32::MAX));
    }

    #[test]
    fn too_few_replicas_void_the_promise() {
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
