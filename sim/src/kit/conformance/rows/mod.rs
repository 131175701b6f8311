//! The tests of the rows, by subject.

pub(super) mod acquire;
pub(super) mod calls;
pub(super) mod describe;
pub(super) mod differential;
pub(super) mod handover;
pub(super) mod messages;
pub(super) mod notify;
pub(super) mod observe;
pub(super) mod past;
pub(super) mod purge;
pub(super) mod slow;
pub(super) mod tenure;

/// The reason why a row was stopped.
#[derive(Debug)]
pub(super) enum Stop {
    /// The row can't be tested here, for this reason.
    Skipped(&'static str),
    /// The store does not keep it, for this reason.
    Broken(String),
}
