//! PostgreSQL: one row for each election, and one or two statements for each request.
//!
//! The row outlives its lease, and so does its token. Time is the server's own; each step reads the clock after it
//! has locked the row. Needs PostgreSQL 12 or later, and a connection to the primary itself: a pooler in between,
//! which shares sessions, is refused.
//!
//! **Not guaranteed**: promises that depend on the store's durability (A1, G6) hold only if the server
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
//! [`PostgresAdvisory`] is the same with an advisory lock in front, for as long as other programs still elect
//! their leader by that lock.

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
mod listening;
mod live;
mod messages;
mod pending;
mod presence;
mod purge;
mod reply;
mod session;
mod statements;
mod store;
mod table;
mod url;

pub use advisory::{AdvisoryConfig, AdvisoryConfigError, LockNumber, Takeover};
pub use advisory_store::PostgresAdvisory;
pub use config::PostgresConfig;
pub use config_error::PostgresConfigError;
pub use store::Postgres;
pub use table::LeaseTable;

pub use super::{Credentials, CredentialsProvider, Secret};
