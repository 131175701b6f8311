//! What each command does, by kind.

// The table of commands holds functions of one type, also for those that refuse nothing.
#![allow(clippy::unnecessary_wraps)]

pub(super) mod connection;
pub(super) mod hashes;
pub(super) mod keys;
pub(super) mod pubsub;
pub(super) mod server;
pub(super) mod strings;
