//! An overloaded API server asks all its clients to send nothing for a while (`Retry-After`).
//!
//! What is asked for in that time fails at once, and nothing is sent. A leader has to renew before
//! its claim ends, so the server is obeyed for a third of the shortest TTL at most.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};

use crate::Instant;
use crate::store::{StoreError, StoreErrorKind};

/// In a process without a lease.
const MOST: Duration = Duration::from_secs(60);

/// Until when nothing is sent.
#[derive(Clone)]
pub(super) struct Overload {
    until: Arc<Mutex<Option<Instant>>>,
    /// A third of the shortest TTL that this process has written, in milliseconds.
    most: Arc<AtomicU64>,
}

impl Default for Overload {
    fn default() -> Self {
        let most = u64::try_from(MOST.as_millis()).unwrap_or(u64::MAX);
        Self { until: Arc::default(), most: Arc::new(AtomicU64::new(most)) }
    }
}

impl Overload {
    /// A lease of that length is to be renewed.
    pub(super) fn has_lease_of(&self, ttl: Duration) {
        let third = u64::try_from(ttl.as_millis() / 3).unwrap_or(u64::MAX);
        self.most.fetch_min(third, Ordering::Relaxed);
    }

    /// Reads how long an answer asks to wait.
    pub(super) fn heard(&self, status: StatusCode, headers: &HeaderMap, now: Instant) {
        if status.is_success() {
            return;
        }
        let asked = headers.get(RETRY_AFTER).and_then(|text| text.to_str().ok()?.parse().ok());
        if let Some(seconds) = asked {
            let most = Duration::from_millis(self.most.load(Ordering::Relaxed));
            let until = now + Duration::from_secs(seconds).min(most);
            let mut kept = self.until();
            *kept = (*kept).max(Some(until));
        }
    }

    /// An error as long as the server is to be left alone.
    pub(super) fn is_over(&self, now: Instant) -> Result<(), StoreError> {
        let Some(left) = self.until().filter(|until| now < *until).map(|until| until.since(now))
        else {
            return Ok(());
        };
        let detail = format!("the API server is overloaded, and asks to wait for {left:?}");
        Err(StoreError::new(StoreErrorKind::Refused, detail))
    }

    fn until(&self) -> MutexGuard<'_, Option<Instant>> {
        // No step panics half way.
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_obeyed_within_the_claim() {
        let at = |millis| Instant::ORIGIN + Duration::from_millis(millis);
        let headers = |seconds: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, seconds.parse().unwrap());
            headers
        };
        let overload = Overload::default();
        overload.heard(StatusCode::OK, &headers("9"), at(0));
        overload.heard(StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new(), at(0));
        assert!(overload.is_over(at(0)).is_ok());
        overload.heard(StatusCode::TOO_MANY_REQUESTS, &headers("9"), at(0));
        let error = overload.is_over(at(8_999)).unwrap_err();
        assert!(error.to_string().contains("asks to wait for 1ms"), "{error}");
        assert!(overload.is_over(at(9_000)).is_ok());
        overload.has_lease_of(Duration::from_secs(15));
        overload.has_lease_of(Duration::from_secs(60));
        overload.heard(StatusCode::SERVICE_UNAVAILABLE, &headers("9"), at(10_000));
        assert!(overload.is_over(at(14_999)).is_err() && overload.is_over(at(15_000)).is_ok());
    }
}
