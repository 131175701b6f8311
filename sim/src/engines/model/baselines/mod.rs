//! Models of the election algorithms in common use, for comparison with tenure on the same plans.
//!
//! Four of the five keep leadership as a flag that the last reply has set. They share the candidate
//! in [`flag`]; each has its own store and timers. The fifth, [`renew_deadline`], counts time by
//! its own clock. They follow the behaviour of the libraries that each file names, and
//! `tests/compare.rs` compares them with measurements of those.
//!
//! None of them has a fencing token. The store gives each tenure an ordinal, which the candidate
//! carries but never reads, so that the trace distinguishes the writes of older and newer tenures.
//!
//! Not modelled: the effects of a library on its process (exits, callbacks that throw), the
//! separate commands of a step, and the behaviour of TCP in a partition beyond delayed messages.

mod client;
pub(crate) mod expiring_row;
pub(crate) mod flag;
pub(crate) mod heartbeat_row;
pub(crate) mod key_flag;
mod model;
mod pace;
pub(crate) mod renew_deadline;
pub(crate) mod session_lock;

use std::time::Duration;

use tenure_core::Config;

use super::algorithm::Visit;

/// The ordinal of the next tenure: above the last one, and above those that a store has lost.
fn ordinal(last: u64, at: Visit) -> u64 {
    (last + 1).max(at.now.as_nanos() / 1_000)
}

/// The interval between two attempts of a standby: each library's own setting, here a part of the
/// TTL as in the defaults of libraries that have it.
fn retry(config: &Config) -> Duration {
    config.ttl() / 6
}
