//! The mutants that are shipped, by what they are made of.

mod candidate;
mod config;
mod contract;
mod driver;
mod ending;
mod scripts;

use super::Mutant;

/// All of them, in parts.
pub static ALL: [&[Mutant]; 6] = [
    candidate::MUTANTS,
    ending::MUTANTS,
    config::MUTANTS,
    contract::MUTANTS,
    driver::MUTANTS,
    scripts::MUTANTS,
];
