//! The programs of `tenure/examples`, as processes, on real servers and files.
//!
//! They must have been built, which `cargo nextest run --workspace --all-features` does. Needs `redis-server`; the
//! tests fail without it, and say how to install it.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

mod leader;
mod minimal;
mod nightly_report;
mod program;
