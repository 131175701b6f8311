//! Mutants: wrong edits of the sources, one at a time, which the properties must catch.
//!
//! A campaign that finds nothing proves little if it could find nothing. A mutant is a bug that was
//! made before, in some library or in a draft of this one, or could be made: a patch of the
//! sources. The sources are copied, the simulator is built from the copy with all mutants that can
//! share a build, and seeds are run with each until every property that guards against it has
//! failed.
//!
//! Guaranteed: a patch that does not fit is an error, and so is a mutant that can't be built; the
//! sources themselves are only read.
//!
//! Not guaranteed: that the properties catch every wrong edit. They catch those of the list, and
//! [`Diff`] plants others.

mod catalogue;
mod diff;
mod hunt;
mod joined;
pub mod ordered;
pub mod overloaded;
mod sources;
mod trial;
mod workshop;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::judge::properties::PropertyName;
use crate::judge::sometimes;

pub use catalogue::ALL;
pub use diff::{Diff, DiffError};
pub use hunt::{Ground, Hunt, Seen, Sighting};
pub use joined::Plant;
pub use sources::{NoSources, Sources};
pub use trial::{Bug, Caught, Row, Trial, TrialError, Trials};
pub use workshop::{Mutated, Workshop, WorkshopError};

/// A wrong edit of the sources.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// A description of the bug, in one line.
    pub about: &'static str,
    /// The engines in which it must be caught.
    pub shows: Shows,
    /// The [guards] that must catch it, in each of these engines. In an audit and on real servers
    /// others may: [`chase_in`](Self::chase_in) names them.
    pub caught_by: &'static [&'static str],
}

/// The engines in which a mutant must be caught.
///
/// The model engine runs the state machine and the store contract alone, and fast: it has to find
/// bugs among all kinds of faults. Turmoil runs all shipped code, but its store is Redis and not
/// the contract; and it is slow, so the kinds of faults to try are named here, separated by commas.
/// The overload engine runs the driver with hundreds of elections. Some bugs show only where a
/// store is real.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "see above")]
pub enum Shows {
    Model,
    Turmoil(&'static str),
    Both(&'static str),
    Overload,
    Servers(OnServers),
}

/// A real store and kinds of faults with which a mutant shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnServers {
    /// The store.
    pub store: &'static str,
    /// The kinds of faults to try, separated by commas.
    pub faults: &'static str,
}

/// The means to catch a mutant in one arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chase {
    /// The store, if it is a real one.
    pub store: Option<&'static str>,
    /// The kinds of faults to try, separated by commas; all kinds if the text is empty. Plans for
    /// an audit are drawn from the kinds that it permits.
    pub faults: &'static str,
    /// The guards that must catch it.
    pub guards: &'static [&'static str],
}

/// An engine of a mutated simulator, the audit of what its processes would have logged, or the
/// search through all orders of a driver's events. The present build need not have it. With real
/// servers, runs take seconds, and a seed does not give the same run twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "named after the engines")]
pub enum Arena {
    Model,
    Turmoil,
    Overload,
    Orders,
    Audit,
    Real,
}

/// The most seeds that a mutant may need in the model engine.
pub const MODEL_SEEDS: u64 = 20_000;
/// The most seeds that a mutant may need in turmoil.
pub const TURMOIL_SEEDS: u64 = 400;
/// The most seeds that a mutant may need in the overload engine.
pub const OVERLOAD_SEEDS: u64 = 16;
/// The most steps that a mutant may need in an order of events.
pub const ORDER_STEPS: u64 = 11;
/// The most seeds that a mutant may need in an audit of the model engine's runs.
pub const AUDIT_SEEDS: u64 = 5_000;
/// The most seeds that a mutant may need on real servers.
pub const REAL_SEEDS: u64 = 48;

impl Arena {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Model, Self::Turmoil, Self::Overload, Self::Orders, Self::Audit, Self::Real];

    /// The engine's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Turmoil => "turmoil",
            Self::Overload => "overload",
            Self::Orders => "orders",
            Self::Audit => "audit",
            Self::Real => "real",
        }
    }

    /// The most seeds, or steps, that a mutant may need there.
    pub const fn seeds(self) -> u64 {
        match self {
            Self::Model => MODEL_SEEDS,
            Self::Turmoil => TURMOIL_SEEDS,
            Self::Overload => OVERLOAD_SEEDS,
            Self::Orders => ORDER_STEPS,
            Self::Audit => AUDIT_SEEDS,
            Self::Real => REAL_SEEDS,
        }
    }

    /// True if mutants are tried there if only that engine is named. Real servers are tried only if
    /// they are named: runs there take long, and need the servers.
    pub fn is_wanted(self, only: Option<Self>) -> bool {
        only.map_or(self != Self::Real, |only| self == only)
    }

    /// The number of runs at once, for that number of threads. A real run mostly waits.
    const fn jobs(self, threads: usize) -> usize {
        match self {
            Self::Real => threads * 3,
            Self::Model | Self::Turmoil | Self::Overload | Self::Orders | Self::Audit => threads,
        }
    }
}

impl Mutant {
    /// The file with its edits, a unified diff, from the root of the workspace.
    pub fn patch(&self) -> String {
        format!("sim/plants/{}.patch", self.name)
    }

