//! Sleeps of the real runtime: one timerfd for all of a tokio runtime, which lives as long as that runtime.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod descriptors;
mod runtimes;
mod sleeps;
mod support;
