//! Sleeps of the real runtime: one thread and one timerfd for all of a process.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod descriptors;
mod runtimes;
mod sleeps;
mod support;
