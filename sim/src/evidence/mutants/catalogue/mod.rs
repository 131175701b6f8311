//! The shipped mutants, by the part of the sources that they change.

mod audited;
mod candidate;
mod config;
mod contract;
mod driver;
mod ending;
mod overload;
mod scripts;

pub(super) use audited::audited;

use super::Mutant;

/// All mutants, in parts.
pub static ALL: [&[Mutant]; 7] = [
    candidate::MUTANTS,
    ending::MUTANTS,
    config::MUTANTS,
    contract::MUTANTS,
    driver::MUTANTS,
    overload::MUTANTS,
    scripts::MUTANTS,
];
