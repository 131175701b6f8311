//! Models of the election algorithms in common use, to be run on the same plans as tenure.
//!
//! Four of the five keep leadership as a flag that the last reply has set: [`flag`] is the candidate that
//! they share, and each of them says what its store does and when it asks. The fifth, [`renew_deadline`],
//! counts time by its own clock. They were written from the behaviour of the libraries that each file
//! names, and `tests/compare.rs` holds them against what was measured of those.
//!
//! None of them hands out a token. The store gives each tenure an ordinal, which the candidate carries but
//! never looks at, so that a write of an older tenure can be told from one of a newer.
//!
//! Not modelled: what a library does to its process (exits, callbacks that throw), the commands that it
//! needs for a step, and what TCP makes of a partition beyond holding messages back.

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

/// The ordinal of the next tenure: above the last one, and above those that a store had forgotten.
fn ordinal(last: u64, at: Visit) -> u64 {
    (last + 1).max(at.now.as_nanos() / 1_000)
}

/// How long a standby waits between two tries: a library's own setting, here a part of the TTL as in the
/// defaults of those that have it.
fn retry(config: &Config) -> Duration {
    config.ttl() / 6
}
