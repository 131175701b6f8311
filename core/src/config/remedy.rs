//! The change that makes refused settings possible.

use core::fmt;
use core::time::Duration;

use super::builder::{TTL_MOST, longer};
use super::chosen::Chosen;
use super::setting::Setting;
use super::{Config, MILLION, TTL_NORMAL};
use crate::time::{Span, nanos};

/// One setting to change, and a value with which all settings are accepted.
///
/// If several settings are out of their ranges, the next refusal names the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// A setting that is a time.
    Time {
        /// The setting.
        setting: &'static str,
        /// A value that would do.
        value: Duration,
    },
    /// The drift bound.
    DriftPpm(
        /// A value that would do, in parts per million.
        u32,
    ),
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time { setting, value } => write!(f, "set {setting} to {value:?}"),
            Self::DriftPpm(ppm) => write!(f, "set drift bound to {ppm} ppm"),
        }
    }
}

/// In whole milliseconds, as people write it and variables have it, and no less; unless it is below
/// one.
const fn in_millis(time: Duration) -> Duration {
    let nanos = nanos(time);
    if nanos < MILLION {
        return time;
    }
    match nanos.checked_next_multiple_of(MILLION) {
        Some(millis) => Duration::from_nanos(millis),
        None => time,
    }
}

impl Setting {
    const fn to(self, value: Duration) -> Remedy {
        Remedy::Time { setting: self.name(), value }
    }
}

impl Config {
    /// The remedy for a setting below `least` or above `most`: its default, or else one of the
    /// bounds.
    pub(super) const fn remedy_of_range(
        self,
        setting: Setting,
        least: Duration,
        most: Duration,
    ) -> Remedy {
        if matches!(setting, Setting::Granularity)
            && nanos(self.granularity()) > nanos(most)
            // If the store has that granularity, only the TTL can change.
            && let Some(remedy) = self.longer_ttl()
        {
            return remedy;
        }
        let default = self.default_of(setting, least);
        let values = [in_millis(default), default, in_millis(least), least, most];
        let mut i = 0;
        while i < values.len() {
            if self.is_accepted_with(setting, values[i]) {
                return setting.to(values[i]);
            }
            i += 1;
        }
        let is_in_range = nanos(default) >= nanos(least) && nanos(default) <= nanos(most);
        setting.to(if is_in_range { default } else { least })
    }

    /// The remedy for a drift bound outside of its range: the default, or else a bound that the
    /// rest allows.
    pub(super) const fn remedy_of_drift(self, least: u32) -> Remedy {
        let default = Self { drift_ppm: 10_000, ..self };
        Remedy::DriftPpm(if default.is_accepted() { 10_000 } else { least })
    }

    /// The remedy if three attempts do not fit: first for what was set, then for what was derived,
    /// then a longer TTL, last any value that is possible, however short. `None` if no single
    /// change suffices.
    pub(super) const fn remedy_of_renewals(self) -> Option<Remedy> {
        let sensible = Duration::from_nanos(nanos(self.ttl()) / 50);
        if let Some(remedy) = self.shorter_setting(true, sensible) {
            return Some(remedy);
        }
        if let Some(remedy) = self.shorter_setting(false, sensible) {
            return Some(remedy);
        }
        if let Some(remedy) = self.longer_ttl() {
            return Some(remedy);
        }
        match self.shorter_setting(true, Duration::ZERO) {
            Some(remedy) => Some(remedy),
            None => self.shorter_setting(false, Duration::ZERO),
        }
    }

    /// A setting that was set, or was derived, and a value of at least `least` with which all
    /// settings are accepted.
    const fn shorter_setting(self, was_set: bool, least: Duration) -> Option<Remedy> {
        let settings = [
            (Setting::RenewInterval, Chosen::RENEW_INTERVAL),
            (Setting::RequestTimeout, Chosen::REQUEST_TIMEOUT),
            (Setting::RetryMost, Chosen::LARGEST_RETRY),
            (Setting::StopMargin, Chosen::STOP_MARGIN),
        ];
        let mut i = 0;
        while i < settings.len() {
            let (setting, bit) = settings[i];
            if self.chosen.has(bit) == was_set
                && let Some(value) = self.most_that_fits(setting)
                && nanos(value) >= nanos(least)
                && self.is_accepted_with(setting, value)
            {
                return Some(setting.to(value));
            }
            i += 1;
        }
        None
    }

