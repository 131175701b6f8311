//! Metrics as docs/operations.md promises them: names, kinds, units, labels and values.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod classes;
mod ops;
mod panics;
mod recorder;
pub(crate) mod support;
mod table;
mod values;
