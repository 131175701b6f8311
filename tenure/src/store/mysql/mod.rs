//! MariaDB and MySQL: one row for each election.
//!
//! The contract is carried out by this process on what it has read, and one statement swaps it in:
//! it changes the row only if the row, the elections' one past and the server's identity are still
//! those that were read. What was written is read back in the same message. No transaction stays
//! open between two statements, so a process that is paused locks no row. No decision rests on the
//! server's clock.
//!
//! A server's identity is its name, a number that it draws after each start, and the time at which
//! the tables were made. The number is kept in a table of the engine MEMORY, which is empty after a
//! start. So a restart, a failover, and a backup that is restored by a start or by recreating the
//! tables are noticed, and candidates watch the new past for a quarantine. Settings of durability,
//! such as `innodb_flush_log_at_trx_commit`, matter for speed alone.
//!
//! **Not guaranteed**: that a backup is noticed which was restored *into* the tables of a running
//! server, or the return of a demoted server that was not restarted and lacks grants of the one in
//! between. `docs/stores/mysql.md` says what to do then.
//!
//! ```no_run
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::Candidate;
//! use tenure::store::mysql::{Mysql, MysqlConfig};
//!
//! let config = MysqlConfig::from_url("mysql://app:secret@db.example.org/app")?;
//! let candidate = Candidate::builder(Mysql::new(config), "nightly-report").start()?;
//! # Ok(())
//! # }
//! ```

mod config;
mod error;
mod examine;
mod facts;
mod link;
mod message;
mod purge;
mod register;
mod settings;
mod sql;
mod store;
mod wakeup;

pub use config::MysqlConfig;
pub(crate) use error::failed;
pub(crate) use facts::is_on;
pub use sql::MysqlTables;
pub(crate) use sql::{EXCLUDED, grant, hex};
pub use store::Mysql;
