//! The SQLite store: every row of the store contract, files that are not what they should be or do not
//! stay where they were, processes that contend and are killed, and elections.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

mod child;
mod differential;
mod elections;
mod places;
mod processes;
mod quarantine;
mod refusals;
mod rows;
mod support;
