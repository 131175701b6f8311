//! The commands by kind.

// The table of commands holds functions of one type, also for commands that never fail.
#![allow(clippy::unnecessary_wraps)]

pub(super) mod connection;
pub(super) mod hashes;
pub(super) mod keys;
pub(super) mod pubsub;
pub(super) mod server;
pub(super) mod strings;
