//! Controls: plans that break an assumption must break the promise that rests on it, and no other.
//!
//! A campaign that finds nothing proves little by itself: its judge may miss violations, or the
//! promise may be kept for another reason than the assumed one. A control is the counter-check. Its
//! plans break the assumptions that it names and are otherwise as harmless as possible; every
//! property is judged nevertheless. Each property in `must_break` has to be violated in at least
//! one run, and all properties that the control does not name have to hold in every run.
//!
//! Not guaranteed: that each single plan breaks the properties that it should. Chance decides which
//! candidate leads and when requests are sent; the report says in how many runs each property
//! broke.

mod clocks;
mod cluster;
mod effects;
mod losses;
mod report;
mod run;

pub use report::{Broken, Report, Unexpected, Verdict};
pub use run::{ControlError, run};

use super::stage::Stage;
use crate::judge::properties::PropertyName;
use crate::plan::{Assumption, Plan, named};

/// Plans that break an assumption, and the expected violations.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// A short description of its plans.
    pub about: &'static str,
    /// The assumptions that each of its plans breaks.
    pub beyond: &'static [Assumption],
    /// The properties that must be violated, each in at least one run.
    pub must_break: &'static [PropertyName],
    /// Further properties that may be violated: other aspects of the same promise.
    pub may_break: &'static [PropertyName],
    /// Adds faults to a healthy cluster.
    pub faults: fn(&mut Stage),
}

/// All controls.
pub const ALL: [Control; 13] = [
    clocks::DRIFT,
    clocks::WATCHER_STEP,
    clocks::WATCHER_FAST,
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
    /// The plan of a seed.
    pub fn plan(&self, seed: u64) -> Plan {
        let mut stage = cluster::healthy(self.name, seed);
        (self.faults)(&mut stage);
        stage.plan
    }

    /// True if a property may be violated in its runs.
    pub fn expects(&self, property: PropertyName) -> bool {
        self.must_break.contains(&property) || self.may_break.contains(&property)
    }
}

named!(Control, "control", ALL, |one| one.name);
