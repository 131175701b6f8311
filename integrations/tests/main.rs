//! The library beside others that programs use with it. Their many dependencies are built by
//! `scripts/check` alone.
//!
//! Needs PostgreSQL, MariaDB and NATS, and one test a `kube-apiserver`; the tests of one that is
//! missing fail, and say how to install it.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

mod fencing;
mod nats;
mod operator;
#[allow(dead_code, reason = "the tests of the library's examples use the rest of it")]
#[path = "../../tests/programs/program.rs"]
mod program;
