//! The stores against real servers, files and processes: every row of the store contract, servers
//! that are not what they should be, and elections while servers and networks fail. `contract` runs
//! every store through the contract, `stories` through elections, `credentials` through passwords
//! and certificates that change; the folders of the stores have what only one of them can do.
//!
//! Needs `redis-server`, PostgreSQL, MariaDB and `etcd`; the tests of one that is missing fail, and say how
//! to install it.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

mod contract;
mod credentials;
mod etcd;
mod fence;
mod kubernetes;
mod mysql;
mod postgres;
mod redis;
mod rights;
mod sqlite;
mod stories;
mod support;
mod urls;
