//! A fence in a PostgreSQL database, for writes inside the user's own transactions.
//!
//! The fence is a row of a small table, one for each election, in the database that it guards.
//!
//! ```no_run
//! # async fn example(client: &mut tokio_postgres::Client, tenure: tenure::Tenure)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! use tenure::fence::postgres::Fence;
//! use tenure::store::Key;
//!
//! let fence = Fence::new(&Key::new("nightly-report")?);
//! client.batch_execute(&fence.schema_sql()).await?;              // or in a migration
//!
//! let taken = fence.take_over(client, tenure.token()).await?;    // first
//! while tenure.is_current() {
//!     let transaction = client.transaction().await?;             // any isolation level
//!     taken.check(&transaction).await?;                          // an error: drop the transaction
//!     transaction.execute("UPDATE jobs SET next = next + 1", &[]).await?;
//!     transaction.commit().await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! With another client, send [`take_over_sql`](Fence::take_over_sql) and
//! [`check_sql`](Fence::check_sql): the rules are written there.
//!
//! # Why it holds, at every isolation level
//!
//! The check locks the fence's row until its transaction ends, so a take-over waits for every
//! transaction that has passed the check. Once the take-over has committed, what older tenures
//! wrote is committed or rolled back, and a transaction of theirs that checks later is refused: at
//! `READ COMMITTED` it finds the new token; at `REPEATABLE READ` and `SERIALIZABLE` it fails with a
//! serialization failure (40001) if its snapshot is older than the take-over, and finds the new
//! token if it is not.
//!
//! The lock is `FOR SHARE`. A take-over updates the row and so needs `FOR NO KEY UPDATE`, which
//! `FOR SHARE` conflicts with; the weaker `FOR KEY SHARE` does not conflict, and would let a
//! take-over pass a transaction that is still writing. `FOR UPDATE` would exclude take-overs too,
//! but also every other transaction of the same tenure.
//!
//! **The take-over must have committed before the reading transaction begins.** A take-over inside
//! the reading transaction waits for the old leader's last write like any other, but at
//! `REPEATABLE READ` and above the snapshot is older than that wait: the transaction then reads
//! what the old leader has already changed. [`Fence::take_over`] needs the client for itself, so
//! that no transaction can be open on it.
//!
//! # Savepoints
//!
//! A rollback to a savepoint frees all locks that were taken since, of whatever kind: a take-over
//! could then come between the check and the commit. So a check is refused inside a savepoint, and
//! inside a PL/pgSQL block that handles exceptions, which is one too ([`FenceError::Misused`]). A
//! check before them holds: what is written inside may be rolled back, and the check's lock stays.
//! Drivers that set a savepoint before each statement (`ON_ERROR_ROLLBACK` of psql, `autosave` of
//! JDBC) must not do so here.
//!
//! The check finds out by `pg_export_snapshot`, which PostgreSQL refuses in a subtransaction. It
//! takes about as long as a small statement, and no lock that other sessions wait for. Instead the
//! check could write its row, whose `xmin` tells a subtransaction from the transaction; but then
//! writers of one tenure would wait for each other, fail at `REPEATABLE READ`, and leave a dead row
//! each time. A transaction with an exported snapshot can't be prepared for a commit in two phases.
//!
//! # Waiting for a paused leader
//!
//! A take-over waits as long as an older tenure's transaction stays open with its check passed.
//! Where the old leader is paused, or its machine is gone, that is until the server ends the
//! session. Set `idle_in_transaction_session_timeout` for the role that writes, to about the TTL. A
//! bound on the take-over's own wait is the session's `lock_timeout`; running into it is an unknown
//! outcome, so repeat the take-over.

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, IsolationLevel, Transaction};

use super::{FenceError, as_bigint, failed, from_bigint, refused};
use crate::settings::{Fault, Setting};
use crate::store::postgres::{EXCLUDED, creation_lock, quoted, refused_values};
use crate::store::{Key, name_without};
use crate::{SettingError, Token};

const SCHEMA: Setting<String> = setting("the schema of the fences", "tenure");
const TABLE: Setting<String> = setting("the table of the fences", "fences");

