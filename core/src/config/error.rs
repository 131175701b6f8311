//! Why settings are refused.

use core::error::Error;
use core::fmt;
use core::time::Duration;

/// Why settings were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A setting is out of its own range.
    OutOfRange {
        /// Which setting.
        setting: &'static str,
        /// What it was set to.
        value: Duration,
        /// The least it may be.
        least: Duration,
        /// The most it may be.
        most: Duration,
    },
    /// The drift bound is out of its range.
    DriftOutOfRange {
        /// What it was set to, in parts per million.
        ppm: u32,
        /// The least it may be.
        least: u32,
        /// The most it may be.
        most: u32,
    },
    /// Fewer than three attempts of a renewal fit before a claim ends.
    RenewalsDoNotFit {
        /// `max(renew interval, request timeout) + 3 x (request timeout + largest retry)`.
        needed: Duration,
        /// `(ttl - granularity) x (1 - drift) / (1 + drift) - stop margin`.
        validity: Duration,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { setting, value, least, most } => {
                write!(f, "{setting} is {value:?}; it must be within {least:?} and {most:?}")
            }
            Self::DriftOutOfRange { ppm, least, most } => {
                write!(f, "drift bound is {ppm} ppm; it must be within {least} and {most} ppm")
            }
            Self::RenewalsDoNotFit { needed, validity } => write!(
                f,
                "max(renew interval, request timeout) + 3 x (request timeout + largest retry) = {needed:?} \
                 must be at most the validity, (ttl - granularity) x (1 - drift) / (1 + drift) - stop \
                 margin = {validity:?}"
            ),
        }
    }
}

impl Error for ConfigError {}
