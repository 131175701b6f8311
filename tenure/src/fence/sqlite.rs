//! A fence in a SQLite database, for writes inside the user's own transactions.
//!
//! The fence is a row of a small table, one for each election, in the database file that it guards.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::fence::sqlite::Fence;
//! use tenure::{Token, store::Key};
//!
//! # let mut connection = rusqlite::Connection::open_in_memory()?;
//! # connection.execute_batch("CREATE TABLE jobs (next INTEGER)")?;
//! # let token = Token::FIRST; // tenure.token()
//! let fence = Fence::new(&Key::new("nightly-report")?);
//! connection.execute_batch(Fence::SCHEMA)?;
//!
//! let taken = fence.take_over(&mut connection, token)?;  // first
//! let transaction = connection.transaction()?;           // any behaviour
//! taken.check(&transaction)?;                            // an error: drop the transaction
//! transaction.execute("UPDATE jobs SET next = next + 1", [])?;
//! transaction.commit()?;
//! # Ok(())
//! # }
//! ```
//!
//! With another client or language, [`TAKE_OVER`](Fence::TAKE_OVER) and [`CHECK`](Fence::CHECK) are
//! the statements.
//!
//! # Why it holds
//!
//! The check is itself a write (it sets the token to what it is), so it takes the database's only
//! write lock, and holds it until the transaction ends: a take-over waits for it, or fails because
//! the database is busy. A transaction that has begun to read before a take-over can't write after
//! it: SQLite refuses that as `SQLITE_BUSY_SNAPSHOT`. The take-over is a transaction of its own,
//! and has committed before anything is read.
//!
//! A check inside a savepoint holds after a rollback to it: SQLite undoes the changes, and keeps
//! the transaction's lock.

use rusqlite::{
    Connection, Error, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params,
};

use super::{FenceError, as_bigint, failed, from_bigint, refused};
use crate::Token;
use crate::store::Key;

/// The fence of one election, in the table `tenure_fences` of the database.
#[derive(Clone, Debug)]
#[must_use]
pub struct Fence {
    election: Key,
}

impl Fence {
    /// The statement that creates the table, if it does not exist.
    pub const SCHEMA: &'static str = "CREATE TABLE IF NOT EXISTS tenure_fences (\
        election TEXT PRIMARY KEY NOT NULL, token INTEGER NOT NULL CHECK (token > 0))";

    /// The take-over: `?1` is the election, `?2` the token. Send it as a transaction of its own.
    /// One row changed: the resource is taken over. None: a newer tenure has it. An error: repeat
    /// the take-over.
    pub const TAKE_OVER: &'static str = "INSERT INTO tenure_fences (election, token) VALUES (?1, ?2) \
        ON CONFLICT (election) DO UPDATE SET token = excluded.token \
        WHERE tenure_fences.token <= excluded.token";

    /// The check: `?1` is the election, `?2` the token. Send it inside each transaction that
    /// writes. One row changed: continue, and commit. None, or an error: roll back.
    pub const CHECK: &'static str =
        "UPDATE tenure_fences SET token = token WHERE election = ?1 AND token = ?2";

    /// The fence of that election.
    pub fn new(election: &Key) -> Self {
        Self { election: election.clone() }
    }

    /// Takes the resource over, in a transaction of its own.
    ///
    /// # Errors
    /// [`FenceError::Superseded`] if a newer tenure has the resource. [`FenceError::ReadOnly`] if
    /// the file can't be written. [`FenceError::Misused`] if no store can have granted the token.
    /// [`FenceError::Unknown`] if SQLite failed, as where the database stayed busy for longer than
    /// the connection's `busy_timeout`: repeat the take-over until its outcome is known.
    pub fn take_over(
        &self,
        connection: &mut Connection,
        token: Token,
    ) -> Result<TakenOver, FenceError<Error>> {
        let fence = self.election.as_str();
        let number = as_bigint(fence, token)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = transaction.map_err(without_answer(fence))?;
        let changed = transaction.execute(Self::TAKE_OVER, params![fence, number]);
        if changed.map_err(without_answer(fence))? == 0 {
            let stored = self.stored(&transaction).map_err(without_answer(fence))?;
            return Err(refused(fence, token, stored));
        }
        transaction.commit().map_err(|error| failed(fence, false, error))?;
        Ok(TakenOver { fence: self.clone(), token, number })
    }

    fn stored(&self, connection: &Connection) -> Result<Option<Token>, Error> {
        let sql = "SELECT token FROM tenure_fences WHERE election = ?1";
        let stored = connection.query_row(sql, [self.election.as_str()], |row| row.get(0));
        Ok(stored.optional()?.and_then(from_bigint))
    }
}

/// A resource that was taken over under a tenure's token: the outcome is known.
#[derive(Clone, Debug)]
#[must_use]
pub struct TakenOver {
    fence: Fence,
    token: Token,
    number: i64,
}

impl TakenOver {
    /// The tenure's token.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Checks that the resource is still this tenure's, and keeps it so until the transaction ends.
    /// Once this has returned `Ok`, the transaction may commit.
    ///
    /// # Errors
    /// The transaction must then not be committed: drop it. [`FenceError::Superseded`] if a newer
    /// tenure has the resource; [`FenceError::Unknown`] also where that shows as a busy database.
    pub fn check(&self, transaction: &Transaction<'_>) -> Result<(), FenceError<Error>> {
        let fence = self.fence.election.as_str();
        let changed = transaction.execute(Fence::CHECK, params![fence, self.number]);
        if changed.map_err(without_answer(fence))? == 1 {
            return Ok(());
        }
        let stored = self.fence.stored(transaction).map_err(without_answer(fence))?;
        Err(refused(fence, self.token, stored))
    }
}

/// The error for an error of SQLite's.
fn without_answer(fence: &str) -> impl Fn(Error) -> FenceError<Error> {
    move |error| {
        let is_read_only = error.sqlite_error_code() == Some(ErrorCode::ReadOnly);
        failed(fence, is_read_only, error)
    }
}
