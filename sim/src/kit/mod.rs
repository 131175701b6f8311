//! What users run on code of their own.

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod simulation;
