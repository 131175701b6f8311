//! PostgreSQL: one row for each election, and one or two statements for each request.
//!
//! The row outlives its lease, and so does its token. No decision rests on the server's clock.
//! Needs PostgreSQL 12 or later, and a connection to the primary itself: a pooler in between, which
//! shares sessions, is refused.
//!
//! **Not guaranteed**: promises that depend on the store's durability (A1, G6) hold only if the
//! server keeps what it acknowledged. A restart, a promotion or a restored backup is noticed by the
//! server's identity, and candidates watch its new past for a quarantine.
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

mod answer;
mod call;
mod config;
mod encryption;
mod error;
mod examine;
mod link;
mod listeners;
mod listening;
mod live;
mod messages;
mod presence;
mod purge;
mod renewal;
mod reply;
mod session;
mod settings;
mod statements;
mod store;
mod table;
mod value;

pub use config::PostgresConfig;
pub(crate) use error::refused_values;
pub use store::Postgres;
pub use table::LeaseTable;
pub(crate) use table::{EXCLUDED, creation_lock, quoted};
