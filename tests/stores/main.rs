//! The stores against real servers, files and processes: every row of the store contract, servers that are
//! not what they should be, and elections while servers and networks fail.
//!
//! Needs `redis-server`, PostgreSQL and `etcd`; the tests of one that is missing fail, and say how to install it.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

mod cancellation;
mod contract;
mod etcd;
mod fence;
mod many;
mod messages;
mod network;
mod postgres;
mod redis;
mod restarts;
mod rights;
mod sqlite;
mod support;
mod urls;
