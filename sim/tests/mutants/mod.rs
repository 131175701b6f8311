//! Mutants are caught by the command, and what fails in one engine fails in the other.
//!
//! Only a few of the list are built here: `tenure-sim mutants` tries them all.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod command;
mod crossing;
mod simulator;
