//! For users: simulations and conformance tests of their own code.

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod simulation;
