//! etcd: the server ends leases itself, so each live lease has a key that is attached to an etcd
//! lease of its TTL.
//!
//! | key | holds |
//! |---|---|
//! | `{prefix}/leader/<key>` | the holder; exists for as long as the lease is live |
//! | `{prefix}/record/<key>` | the election's record, which outlives the lease |
//! | `{prefix}/past` | what the prefix's elections know of the cluster's history |
//!
//! One transaction carries out each request, on condition that all three are as they were read.
//! What it writes is decided by the contract's own code ([`tenure_core::contract::server_ends`]).
//! Looks only read. A renewal extends the etcd lease and writes nothing either, so that a cluster's
//! history does not grow with it. A tenure's token is the revision at which its leader's key was
//! created, plus an offset that the past keeps: clusters that are wiped or restored begin to count
//! anew.
//!
//! **Not guaranteed**: an etcd older than 3.4.31 or 3.5.13 may end leases early after its leader
//! was paused for longer than a TTL; `docs/stores/etcd.md` says more. etcd-client owns its sockets,
//! so this store runs in tokio and against real servers only: the simulator can't run it.

mod channel;
mod config;
mod decide;
mod error;
mod keep;
mod link;
mod purge;
mod record;
mod renew;
mod session;
mod settings;
mod state;
mod step;
mod store;
mod version;
mod wakeup;

pub use config::EtcdConfig;
pub use store::Etcd;
