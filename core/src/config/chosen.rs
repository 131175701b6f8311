//! Which settings were chosen by somebody, and which follow from others.

/// A set of those that would follow from others. Small, since every candidate carries one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Chosen(u8);

impl Chosen {
    pub(super) const NONE: Self = Self(0);
    pub(super) const RENEW_INTERVAL: Self = Self(1);
    pub(super) const REQUEST_TIMEOUT: Self = Self(2);
    pub(super) const STOP_MARGIN: Self = Self(4);
    pub(super) const RETRY: Self = Self(8);
    pub(super) const POLL_BOUND: Self = Self(16);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether anything was chosen of what decides how renewals fit into a lease.
    pub(super) const fn has_any_of_renewals(self) -> bool {
        let renewals = Self::RENEW_INTERVAL.and(Self::REQUEST_TIMEOUT);
        self.has(renewals.and(Self::STOP_MARGIN).and(Self::RETRY))
    }

    pub(super) const fn has(self, setting: Self) -> bool {
        self.0 & setting.0 != 0
    }
}
