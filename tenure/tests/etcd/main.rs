//! The etcd store against real members and clusters: every row of the store contract, servers that are
//! not what they should be, and elections while members and networks fail.
//!
//! Needs `etcd`; without it, these tests fail and say how to install it.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

mod support;

mod cluster;
mod differential;
mod isolation;
mod loss;
mod races;
mod refusals;
mod rows;
mod secured;
mod wakeup;
