//! Leader election whose guarantees are proven and tested.
//!
//! **What is not guaranteed**: a check of leadership says nothing about the moment *after* the
//! check. A process may be paused between "do I lead?" and what it does next, and only the resource
//! that it writes to can then refuse, by the tenure's fencing token ([`Tenure::token`]). Refusing lower
//! tokens is not enough. A tenure takes the resource over with its token first, until it knows that it has;
//! then it reads; then it writes, and a write is accepted only if the stored token equals its own.
//! [`fence`] does that for PostgreSQL, Redis and SQLite, and says why.
//!
//! **What is guaranteed**: of many candidates at most one answers "I lead" at any instant; a candidate that can't
//! be sure stops by itself, by its own clock, before its lease can end at the store; tokens strictly
//! increase from tenure to tenure. The assumptions, and how each promise is checked, are in
//! `docs/guarantees.md`.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::{Candidate, Config, store::Memory};
//!
//! let candidate = Candidate::builder(Memory::new(), "nightly-report")
//!     .name("worker-7")
//!     .config(Config::fast_failover())
//!     .start()?;
//! let report = candidate
//!     .run_while_leader(async |tenure| format!("written under token {}", tenure.token()))
//!     .await?;
//! candidate.stop().await?;
//! # assert!(report.starts_with("written"));
//! # Ok(())
//! # }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod candidate;
mod deadline;
mod driver;
mod event;
pub mod fence;
mod health;
#[cfg(feature = "tower")]
pub mod leader_only;
mod logging;
pub mod metrics;
pub mod runtime;
mod shared;
mod signal;
pub mod store;
mod tenure;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "tls")]
pub mod tls;
pub mod trace;
mod watchdog;

use std::sync::atomic;

pub use candidate::{
    Candidate, CandidateBuilder, Elections, EnvError, FirstAttempt, NotifyError, Observer,
    StartError, Stopped, WeakCandidate,
};
pub use driver::Driver;
pub use event::Event;
pub use health::{Health, Role, StoreHealth};
pub use shared::StopError;
pub use signal::shutdown_signal;
pub use tenure::Tenure;
pub use tenure_core::{
    Config, ConfigBuilder, ConfigError, Explanation, HolderId, Instant, Remedy, RenewErrorPolicy,
    StepDownReason, Token, TokenError,
};
pub use watchdog::Watchdog;

/// The programs in the pages for users compile.
#[cfg(doctest)]
mod pages {
    #[cfg(feature = "redis")]
    #[doc = include_str!("../../docs/getting-started.md")]
    struct GettingStarted;

    #[cfg(feature = "postgres")]
    #[doc = include_str!("../../docs/migrating/platformatic.md")]
    struct FromPlatformatic;
}
