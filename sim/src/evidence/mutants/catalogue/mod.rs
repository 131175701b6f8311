//! The shipped mutants, by the part of the sources that they change.

mod audited;
mod candidate;
mod config;
mod contract;
mod driver;
mod ending;
mod many;
mod on_servers;
mod ordered;
mod overload;
mod scripts;

pub(super) use audited::audited;
pub(super) use on_servers::on_servers;
pub(super) use ordered::is_ordered;

use super::Mutant;

/// All mutants, in parts.
pub static ALL: [&[Mutant]; 9] = [
    candidate::MUTANTS,
    ending::MUTANTS,
    config::MUTANTS,
    contract::MUTANTS,
    driver::MUTANTS,
    many::MUTANTS,
    on_servers::MUTANTS,
    overload::MUTANTS,
    scripts::MUTANTS,
];
