//! PostgreSQL: one row for each election, one statement for each request, or two.
//!
//! The row outlives its lease, so its token does; time is the server's own, and a reading that is older than
//! what it is compared with decides nothing.
//! Needs PostgreSQL 12 or later, and a connection to the primary itself: a pooler in between, which hands
//! out sessions, is refused.
//!
//! **Not guaranteed**: promises that rest on the store's durability (A1, G6) hold as far as the server
//! keeps what it acknowledged. A restart, a promotion or a restored backup is noticed by the server's
//! identity, and the leaders after it wait out the quarantine.
//!
//! ```no_run
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::store::postgres::{Postgres, PostgresConfig};
//! use tenure::{Candidate, Config};
//!
//! let config = PostgresConfig::from_url("postgres://app:secret@db.example.org/app")?;
//! let candidate = Candidate::builder(Postgres::new(config), "nightly-report").start()?;
//! # Ok(())
//! # }
//! ```
//!
//! [`PostgresAdvisory`] is the same with an advisory lock in front, for the time in which other programs still
//! elect their leader by that lock.

mod advisory;
mod advisory_store;
mod call;
mod config;
mod config_error;
mod distance;
mod encryption;
mod error;
mod fast_path;
mod link;
mod listeners;
mod live;
mod pending;
mod presence;
mod reply;
mod session;
mod statements;
mod store;
mod table;
mod url;
mod wakeup;

pub use advisory::{AdvisoryConfig, AdvisoryConfigError, LockNumber, Takeover};
pub use advisory_store::PostgresAdvisory;
pub use config::PostgresConfig;
pub use config_error::PostgresConfigError;
pub use store::Postgres;
pub use table::LeaseTable;

pub use super::Secret;
