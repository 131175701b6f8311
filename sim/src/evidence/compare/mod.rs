//! A comparison of tenure with the algorithms in common use, on the same plans.
//!
//! Every [`Contender`] runs every [`Scenario`], with the same seeds: the same times, cluster sizes,
//! latencies and clocks. The comparison is about what a user notices: whether two nodes answered at
//! once that they lead, whether a write of an older tenure was accepted after one of a newer, and
//! the time without a leader.
//!
//! Not compared: the libraries themselves. They were measured elsewhere; `docs/comparison.md` says
//! how close their models come.

/// Rows of an enum: a value, its name, and a short description.
macro_rules! described {
    ($(#[$attribute:meta])* $type:ident {
        $($(#[$doc:meta])* $value:ident = $name:literal: $about:literal,)+
    }) => {
        $(#[$attribute])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum $type {
            $($(#[$doc])* $value,)+
        }

        impl $type {
            /// All of them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $name,)+ }
            }

            /// A short description.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$value => $about,)+ }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

mod contender;
mod measured;
mod scenario;
mod summary;
mod table;

use serde::{Deserialize, Serialize};

use crate::engines::EngineError;
use crate::search::pool;
pub use contender::Contender;
pub use measured::{Measured, Overlap, Takeover, overlaps};
pub use scenario::Scenario;
pub use summary::{Cell, Spread};
pub use table::Table;

/// The settings of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The number of runs of each contender in each scenario.
    pub runs: u64,
    /// The first run's seed; the others follow it.
    pub seed: u64,
    /// The number of threads, which does not change the result.
    #[serde(skip)]
    pub jobs: usize,
}

/// The result: one cell for each contender in each scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The settings.
    pub settings: Settings,
    /// The cells by scenario, and in each by contender.
    pub cells: Vec<Cell>,
}

/// Carries out a comparison.
///
/// # Errors
/// If a run does not complete.
pub fn run(settings: &Settings) -> Result<Comparison, EngineError> {
    let pairs: Vec<(Scenario, Contender)> = Scenario::ALL
        .into_iter()
        .flat_map(|scenario| Contender::ALL.map(|contender| (scenario, contender)))
        .collect();
    let one = |(scenario, contender): &_| cell(settings, *scenario, *contender);
    let cells = pool::try_map(settings.jobs, &pairs, one)?;
    Ok(Comparison { settings: *settings, cells })
}

fn cell(
    settings: &Settings,
    scenario: Scenario,
    contender: Contender,
) -> Result<Cell, EngineError> {
    let seeds = (0..settings.runs).map(|run| settings.seed.wrapping_add(run));
    let measured = seeds.map(|seed| contender.run(&scenario.plan(seed)?));
    Ok(Cell::of(scenario, contender, &measured.collect::<Result<Vec<_>, _>>()?))
}
