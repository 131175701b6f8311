//! The deletion of the records of long-ended elections: the age that is asked for.

use std::str::FromStr;
use std::time::Duration;

use super::{AnyStore, Store};
use crate::SettingError;
use crate::settings::{Fault, Setting};

/// The time since the end of a lease after which its record is [purged](super::Store::purge) by
/// [drivers](super::AnyStore::purging): from an hour to ten years (3650 days).
///
/// As text, it is a whole number with one of the units `h` and `d`: `12h`, `30d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PurgeAge(Duration);

impl PurgeAge {
    /// No network delays a request for that long.
    const LEAST: Duration = Duration::from_secs(3_600);
    const MOST: Duration = Duration::from_secs(3_650 * 24 * 3_600);

    /// Checks an age.
    ///
    /// # Errors
    /// If it is below an hour or above ten years.
    pub fn new(age: Duration) -> Result<Self, SettingError> {
        Self::of(age).map_err(|fault| PURGE.row.refuse(&shown(age), fault))
    }

    fn of(age: Duration) -> Result<Self, Fault> {
        if (Self::LEAST..=Self::MOST).contains(&age) { Ok(Self(age)) } else { Err(Fault::Must) }
    }

    /// The age.
    pub fn get(self) -> Duration {
        self.0
    }
}

/// A setting of all stores, beside their own.
pub(crate) const PURGE: Setting<PurgeAge> = Setting::parameter("purge", |text| {
    let unit = text.find(|letter: char| !letter.is_ascii_digit());
    let (number, unit) = text.split_at(unit.unwrap_or(text.len()));
    let seconds: u64 = match unit {
        "h" => 3_600,
        "d" => 24 * 3_600,
        _ => return Err(Fault::Must),
    };
    let number: u64 = number.parse().map_err(|_| Fault::Must)?;
    PurgeAge::of(Duration::from_secs(number.saturating_mul(seconds)))
})
.variable("PURGE")
.must("a whole number with one of the units h and d, from 1h to 3650d", "30d")
.default("never")
.about("how old the [records of ended elections](../old-records.md) become (with `AnyStore`)");

/// A store that drivers purge, unless it can't be: that is said here, and not once an hour.
pub(super) fn purging(store: AnyStore, age: PurgeAge) -> Result<AnyStore, Fault> {
    if is_purged(store.traits().name) {
        return Ok(store.purging(age));
    }
    Err(Fault::mend(
        "Leases of Kubernetes are not purged: each alone keeps its election's tokens rising",
        "leave it out; delete the Leases of elections that are over with kubectl",
    ))
}

/// True if stores of that name can be purged.
pub(crate) fn is_purged(store: &str) -> bool {
    !store.eq_ignore_ascii_case("kubernetes")
}

impl FromStr for PurgeAge {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        PURGE.check(text)
    }
}

/// In the largest unit that it is a whole number of.
fn shown(age: Duration) -> String {
    let seconds = age.as_secs();
    match (seconds, age.subsec_nanos()) {
        (0, 0) => "0h".to_owned(),
        (1.., 0) if seconds.is_multiple_of(86_400) => format!("{}d", seconds / 86_400),
        (1.., 0) if seconds.is_multiple_of(3_600) => format!("{}h", seconds / 3_600),
        _ => format!("{age:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_hours_or_days() {
        for (text, hours) in [("1h", 1), ("36h", 36), ("30d", 720), ("3650d", 87_600)] {
            let age: PurgeAge = text.parse().unwrap();
            assert_eq!(age.get(), Duration::from_secs(hours * 3_600), "{text}");
        }
        for text in ["", "30", "d", "-1d", "1.5h", "30D", "1h30m", "15s", "hush", " 1h"] {
            text.parse::<PurgeAge>().unwrap_err();
        }
    }

    #[test]
    fn ages_beyond_the_bounds_are_named() {
        let bounds = "it must be a whole number with one of the units h and d, from 1h to 3650d";
        for (text, shown) in [("0h", "0h"), ("3651d", "3651d"), ("87601h", "87601h")] {
            let error = text.parse::<PurgeAge>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("purge is {shown:?}: {bounds}")), "{error}");
        }
        let error = PurgeAge::new(Duration::from_secs(59)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("purge is \"59s\": {bounds}")), "{error}");
        assert!(format!("{}d", u64::MAX).parse::<PurgeAge>().is_err());
    }
}
