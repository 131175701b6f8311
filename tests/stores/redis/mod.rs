//! The Redis stores against real servers: every row of the store contract, servers that are not
//! what they should be, and clusters and sentinels whose servers fail.
//!
//! Needs `redis-server`; without one, these tests fail and say how to install it.

#[macro_use]
pub(crate) mod support;

pub(crate) mod access;
pub(crate) mod cluster;
mod failover;
mod fake;
mod lies;
mod logs;
mod quarantine;
mod refusals;
mod replaced;
pub(crate) mod replicas;
pub(crate) mod rows;
pub(crate) mod sentinel;
mod subscriptions;
pub(crate) mod tls;
mod together;
