//! A SQLite file: the processes of one host elect among themselves, without a server. Linux only.
//!
//! One row for each election, one transaction for each request. A transaction takes the file's
//! write lock, carries out [`tenure_core::contract::apply`] on the record and the past that it
//! loads, and is on the disk (`synchronous=FULL`) before it is answered. Looks only read. No
//! decision rests on the file's clock, so setting the host's clock ends no lease and prolongs none.
//! One poll of the file wakes all candidates that wait for a release or a wish.
//!
//! Before and after each request the store checks that the file, its write-ahead log and its shared
//! memory are still the ones that all other processes use: if not, requests fail as
//! [`Disconnected`](super::StoreErrorKind::Disconnected). A file that was replaced, copied or
//! moved, that lost the files beside it, or that was last used before the host was started, may
//! lack grants: its candidates watch it for a quarantine.
//!
//! **Not guaranteed**: that a backup is noticed which was written *into* the file (`.restore`, `cp`
//! onto it) while the host was running. `docs/stores/sqlite.md` says how to restore one.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::Candidate;
//! use tenure::store::sqlite::{Sqlite, SqliteConfig};
//!
//! # let folder = std::env::temp_dir().join(format!("tenure-example-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("elections.db");
//! // A throw-away file: the very first leader need not wait.
//! let config = SqliteConfig::new(path).trust_empty_store(true);
//! let candidate = Candidate::builder(Sqlite::new(config), "nightly-report").start()?;
//! let tenure = candidate.elected().await?;
//! println!("leading under token {}", tenure.token());
//! candidate.stop().await?;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```

mod config;
mod create;
mod database;
mod error;
mod examine;
mod file_system;
mod handle;
mod identity;
mod micros;
mod place;
mod purge;
mod record;
mod rights;
mod settings;
mod step;
mod store;
mod waiting;
mod worker;

pub use config::SqliteConfig;
#[doc(hidden)]
pub use error::SqliteError;
#[doc(hidden)]
pub use rights::Concern;
pub use store::Sqlite;

/// The statements that carry out requests, by name, for operators to read. A request that
/// may change something is a transaction of some of them that begins with `BEGIN IMMEDIATE`.
pub const STATEMENTS: &[(&str, &str)] = &[
    ("election", record::SELECT_ELECTION),
    ("past", record::SELECT_PAST),
    ("hint", record::SELECT_HINT),
    ("grant", record::GRANT),
    ("change", record::CHANGE),
    ("renew", record::RENEW),
    ("describe", record::DESCRIBE),
    ("delete", record::DELETE),
    ("keep-past", record::KEEP_PAST),
];
