//! The rows themselves, by what they are about.

pub(super) mod acquire;
pub(super) mod differential;
pub(super) mod history;
pub(super) mod messages;
pub(super) mod notify;
pub(super) mod observe;
pub(super) mod tenure;

/// Why a row was not carried on with.
#[derive(Debug)]
pub(super) enum Stop {
    /// The harness can't bring it about.
    Unsupported,
    /// The store does not keep it: what is wrong.
    Broken(String),
}
