//! Candidates' login to servers that have passwords.

/// The user. The engine itself uses another one.
pub(super) const USER: &str = "candidate";
/// The password that candidates have.
pub(super) const PASSWORD: &str = "first";
/// The one that an operator gives to their user for a while.
pub(super) const ANOTHER: &str = "second";