    /// The bug, planted in these sources.
    ///
    /// # Errors
    /// If there is no patch, or it does not fit.
    pub fn plant(&self, sources: &Sources) -> Result<Plant, WorkshopError> {
        Diff::new(self.name, sources.read(&self.patch())?).applied(sources)
    }

    /// The means to catch it there; `None` if it need not be caught there.
    pub fn chase_in(&self, arena: Arena) -> Option<Chase> {
        let faults = match (self.shows, arena) {
            (_, Arena::Audit) => {
                return catalogue::audited(self.name).map(|guards| Chase {
                    store: None,
                    faults: "",
                    guards,
                });
            }
            (_, Arena::Orders) => {
                const GUARDS: &[&str] = &[PropertyName::DRIVER_RUNS_ON.as_str()];
                let is_ordered = catalogue::is_ordered(self.name);
                return is_ordered.then_some(Chase { store: None, faults: "", guards: GUARDS });
            }
            (Shows::Servers(OnServers { store, faults }), Arena::Real) => {
                return Some(Chase { store: Some(store), faults, guards: self.caught_by });
            }
            (_, Arena::Real) => return catalogue::on_servers(self.name),
            (Shows::Model | Shows::Both(_), Arena::Model) => "",
            (Shows::Overload, Arena::Overload) => "",
            (Shows::Turmoil(faults) | Shows::Both(faults), Arena::Turmoil) => faults,
            (Shows::Model | Shows::Overload | Shows::Servers(_), Arena::Turmoil) => return None,
            (Shows::Turmoil(_) | Shows::Overload | Shows::Servers(_), Arena::Model) => return None,
            (
                Shows::Model | Shows::Turmoil(_) | Shows::Both(_) | Shows::Servers(_),
                Arena::Overload,
            ) => return None,
        };
        Some(Chase { store: None, faults, guards: self.caught_by })
    }

    /// The arenas that must catch it.
    pub fn arenas(&self) -> impl Iterator<Item = Arena> {
        Arena::ALL.into_iter().filter(|arena| self.chase_in(*arena).is_some())
    }
}

impl fmt::Display for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// No mutant has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown mutant {name:?}; `tenure-sim mutants --list` lists all")]
pub struct UnknownMutant {
    /// The name that was given.
    pub name: String,
}

impl FromStr for Mutant {
    type Err = UnknownMutant;

    fn from_str(name: &str) -> Result<Self, UnknownMutant> {
        let found = ALL.iter().flat_map(|part| *part).find(|mutant| mutant.name == name);
        found.copied().ok_or_else(|| UnknownMutant { name: name.to_owned() })
    }
}

/// The names that can catch a mutant: properties, which fail, and sometimes-conditions, which are
/// then never met.
pub fn guards() -> impl Iterator<Item = &'static str> {
    let properties = PropertyName::ALL.into_iter().chain(PropertyName::OF_OVERLOAD);
    let properties = properties.map(PropertyName::as_str);
    properties.chain(sometimes::every_name())
}

/// All mutants.
pub fn all() -> impl Iterator<Item = Mutant> {
    ALL.iter().flat_map(|part| part.iter().copied())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::evidence::controls;
    use crate::plan::Assumption;

    #[test]
    fn names_are_unique_and_in_kebab_case() {
        let names: Vec<_> = all().map(|mutant| mutant.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(names.concat().chars().all(|letter| letter == '-' || letter.is_ascii_lowercase()));
    }

    #[test]
    fn each_mutant_has_a_patch_and_each_patch_is_one_of_a_mutant() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("plants");
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        let files: BTreeSet<_> = files.map(|name| name.into_string().unwrap()).collect();
        let patches: BTreeSet<_> = all().map(|mutant| format!("{mutant}.patch")).collect();
        assert_eq!(files, patches);
    }

    #[test]
    fn together_they_make_every_property_fail() {
        let caught: BTreeSet<_> = all().flat_map(|mutant| mutant.caught_by).copied().collect();
        let known = PropertyName::ALL.into_iter().chain(PropertyName::OF_OVERLOAD);
        let known: BTreeSet<_> = known.map(PropertyName::as_str).collect();
        // A property that only a workload can violate is shown by a control, as no mutant of the
        // shipped code can.
        let workloads = controls::ALL.into_iter();
        let workloads = workloads.filter(|one| one.beyond.contains(&Assumption::TakeOverFirst));
        let shown: BTreeSet<_> =
            workloads.flat_map(|one| one.must_break).map(|one| one.as_str()).collect();
        let missing: Vec<_> =
            known.difference(&caught).filter(|one| !shown.contains(*one)).collect();
        assert_eq!(missing, [&""; 0], "no mutant shows that these can fail");
        let guards: BTreeSet<_> = guards().collect();
        let unknown: Vec<_> = caught.difference(&guards).collect();
        assert_eq!(unknown, [&""; 0], "neither properties nor conditions");
    }

    #[test]
    fn each_mutant_has_a_guard() {
        let uncaught = all().filter(|mutant| mutant.caught_by.is_empty());
        assert_eq!(uncaught.map(|mutant| mutant.name).collect::<Vec<_>>(), [""; 0]);
    }
}
