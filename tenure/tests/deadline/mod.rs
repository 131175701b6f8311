//! The one lock-free protocol of the crate: `src/deadline.rs`, compiled twice.
//!
//! With the standard library's atomics, tests on one thread pause it between its steps. With
//! shuttle's, every interleaving of several threads is executed. The threads do what the driver and
//! the handles do. There is one driver, and all handles do the same, so three threads suffice.

#![allow(clippy::duplicate_mod, reason = "one file, with two kinds of atomics")]

mod every_interleaving;
mod explored;
mod one_thread;
mod plain;
