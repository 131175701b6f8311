//! The settings that were set, beside those derived from others.

/// The settings that were set and are not derived. A bit set, since every candidate carries one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Chosen(u16);

impl Chosen {
    pub(super) const NONE: Self = Self(0);
    pub(super) const RENEW_INTERVAL: Self = Self(1);
    pub(super) const REQUEST_TIMEOUT: Self = Self(2);
    pub(super) const STOP_MARGIN: Self = Self(4);
    pub(super) const LEAST_RETRY: Self = Self(8);
    pub(super) const LARGEST_RETRY: Self = Self(16);
    pub(super) const POLL_BOUND: Self = Self(32);
    pub(super) const DRAIN_BOUND: Self = Self(64);
    /// In place of the drain bound, which follows from it.
    pub(super) const LONGEST_STOP: Self = Self(128);
    pub(super) const QUARANTINE: Self = Self(256);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// True if a setting was set that decides how renewals fit into a lease.
    pub(super) const fn has_any_of_renewals(self) -> bool {
        let renewals = Self::RENEW_INTERVAL.and(Self::REQUEST_TIMEOUT).and(Self::STOP_MARGIN);
        self.has(renewals.and(Self::LEAST_RETRY).and(Self::LARGEST_RETRY))
    }

    pub(super) const fn has(self, setting: Self) -> bool {
        self.0 & setting.0 != 0
    }
}
