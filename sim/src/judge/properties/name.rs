//! The names of the properties, each written once.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// The name of a property of this crate, or of a user's workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct PropertyName(&'static str);

#[allow(missing_docs, reason = "each property is explained in its own file")]
impl PropertyName {
    pub const SINGLE_LEADER: Self = Self("single-leader");
    pub const MARGIN_KEPT: Self = Self("margin-kept");
    pub const FAIL_CLOSED: Self = Self("fail-closed");
    pub const TOKEN_MONOTONIC: Self = Self("token-monotonic");
    pub const LEADS_IN_ORDER: Self = Self("leads-in-order");
    pub const FENCED_WRITES: Self = Self("fenced-writes");
    pub const FENCED_READS: Self = Self("fenced-reads");
    pub const OWN_LEASE_ONLY: Self = Self("own-lease-only");
    pub const LINEARIZABLE: Self = Self("linearizable");
    pub const ONE_STEP_DOWN_PER_ELECTION: Self = Self("one-step-down-per-election");
    pub const NO_RESURRECTION: Self = Self("no-resurrection");
    pub const NO_RELEASE_UNDER_WORK: Self = Self("no-release-under-work");
    pub const DRAINED_BEFORE_THE_NEXT: Self = Self("drained-before-the-next");
    pub const DRAINS_WITHIN_BOUNDS: Self = Self("drains-within-bounds");
    pub const LEASES_HANDED_BACK: Self = Self("leases-handed-back");
    pub const UNFENCED_IN_ORDER: Self = Self("unfenced-in-order");
    pub const STORE_LOSS_QUARANTINE: Self = Self("store-loss-quarantine");
    pub const LEADER_WITHIN: Self = Self("leader-within");
    pub const NO_CHURN_WHEN_HEALTHY: Self = Self("no-churn-when-healthy");
    pub const RENEWS_IN_TIME: Self = Self("renews-in-time");
    pub const ASKS_IN_TIME: Self = Self("asks-in-time");
    pub const HANDOVER_WITHIN: Self = Self("handover-within");
    pub const NO_LATE_QUARANTINE: Self = Self("no-late-quarantine");
    pub const TAKEOVER_WITHIN: Self = Self("takeover-within");
    pub const RESIGNED_WITHIN: Self = Self("resigned-within");
    pub const ANSWERED_WHEN_HEALTHY: Self = Self("answered-when-healthy");
    pub const STAYS_OUT: Self = Self("stays-out");
    pub const LOOKS_WITHIN: Self = Self("looks-within");
    pub const RESIGNED_AT_ONCE: Self = Self("resigned-at-once");
    pub const TOLD_OF_THE_END: Self = Self("told-of-the-end");
    pub const DRIVER_RUNS_ON: Self = Self("driver-runs-on");
    pub const NO_LEAD_LOST_TO_OVERLOAD: Self = Self("no-lead-lost-to-overload");
    pub const RENEWALS_BEFORE_ACQUIRES: Self = Self("renewals-before-acquires");
    pub const FAIR_WITHIN_A_CLASS: Self = Self("fair-within-a-class");
    pub const SPREAD_OVER_THE_INTERVAL: Self = Self("spread-over-the-interval");
    pub const BOUNDED_WINDOW: Self = Self("bounded-window");
}

impl PropertyName {
    /// The names of this crate's properties, in the order in which they judge.
    pub const ALL: [Self; 31] = [
        Self::SINGLE_LEADER,
        Self::MARGIN_KEPT,
        Self::FAIL_CLOSED,
        Self::TOKEN_MONOTONIC,
        Self::LEADS_IN_ORDER,
        Self::FENCED_WRITES,
        Self::FENCED_READS,
        Self::OWN_LEASE_ONLY,
        Self::LINEARIZABLE,
        Self::ONE_STEP_DOWN_PER_ELECTION,
        Self::NO_RESURRECTION,
        Self::NO_RELEASE_UNDER_WORK,
        Self::DRAINED_BEFORE_THE_NEXT,
        Self::DRAINS_WITHIN_BOUNDS,
        Self::LEASES_HANDED_BACK,
        Self::UNFENCED_IN_ORDER,
        Self::STORE_LOSS_QUARANTINE,
        Self::LEADER_WITHIN,
        Self::NO_CHURN_WHEN_HEALTHY,
        Self::RENEWS_IN_TIME,
        Self::ASKS_IN_TIME,
        Self::HANDOVER_WITHIN,
        Self::NO_LATE_QUARANTINE,
        Self::TAKEOVER_WITHIN,
        Self::RESIGNED_WITHIN,
        Self::ANSWERED_WHEN_HEALTHY,
        Self::STAYS_OUT,
        Self::LOOKS_WITHIN,
        Self::RESIGNED_AT_ONCE,
        Self::TOLD_OF_THE_END,
        Self::DRIVER_RUNS_ON,
    ];

    /// The names of the properties that judge runs of the overload engine alone.
    pub const OF_OVERLOAD: [Self; 5] = [
        Self::NO_LEAD_LOST_TO_OVERLOAD,
        Self::RENEWALS_BEFORE_ACQUIRES,
        Self::FAIR_WITHIN_A_CLASS,
        Self::SPREAD_OVER_THE_INTERVAL,
        Self::BOUNDED_WINDOW,
    ];

    /// A name that is not one of [`ALL`](Self::ALL): of the property of a user's workload, for
    /// example.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name as it is printed.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for PropertyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl FromStr for PropertyName {
    type Err = UnknownProperty;

    fn from_str(name: &str) -> Result<Self, UnknownProperty> {
        let found = Self::ALL.into_iter().find(|known| known.0 == name);
        found.ok_or_else(|| UnknownProperty { name: name.to_owned() })
    }
}

/// No property has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown property {name:?}; known are {}", PropertyName::ALL.map(PropertyName::as_str).join(", "))]
pub struct UnknownProperty {
    /// The name that was given.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::super::{Terms, all};
    use super::*;

    #[test]
    fn names_are_in_kebab_case() {
        let letters = PropertyName::ALL.map(PropertyName::as_str).concat();
        assert!(letters.chars().all(|letter| letter == '-' || letter.is_ascii_lowercase()));
    }

    #[test]
    fn each_property_has_one_name() {
        let names: Vec<_> = all(&Terms::default()).iter().map(|one| one.about().name).collect();
        assert_eq!(names, PropertyName::ALL);
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), unique.len());
    }

    #[test]
    fn a_property_is_found_by_its_name() {
        assert_eq!("single-leader".parse(), Ok(PropertyName::SINGLE_LEADER));
        "fail-open".parse::<PropertyName>().expect_err("no such property");
    }
}
