//! The mutants that are shipped, by what they are made of.

mod candidate;
mod config;
mod contract;
mod driver;
mod scripts;

use super::Mutant;

/// All of them, in parts.
pub static ALL: [&[Mutant]; 5] =
    [candidate::MUTANTS, config::MUTANTS, contract::MUTANTS, driver::MUTANTS, scripts::MUTANTS];
