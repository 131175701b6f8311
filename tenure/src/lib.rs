//! Leader election whose guarantees are proven and tested.
//!
//! **What is not guaranteed**: a check of leadership says nothing about the moment *after* the
//! check. A process may be paused between "do I lead?" and what it does next, and only the resource
//! that it writes to can then refuse, by the tenure's fencing token ([`Tenure::token`]). Refusing
//! lower tokens is not enough. A leader first takes the resource over with its token, then reads,
//! then writes; a write is accepted only if the stored token equals its own. [`fence`] does that
//! for PostgreSQL, Redis and SQLite, and says why.
//!
//! **What is guaranteed**: of many candidates at most one answers "I lead" at any instant; a
//! candidate that can't be sure stops by itself, by its own clock, before its lease can end at the
//! store; tokens strictly increase from tenure to tenure. The assumptions, and how each promise is
//! checked, are in `docs/guarantees.md` of the repository.
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::{Candidate, Config, Tenure, store::Memory};
//!
//! // `Memory` is for tests; see the table for stores that processes share.
//! let candidate = Candidate::builder(Memory::new(), "nightly-report")
//!     .name("worker-7")
//!     .config(Config::fast_failover())
//!     .start()?;
//! let work = async |tenure: Tenure| {
//!     while tenure.is_current() {
//!         write_report(tenure.token()).await; // the token goes along with every write
//!     }
//! };
//! // Until Ctrl-C or SIGTERM: then the work ends, and the lead is handed over.
//! candidate.run_until(tenure::shutdown_signal()?, work).await?;
//! # Ok(())
//! # }
//! # async fn write_report(_: tenure::Token) {}
//! ```
//!
//! | to | see |
//! |---|---|
//! | take part in an election | [`Candidate`], or [`Elections`] for many of them |
//! | choose settings | [`Config`], and what follows from them: [`Config::explain`] |
//! | run work while leading | [`Candidate::run_until`], [`Candidate::run_while_leader`], their forms for work that can fail, [`Tenure`] |
//! | have a database refuse late writes | [`fence`] |
//! | follow who leads, without taking part | [`Observer`] |
//! | answer a health probe | [`Candidate::health`] |
//! | measure, log, audit | [`metrics`], [`trace`] |
//!
//! Each store needs its feature; [`store::AnyStore`] opens any of them by URL, but for `objects`
//! and own stores.
//!
//! | feature | what it adds |
//! |---|---|
//! | `redis` | Redis and Valkey through redis-rs: one server, Sentinel, Cluster |
//! | `fred` | one Redis server through fred |
//! | `postgres` | a lease table in PostgreSQL |
//! | `etcd` | etcd; needs `protoc` to build |
//! | `sqlite` | a SQLite file, for the processes of one Linux host |
//! | `kubernetes` | Leases of a Kubernetes cluster |
//! | `mysql` | tables in MariaDB or MySQL |
//! | `objects` | objects in a bucket: S3, Google Cloud Storage, Azure |
//! | `cas` | a store of your own over whatever can compare and swap |
//! | `tower` | a layer for HTTP services that answers only while a candidate leads |
//! | `testing` | a store and a clock in a test's hands |
//! | `serde` | `Serialize` for what endpoints show |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod candidate;
mod deadline;
mod driver;
mod error;
mod event;
pub mod fence;
mod health;
#[cfg(feature = "tower")]
pub mod leader_only;
mod logging;
pub mod metrics;
pub mod runtime;
#[cfg_attr(
    not(all(
        feature = "redis-without-tls",
        feature = "postgres",
        feature = "etcd",
        feature = "sqlite",
        target_os = "linux"
    )),
    allow(dead_code, reason = "each store uses a part of it")
)]
mod settings;
mod shared;
mod signal;
pub mod store;
mod tenure;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(all(feature = "_server", not(feature = "tls")))]
#[path = "tls/absent.rs"]
mod tls;
pub mod trace;
mod watchdog;

use std::sync::atomic;

#[doc(hidden)]
pub use candidate::known_variables;
pub use candidate::{
    Candidate, CandidateBuilder, Elections, FirstAttempt, HandOverError, NotifyError, Observer,
    StartError, Stopped, WeakCandidate,
};
pub use driver::Driver;
pub use error::Error;
pub use event::Event;
pub use health::{Health, Role, StoreHealth};
pub use settings::SettingError;
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
    #[cfg(feature = "redis-without-tls")]
    #[doc = include_str!("../../docs/getting-started.md")]
    struct GettingStarted;

    #[cfg(feature = "objects")]
    #[doc = include_str!("../../docs/stores/objects.md")]
    struct Objects;
}
