//! The command `tenure` as its users run it: real processes, a file of SQLite, and real servers.

#![allow(clippy::unwrap_used, reason = "a test that panics says where and why")]

mod containers;
mod deaths;
mod doctor;
mod exclusion;
mod hold;
mod hosts;
mod http;
mod install;
mod journal;
mod languages;
mod looks;
mod messages;
mod migrate;
mod naming;
mod output;
mod page;
mod purge;
mod readers;
mod run;
mod schemas;
mod services;
mod sidecar;
mod stores;
mod terminal;
