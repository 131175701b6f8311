//! The bounds that follow from the settings, in true time unless noted otherwise.

use std::time::Duration;

use tenure_core::Config;

use super::{TTL_LEAST_MS, ToleranceError};
use crate::plan::clock::{PPM, pace, true_time};
use crate::plan::{Settings, scaled};

/// Settings, and the bounds that follow from them.
///
/// A claim is valid for `v = (ttl - g)(1 - rho)/(1 + rho) - stop margin` by its candidate's clock,
/// from the sending of the request that won it. So by the slowest clock the claim ends
/// `v/(1 - rho)` after the sending. Another candidate is told of the lease later than that, and
/// watches it for the TTL: by the fastest clock, the lease ends no sooner than `ttl/(1 + rho)`
/// after the sending.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The settings.
    pub settings: Settings,
    /// The settings as a candidate's configuration.
    pub config: Config,
}

impl Bounds {
    /// The bounds of those settings.
    ///
    /// # Errors
    /// If the settings contradict each other, or are too short to be measured.
    pub fn of(settings: Settings) -> Result<Self, ToleranceError> {
        if settings.ttl_ms < TTL_LEAST_MS {
            return Err(ToleranceError::Ttl { ttl_ms: settings.ttl_ms });
        }
        Ok(Self { settings, config: settings.config().map_err(Box::new)? })
    }

    /// The drift bound, in ppm.
    pub fn rho(&self) -> i64 {
        self.settings.drift_ppm.into()
    }

    /// The TTL, by the clock of a candidate that watches the lease.
    pub fn ttl(&self) -> Duration {
        self.config.ttl()
    }

    /// The validity of a claim by its candidate's clock: `v`.
    pub fn validity(&self) -> Duration {
        self.config.validity()
    }

    /// The longest that a claim can last: `v/(1 - rho)`.
    pub fn claim_ends(&self) -> Duration {
        true_time(self.validity(), -self.rho())
    }

    /// The soonest that a lease can end: `ttl/(1 + rho)`.
    pub fn lease_ends(&self) -> Duration {
        true_time(self.ttl(), self.rho())
    }

    /// The least time from a claim's end to its lease's: `ttl/(1 + rho) - v/(1 - rho)`, which is
    /// `stop margin/(1 - rho) + g/(1 + rho)`.
    pub fn gap(&self) -> Duration {
        self.lease_ends().saturating_sub(self.claim_ends())
    }

    /// `stop margin/(1 + rho)`: the gap that `margin-kept` promises, and the longest time that an
    /// effect may take.
    pub fn promised_gap(&self) -> Duration {
        true_time(self.config.stop_margin(), self.rho())
    }

    /// The longest time from the sending of one renewal to the next, by the leader's clock.
    pub(super) fn next_renewal(&self) -> Duration {
        self.config.renew_interval().max(self.config.request_timeout())
    }

    /// The request timeout, by the leader's clock.
    pub(super) fn request_timeout(&self) -> Duration {
        self.config.request_timeout()
    }

    /// The longest delay after that many failures in a row, counted from one, by the leader's
    /// clock.
    pub(super) fn backoff(&self, failures: u32) -> Duration {
        let (least, most) = self.config.retry();
        least.saturating_mul(2_u32.saturating_pow(failures - 1)).min(most)
    }
}

/// The count of a clock that is off by `rate_ppm` in that true time, rounded down.
pub(super) fn on_clock(time: Duration, rate_ppm: i64) -> Duration {
    scaled(time, pace(rate_ppm), PPM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_by_the_slowest_clocks() {
        let settings = Settings::of_ttl(Duration::from_secs(15)).expect("valid");
        let bounds = Bounds::of(settings).expect("valid");
        // 1.5 s / 0.99 and 1.5 s / 1.01; rounding and the clock's nanosecond add a few nanoseconds.
        let gap = Duration::from_nanos(1_515_151_515);
        assert!(bounds.gap().abs_diff(gap) < Duration::from_nanos(5), "{:?}", bounds.gap());
        assert_eq!(bounds.promised_gap(), Duration::from_nanos(1_485_148_514));
    }
}