/// A name that PostgreSQL neither refuses nor cuts.
const fn setting(what: &'static str, example: &'static str) -> Setting<String> {
    let named: fn(&str) -> Result<String, Fault> = |text| name_without::<63>(text, EXCLUDED);
    Setting::part(what, named).must("1 to 63 bytes without ' \\ $ and zero", example)
}

/// The fence of one election.
#[derive(Clone, Debug)]
#[must_use]
pub struct Fence {
    election: Key,
    schema: String,
    table: String,
}

impl Fence {
    /// The fence of that election, in the table `tenure.fences`.
    pub fn new(election: &Key) -> Self {
        Self { election: election.clone(), schema: "tenure".into(), table: "fences".into() }
    }

    /// Keeps the fence in another table. All candidates of the election must use the same one.
    ///
    /// # Errors
    /// If a name is empty, longer than 63 bytes, or has a `'`, a `\`, a `$` or a zero byte in it.
    pub fn in_table(self, schema: &str, table: &str) -> Result<Self, SettingError> {
        let (schema, table) = (SCHEMA.check(schema)?, TABLE.check(table)?);
        Ok(Self { schema, table, ..self })
    }

    /// A statement that creates the schema and the table, if they do not exist: for a migration.
    /// Where both exist, it needs no right to create anything. The owner of both should not be a
    /// role that candidates connect as.
    pub fn schema_sql(&self) -> String {
        // As lease_table.sql does it, and for its reasons.
        format!(
            "DO $body$\n\
             BEGIN\n    \
                 PERFORM {lock};\n    \
                 IF NOT EXISTS (SELECT FROM pg_namespace AS n WHERE n.oid = to_regnamespace('{schema}')) THEN\n        \
                     CREATE SCHEMA {schema};\n    \
                 END IF;\n    \
                 IF to_regclass('{table}') IS NULL THEN\n        \
                     CREATE TABLE {table} (\n            \
                         election text PRIMARY KEY,\n            \
                         token bigint NOT NULL CHECK (token > 0)\n        \
                     );\n    \
                 END IF;\n\
             END\n\
             $body$;\n",
            lock = creation_lock(&self.schema),
            schema = quoted(&self.schema),
            table = self.object()
        )
    }

    /// Statements that grant a role the rights to take over and to write under a fence of this
    /// table, and no more: the role can't remove a fence. `FOR SHARE` needs the right to update
    /// too.
    pub fn grants_sql(&self, role: &str) -> String {
        format!(
            "GRANT USAGE ON SCHEMA {schema} TO {role};\n\
             GRANT SELECT, INSERT, UPDATE ON {table} TO {role};\n",
            schema = quoted(&self.schema),
            table = self.object(),
            role = quoted(role)
        )
    }

    /// The take-over as plain SQL: `$1` is the election (text), `$2` the token (bigint).
    ///
    /// - Send it on its own, outside of any transaction, and before the transaction that reads.
    /// - One row: the resource is taken over. No row: a newer tenure has it.
    /// - An error, or no reply: the outcome is unknown. Repeat the statement until it is known,
    ///   unless the error's class is 22: the database has no text for the election's name.
    pub fn take_over_sql(&self) -> String {
        format!(
            "INSERT INTO {table} AS fence (election, token) VALUES ($1, $2) \
             ON CONFLICT (election) DO UPDATE SET token = excluded.token \
             WHERE fence.token <= excluded.token RETURNING token",
            table = self.object()
        )
    }

    /// The check as plain SQL: `$1` is the election (text), `$2` the token (bigint).
    ///
    /// - Send it once inside each transaction that writes, preferably as its first statement, and
    ///   outside of savepoints. Its lock lasts until the transaction ends.
    /// - The role needs the right to call `pg_export_snapshot()`, which all roles have unless it
    ///   was revoked; servers that only speak PostgreSQL's protocol may lack it. Each check writes
    ///   a small file at the server.
    /// - One row: continue, and commit. No row: the write is refused, so roll back.
    /// - An error: the transaction can't commit any more, so roll back. "Cannot export a snapshot
    ///   from a subtransaction" (25001): the check was inside a savepoint, or a block that handles
    ///   exceptions.
    pub fn check_sql(&self) -> String {
        format!(
            "SELECT token FROM {table} WHERE election = $1 AND token = $2 \
             AND pg_catalog.pg_export_snapshot() IS NOT NULL FOR SHARE",
            table = self.object()
        )
    }

