//! Advisory locks in front of the lease table: for those who elect leaders by such locks today.
//!
//! Among candidates the lease table decides, with all that it promises. The lock is one more condition: a
//! lease is granted and renewed only in a session that holds the election's lock, so that programs which
//! know nothing but the lock never lead beside it. One dedicated session holds the locks of all elections.
//!
//! **Not guaranteed**: what no session lock can give. The server frees a lock when its session ends, and
//! whoever waits for it has it at once, while the leader that held it may not know yet.

mod config;
mod gate;
mod number;

pub use config::{AdvisoryConfig, AdvisoryConfigError, Takeover};
pub(super) use gate::Gate;
pub use number::LockNumber;
