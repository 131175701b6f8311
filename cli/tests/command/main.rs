//! The command `tenure` as its users run it: real processes, a file of SQLite, and a Redis server.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

mod deaths;
mod doctor;
mod exclusion;
mod hosts;
mod journal;
mod looks;
mod page;
mod run;
mod terminal;
