//! All tests of the library, in one program. `process.rs` has those that need a process of their own.

mod any_store;
mod candidate;
mod deadline;
mod host_clock;
mod logging;
mod metrics;
mod refusals;
#[cfg(all(
    feature = "serde",
    any(feature = "etcd", feature = "postgres", feature = "redis", feature = "sqlite")
))]
mod replay;
#[cfg(feature = "testing")]
mod testing;
#[cfg(feature = "testing")]
mod trace;
