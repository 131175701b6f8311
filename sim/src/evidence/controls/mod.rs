//! Controls: plans that go beyond an assumption must break the promise that rests on it, and no other.
//!
//! A campaign that finds nothing proves little by itself: its judge may be blind, or the promise may be
//! kept for another reason than the one given. A control is the counter-check. Its plans break the
//! assumptions that it names and are otherwise as harmless as can be; every property is judged all the
//! same; and what the control says must break has to be seen broken, while whatever it doesn't name has
//! to hold in every run.
//!
//! Not guaranteed: that each single plan breaks what it should. Chance decides who leads and who asks
//! when; that enough of them do is what the report says.

mod clocks;
mod effects;
mod losses;
mod report;
mod run;
mod stage;

use std::fmt;
use std::str::FromStr;

pub use report::{Broken, Report, Unexpected, Verdict};
pub use run::{ControlError, run};

use crate::plan::{Assumption, Plan};

/// Plans beyond an assumption, and what must come of them.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// What its plans do, in a few words.
    pub about: &'static str,
    /// What its plans do not keep: each of them exactly this.
    pub beyond: &'static [Assumption],
    /// The properties that do not hold then: each of them not in at least one run.
    pub must_break: &'static [&'static str],
    /// Those that need not hold either: other sides of the same promise.
    pub may_break: &'static [&'static str],
    /// The plan of a seed.
    pub plan: fn(u64) -> Plan,
}

/// All of them.
pub const ALL: [Control; 12] = [
    clocks::DRIFT,
    clocks::STORE_STEP,
    clocks::BOOT_STEP,
    clocks::VM_STOP,
    clocks::VM_RESTORE,
    losses::NO_QUARANTINE,
    losses::UNDECLARED_TTL,
    losses::TOKEN_CLOCK,
    losses::OLD_PRIMARY,
    effects::UNFENCED,
    effects::NO_MARGIN,
    effects::READS_FIRST,
];

impl Control {
    /// Whether a property may be found broken in its runs.
    pub fn expects(&self, property: &str) -> bool {
        self.must_break.contains(&property) || self.may_break.contains(&property)
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// No control has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown control {name:?}; known are {}", ALL.map(|control| control.name).join(", "))]
pub struct UnknownControl {
    /// What was asked for.
    pub name: String,
}

impl FromStr for Control {
    type Err = UnknownControl;

    fn from_str(name: &str) -> Result<Self, UnknownControl> {
        let found = ALL.into_iter().find(|control| control.name == name);
        found.ok_or_else(|| UnknownControl { name: name.to_owned() })
    }
}
