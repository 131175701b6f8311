//! etcd: one key for each live lease, attached to an etcd lease of the TTL.
//!
//! | key | holds |
//! |---|---|
//! | `{prefix}/leader/<key>` | the leader; exists for as long as the lease is live |
//! | `{prefix}/last/<key>` | the last tenure, so that its token survives the lease |
//! | `{prefix}/settings/<key>` | the TTL and the quarantine that the last tenure's candidate declared |
//! | `{prefix}/longest` | the longest TTL that was granted |
//! | `{prefix}/history` | which cluster wrote this, and the offset of new tokens |
//! | `{prefix}/quarantine` | exists for as long as a quarantine lasts |
//! | `{prefix}/purged` | up to which token records may have been purged |
//! | `{prefix}//ended/<key>` | when a purge first found the election without a leader |
//!
//! An election is vacant exactly if its first key does not exist. A tenure's token is the revision at
//! which that key was created, plus an offset that the history keeps: clusters that are wiped or restored begin to
//! count anew.
//!
//! A request of several steps is decided by one of them: a transaction, or a read that a majority of the cluster
//! confirms. Earlier steps have no visible effect but a lease without keys, which ends by itself; later steps only
//! clean up.
//!
//! **Not guaranteed**: an etcd older than 3.4.31 or 3.5.13 may end leases early after its leader was
//! paused for longer than a TTL; `docs/stores/etcd.md` says more. etcd-client owns its sockets, so this store
//! runs in tokio and against real servers only: the simulator can't run it.

mod acquire;
mod channel;
mod config;
mod config_error;
mod error;
mod history;
mod keep;
mod link;
mod purge;
mod record;
mod session;
mod settings;
mod state;
mod store;
mod tenure;
mod together;
mod url;
mod version;
mod wakeup;

pub use config::EtcdConfig;
pub use config_error::EtcdConfigError;
pub use store::Etcd;
