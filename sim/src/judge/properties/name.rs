//! The names of properties.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::plan::UnknownName;

/// The name of a property of this crate, or of a user's workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct PropertyName(&'static str);

#[allow(missing_docs, reason = "each is explained in its own file of the overload engine")]
impl PropertyName {
    pub const NO_LEAD_LOST_TO_OVERLOAD: Self = Self("no-lead-lost-to-overload");
    pub const RENEWALS_BEFORE_ACQUIRES: Self = Self("renewals-before-acquires");
    pub const FAIR_WITHIN_A_CLASS: Self = Self("fair-within-a-class");
    pub const SPREAD_OVER_THE_INTERVAL: Self = Self("spread-over-the-interval");
    pub const BOUNDED_WINDOW: Self = Self("bounded-window");
    pub const STOPPED_WITHIN: Self = Self("stopped-within");
}

impl PropertyName {
    /// The names of the properties that judge runs of the overload engine alone.
    pub const OF_OVERLOAD: [Self; 6] = [
        Self::NO_LEAD_LOST_TO_OVERLOAD,
        Self::RENEWALS_BEFORE_ACQUIRES,
        Self::FAIR_WITHIN_A_CLASS,
        Self::SPREAD_OVER_THE_INTERVAL,
        Self::BOUNDED_WINDOW,
        Self::STOPPED_WITHIN,
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
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        UnknownName::find("property", name, Self::ALL, |one| one.as_str())
    }
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