    /// The largest value of a setting with which three attempts fit, in whole milliseconds.
    const fn most_that_fits(self, setting: Setting) -> Option<Duration> {
        let (validity, retry) = (nanos(self.validity()), nanos(self.retry_most()));
        let (renew, timeout) = (nanos(self.renew_interval()), nanos(self.request_timeout()));
        let due = if renew > timeout { renew } else { timeout };
        let most = match setting {
            Setting::RenewInterval => {
                let needed = 3 * (timeout as u128 + retry as u128);
                (validity as u128).checked_sub(needed)
            }
            Setting::RequestTimeout => {
                let left = validity.saturating_sub(renew) / 3;
                let above = (validity as u128).saturating_sub(3 * retry as u128) / 4;
                match left.checked_sub(retry) {
                    Some(most) if most <= renew => Some(most as u128),
                    Some(_) | None => Some(above),
                }
            }
            Setting::RetryMost => {
                let left = validity.saturating_sub(due) / 3;
                (left as u128).checked_sub(timeout as u128)
            }
            Setting::StopMargin => {
                let countable = nanos(self.countable()) as u128;
                countable.checked_sub(nanos(self.time_for_three_attempts()) as u128)
            }
            Setting::Ttl
            | Setting::Granularity
            | Setting::RetryLeast
            | Setting::PollBound
            | Setting::DrainBound
            | Setting::LongestStop
            | Setting::Quarantine
            | Setting::Defer => None,
        };
        #[allow(clippy::cast_possible_truncation, reason = "at most the validity, which is a u64")]
        match most {
            Some(most) => Some(Duration::from_millis(most as u64 / 1_000_000)),
            None => None,
        }
    }

    /// The first doubling of the TTL with which all settings are accepted.
    const fn longer_ttl(self) -> Option<Remedy> {
        let mut ttl = self.ttl().saturating_mul(2);
        while nanos(ttl) <= nanos(TTL_MOST) {
            if self.is_accepted_with(Setting::Ttl, ttl) {
                return Some(Setting::Ttl.to(ttl));
            }
            ttl = ttl.saturating_mul(2);
        }
        None
    }

    /// The default of a setting, given the others.
    const fn default_of(self, setting: Setting, least: Duration) -> Duration {
        match setting {
            Setting::Ttl => longer(least, TTL_NORMAL),
            Setting::Granularity => Duration::from_millis(1),
            Setting::LongestStop => least,
            Setting::PollBound | Setting::DrainBound | Setting::Quarantine => self.ttl(),
            Setting::Defer => Duration::ZERO,
            Setting::RenewInterval => self.forget(Chosen::RENEW_INTERVAL).renew_interval(),
            Setting::RequestTimeout => self.forget(Chosen::REQUEST_TIMEOUT).request_timeout(),
            Setting::StopMargin => self.forget(Chosen::STOP_MARGIN).stop_margin(),
            Setting::RetryLeast => self.forget(Chosen::LEAST_RETRY).retry_least(),
            Setting::RetryMost => self.forget(Chosen::LARGEST_RETRY).retry_most(),
        }
    }

    const fn forget(mut self, setting: Chosen) -> Self {
        self.chosen = self.chosen.without(setting);
        self.derive()
    }

    /// True if everything is accepted with that value in the place of the present one, and the rest
    /// derived anew.
    const fn is_accepted_with(self, setting: Setting, value: Duration) -> bool {
        self.with(setting, value).derive().is_accepted()
    }

    const fn with(mut self, setting: Setting, value: Duration) -> Self {
        let span = Span::of(value);
        let bit = match setting {
            Setting::Ttl => return self.with_ttl(value),
            Setting::Granularity => {
                self.granularity = span;
                Chosen::NONE
            }
            Setting::RenewInterval => {
                self.renew_interval = span;
                Chosen::RENEW_INTERVAL
            }
            Setting::RequestTimeout => {
                self.request_timeout = span;
                Chosen::REQUEST_TIMEOUT
            }
            Setting::StopMargin => {
                self.stop_margin = span;
                Chosen::STOP_MARGIN
            }
            Setting::RetryLeast => {
                self.retry_least = span;
                Chosen::LEAST_RETRY
            }
            Setting::RetryMost => {
                self.retry_most = span;
                Chosen::LARGEST_RETRY
            }
            Setting::PollBound => {
                self.poll_bound = span;
                Chosen::POLL_BOUND
            }
            Setting::Defer => {
                self.defer = span;
                Chosen::NONE
            }
            Setting::DrainBound => return self.drain_within(value),
            Setting::LongestStop => return self.stop_within(value),
            Setting::Quarantine => {
                self.quarantine = span;
                Chosen::QUARANTINE
            }
        };
        self.chosen = self.chosen.and(bit);
        self
    }
}
