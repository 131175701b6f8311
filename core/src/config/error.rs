//! Reasons to refuse settings.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use super::Remedy;

/// A reason to refuse settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A setting is out of its own range.
    OutOfRange {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: Duration,
        /// The least it may be.
        least: Duration,
        /// The most it may be.
        most: Duration,
        /// A change that would do.
        remedy: Remedy,
    },
    /// The drift bound is out of its range.
    DriftOutOfRange {
        /// The drift bound, in parts per million.
        ppm: u32,
        /// The least it may be.
        least: u32,
        /// The most it may be.
        most: u32,
        /// A change that would do.
        remedy: Remedy,
    },
    /// Fewer than three attempts of a renewal fit before a claim ends.
    RenewalsDoNotFit {
        /// `max(renew interval, request timeout) + 3 x (request timeout + largest retry)`.
        needed: Duration,
        /// `(ttl - granularity) x (1 - drift) / (1 + drift) - stop margin`.
        validity: Duration,
        /// A change that would do; `None` if no change of a single setting suffices.
        remedy: Option<Remedy>,
    },
}

impl ConfigError {
    /// A setting to change, with a value that would do; `None` if no change of a single setting
    /// suffices.
    pub const fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::OutOfRange { remedy, .. } | Self::DriftOutOfRange { remedy, .. } => Some(*remedy),
            Self::RenewalsDoNotFit { remedy, .. } => *remedy,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { setting, value, least, most, remedy } => write!(
                f,
                "{setting} is {value:?}; it must be within {least:?} and {most:?}: {remedy}, for example"
            ),
            Self::DriftOutOfRange { ppm, least, most, remedy } => write!(
                f,
                "drift bound is {ppm} ppm; it must be within {least} and {most} ppm: {remedy}, for example"
            ),
            Self::RenewalsDoNotFit { needed, validity, remedy } => write!(
                f,
                "max(renew interval, request timeout) + 3 x (request timeout + largest retry) = {needed:?} \
                 must be at most the validity, (ttl - granularity) x (1 - drift) / (1 + drift) - stop \
                 margin = {validity:?}: {}",
                Change(*remedy)
            ),
        }
    }
}

/// The end of the sentence about renewals that do not fit.
struct Change(Option<Remedy>);

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(remedy) => write!(f, "{remedy}, for example"),
            None => {
                f.write_str("no change of one setting suffices; leave settings at their defaults")
            }
        }
    }
}

impl Error for ConfigError {}
