//! The programs of `tenure/examples`, as processes, on real servers and files.
//!
//! They must have been built, which `cargo nextest run --workspace --all-features` does. Needs
//! `redis-server` and PostgreSQL; the tests of one that is missing fail, and say how to install it.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

mod cron_gated;
mod fenced_writes;
mod grpc;
mod leader;
mod messages;
mod minimal;
mod nightly_report;
mod own_store;
mod program;
mod queue_consumer;
mod recipes;
mod router;
mod service;
mod testing;
