//! The settings that are times.

/// A setting that is a time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    Ttl,
    Granularity,
    RenewInterval,
    RequestTimeout,
    StopMargin,
    RetryLeast,
    RetryMost,
    PollBound,
    DrainBound,
    LongestStop,
    Quarantine,
    Defer,
}

impl Setting {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ttl => "ttl",
            Self::Granularity => "granularity",
            Self::RenewInterval => "renew interval",
            Self::RequestTimeout => "request timeout",
            Self::StopMargin => "stop margin",
            Self::RetryLeast => "least retry",
            Self::RetryMost => "largest retry",
            Self::PollBound => "poll bound",
            Self::DrainBound => "drain bound",
            Self::LongestStop => "longest stop",
            Self::Quarantine => "quarantine",
            Self::Defer => "defer",
        }
    }
}
