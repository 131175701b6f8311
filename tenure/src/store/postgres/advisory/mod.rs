//! Advisory locks in front of the lease table: for users whose programs elect leaders by such locks today.
//!
//! Among candidates the lease table decides, with all its promises. The lock is an additional condition: a
//! lease is granted and renewed only in a session that holds the election's lock, so that programs which only
//! know the lock never lead beside a candidate. One dedicated session holds the locks of all elections.
//!
//! **Not guaranteed**: a property that no session lock has. The server frees a lock when its session ends, and
//! another program may take it at once, while the leader that held it may not know yet.

mod config;
mod gate;
mod number;

pub use config::{AdvisoryConfig, AdvisoryConfigError, Takeover};
pub(super) use gate::Gate;
pub use number::LockNumber;
