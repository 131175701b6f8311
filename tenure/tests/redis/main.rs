//! The Redis stores against real servers: every row of the store contract, servers that are not what
//! they should be, and elections while servers and networks fail.
//!
//! Needs `redis-server`; without one, these tests fail and say how to install it.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

#[macro_use]
mod support;

mod access;
mod cluster;
mod elections;
mod example;
mod isolation;
mod lies;
mod outage;
mod quarantine;
mod refusals;
mod replicas;
mod rows;
mod sentinel;
mod tls;
mod wakeup;
