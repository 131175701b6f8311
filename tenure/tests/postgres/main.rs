//! The PostgreSQL store against real servers: every row of the store contract, servers that are not what
//! they should be, and elections while servers and networks fail.
//!
//! Needs PostgreSQL; without it, these tests fail and say how to install it.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

mod advisory;
mod differential;
mod elections;
mod isolation;
mod locks;
mod refusals;
mod rows;
mod support;
mod table;
mod tls;
mod wakeup;
