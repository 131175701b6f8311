//! The log of a normal life, of an outage, and the spans of work and requests, as
//! docs/operations.md describes them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod kept;
mod life;
mod panics;
