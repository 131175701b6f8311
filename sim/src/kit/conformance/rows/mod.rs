//! The rows themselves, by what they are about.

pub(super) mod acquire;
pub(super) mod differential;
pub(super) mod history;
pub(super) mod messages;
pub(super) mod notify;
pub(super) mod observe;
pub(super) mod slow;
pub(super) mod tenure;
pub(super) mod ttl;

/// Why a row was not carried on with.
#[derive(Debug)]
pub(super) enum Stop {
    /// It can't be looked at here: why.
    Skipped(&'static str),
    /// The store does not keep it: what is wrong.
    Broken(String),
}