    /// Takes the resource over. Carried out in a transaction of its own, at `READ COMMITTED`,
    /// whatever the session's default is. Waits until no older tenure has a transaction open that
    /// has passed its check.
    ///
    /// # Errors
    /// [`FenceError::Superseded`] if a newer tenure has the resource. [`FenceError::ReadOnly`] if
    /// the session can't write, as at a standby. [`FenceError::Misused`] if the election's key has a
    /// zero byte or a character that the encoding of the database lacks, or no store can have
    /// granted the token. [`FenceError::Unknown`] if the connection broke or the server refused:
    /// repeat the take-over, if need be on another connection, until its outcome is known.
    pub async fn take_over(
        &self,
        client: &mut Client,
        token: Token,
    ) -> Result<TakenOver, FenceError<Error>> {
        let fence = self.election.as_str();
        let number = as_bigint(fence, token)?;
        let begin = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted);
        let transaction = begin.start().await.map_err(without_answer(fence))?;
        let parameters: &[(&(dyn tokio_postgres::types::ToSql + Sync), Type)] =
            &[(&fence, Type::TEXT), (&number, Type::INT8)];
        let rows = transaction.query_typed(&self.take_over_sql(), parameters).await;
        if rows.map_err(without_answer(fence))?.is_empty() {
            let stored = self.stored(&transaction).await.map_err(without_answer(fence))?;
            return Err(refused(fence, token, stored));
        }
        transaction.commit().await.map_err(|error| failed(fence, false, error))?;
        Ok(TakenOver { fence: self.clone(), token, number })
    }

    /// The token that the fence holds, for people and error messages: it may have changed since it
    /// was read.
    async fn stored(&self, transaction: &Transaction<'_>) -> Result<Option<Token>, Error> {
        let sql = format!("SELECT token FROM {} WHERE election = $1", self.object());
        let rows = transaction.query_typed(&sql, &[(&self.election.as_str(), Type::TEXT)]).await?;
        let stored = rows.first().map(|row| row.try_get(0)).transpose()?;
        Ok(stored.and_then(from_bigint))
    }

    fn object(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.table))
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
    /// tenure has the resource; [`FenceError::Unknown`] also where that shows as a serialization
    /// failure. [`FenceError::Misused`] if this is a savepoint, or one is open: check before the
    /// first one. [`FenceError::ReadOnly`] if the transaction can't write.
    pub async fn check(&self, transaction: &Transaction<'_>) -> Result<(), FenceError<Error>> {
        let fence = self.fence.election.as_str();
        let parameters: &[(&(dyn tokio_postgres::types::ToSql + Sync), Type)] =
            &[(&fence, Type::TEXT), (&self.number, Type::INT8)];
        let rows = transaction.query_typed(&self.fence.check_sql(), parameters).await;
        let rows = rows.map_err(|error| match error.code() {
            Some(&SqlState::ACTIVE_SQL_TRANSACTION) => FenceError::Misused {
                fence: fence.to_owned(),
                why: "can't be checked inside a savepoint: a rollback to it would free the check's lock; check before the \
                      savepoint, in the transaction itself"
                    .to_owned(),
            },
            _ => without_answer(fence)(error),
        });
        if !rows?.is_empty() {
            return Ok(());
        }
        let stored = self.fence.stored(transaction).await.map_err(without_answer(fence))?;
        Err(refused(fence, self.token, stored))
    }
}

/// The error for an error of the client's.
fn without_answer(fence: &str) -> impl Fn(Error) -> FenceError<Error> {
    move |error| {
        if let Some(said) = refused_values(&error) {
            let why = format!(
                "can't be stored: {said}; name the election without a zero byte, and with characters that the \
                 encoding of the database has"
            );
            return FenceError::Misused { fence: fence.to_owned(), why };
        }
        let is_read_only = error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION);
        failed(fence, is_read_only, error)
    }
}
