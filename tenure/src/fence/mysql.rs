//! A fence in a MariaDB or MySQL database, for writes inside the user's own transactions.
//!
//! The fence is a row of a small table, one for each election, at the server that it guards.
//!
//! ```no_run
//! # async fn example(conn: &mut mysql_async::Conn, tenure: tenure::Tenure)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! use mysql_async::{TxOpts, prelude::Queryable};
//! use tenure::fence::mysql::Fence;
//! use tenure::store::Key;
//!
//! let fence = Fence::new(&Key::new("nightly-report")?);
//! conn.query_drop(fence.schema_sql()).await?;                             // or in a migration
//!
//! let taken = fence.take_over(conn, tenure.token()).await?;               // first
//! while tenure.is_current() {
//!     let mut transaction = conn.start_transaction(TxOpts::new()).await?; // any isolation level
//!     if let Err(error) = taken.check(&mut transaction).await {
//!         transaction.rollback().await?; // a dropped one keeps its locks for a while
//!         return Err(error.into());
//!     }
//!     transaction.query_drop("UPDATE jobs SET next = next + 1").await?;
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
//! The check is itself a write: it counts in the fence's row. Whatever the isolation level is, a
//! write finds the newest committed row, and locks it until its transaction ends. So a take-over
//! waits for every transaction that has passed the check, and a transaction that checks after a
//! take-over finds the new token, however old its snapshot is. (With MariaDB's
//! `innodb_snapshot_isolation`, a check with an older snapshot fails, with the error 1020.)
//!
//! A lock without a write would let transactions of one tenure run at the same time, as in
//! PostgreSQL, but it is worth less here. `XA PREPARE` gives up shared locks, and a prepared
//! transaction outlives its session. A Galera cluster, or a group with several primaries, decides
//! between the commits of two nodes by the rows that they have *written*. With a write of the same
//! row in both, one of them fails.
//!
//! So **transactions of one tenure wait for each other**, from the check to the commit. Check as
//! the last statement before the commit to make that short: the check is good for the whole
//! transaction wherever it stands, and a refused one is rolled back.
//!
//! **The take-over must have committed before the reading transaction begins**: the snapshot of a
//! transaction that was open before may lack what an older tenure wrote. [`Fence::take_over`] needs
//! the connection for itself, and refuses one with a transaction open.
//!
//! # Savepoints and XA
//!
//! **Check outside of savepoints**, as in a nested transaction of many clients: before the first one,
//! or after the last. A rollback to a savepoint undoes a check inside it. Where the transaction has
//! begun with the savepoint, the lock is gone too, and nothing excludes a take-over. No server tells
//! that there is a savepoint, so such a check is not refused. A check before the savepoint stands.
//!
//! XA transactions are guarded: a take-over waits for a prepared one until it is committed or rolled
//! back, also over a restart of the server.
//!
//! # Not guarded
//!
//! - **What is written after the transaction has ended.** Statements such as `CREATE TABLE`,
//!   `LOCK TABLES` and another `START TRANSACTION` commit the transaction; a deadlock (1213) and a
//!   changed record (1020) roll it back. What follows on the connection is a transaction of its own,
//!   and was not checked. After an error, roll back, begin anew, and check again.
//! - **Tables of other engines than InnoDB**: their changes are no part of a transaction.
//! - **A fence without its table's definition**: a table of another engine, or without its primary
//!   key, can't be taken over, but a tenure that has taken over before does not notice the change.
//!   A trigger of the table must not change what the check writes.
//!
//! # Waiting for a paused leader
//!
//! A take-over waits as long as an older tenure's transaction stays open with its check passed.
//! Where the old leader is paused, or its machine is gone, that is until the server ends the
//! session. Set MariaDB's `idle_write_transaction_timeout` in the sessions that write, to about the
//! TTL; MySQL has `wait_timeout` alone. A take-over's own wait is bounded by the session's
//! `innodb_lock_wait_timeout` (50 s by default); running into it is an unknown outcome, so repeat
//! the take-over.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Row, Transaction, Value};

use super::{FenceError, as_bigint, failed, from_bigint, refused};
use crate::settings::{Fault, Setting};
use crate::store::mysql::{EXCLUDED, failed as stores_error, grant, hex, is_on};
use crate::store::{Key, StoreErrorKind, name_without};
use crate::{SettingError, Token};

const DATABASE: Setting<String> = setting("the database of the fences", "app");
const TABLE: Setting<String> = setting("the table of the fences", "tenure_fences");

/// A name that needs no escapes in a statement.
const fn setting(what: &'static str, example: &'static str) -> Setting<String> {
    let named: fn(&str) -> Result<String, Fault> = |text| name_without::<64>(text, EXCLUDED);
    Setting::part(what, named).must("1 to 64 bytes without ` ' \\ / . and zero", example)
}

/// Transaction characteristics can't be changed while a transaction is in progress.
const IN_TRANSACTION: u16 = 1568;

/// The fence of one election.
#[derive(Clone, Debug)]
#[must_use]
pub struct Fence {
    election: Key,
    database: Option<String>,
    table: String,
}

impl Fence {
    /// The fence of that election, in the table `tenure_fences` of the connection's database.
    pub fn new(election: &Key) -> Self {
        Self { election: election.clone(), database: None, table: "tenure_fences".into() }
    }

    /// Keeps the fence in another table, whatever the connection's database is. All candidates of
    /// the election must use the same one.
    ///
    /// # Errors
    /// If a name is empty, longer than 64 bytes, or has one of the characters `` ` ' \ / . `` or
    /// zero.
    pub fn in_table(self, database: &str, table: &str) -> Result<Self, SettingError> {
        let (database, table) = (Some(DATABASE.check(database)?), TABLE.check(table)?);
        Ok(Self { database, table, ..self })
    }

    /// A statement that creates the table, if it does not exist: for a migration. It needs the right
    /// to create tables even where the table exists, and commits a transaction that is open.
    pub fn schema_sql(&self) -> String {
        format!(
            "CREATE TABLE IF NOT EXISTS {} (election VARBINARY(512) NOT NULL PRIMARY KEY, token BIGINT NOT NULL CHECK \
             (token > 0), checks BIGINT UNSIGNED NOT NULL DEFAULT 0) ENGINE=InnoDB;\n",
            self.object()
        )
    }

    /// A statement that grants an account the rights to take over and to write under a fence of this
    /// table, and no more: the account can't remove a fence. The account is a name, or a name, `@`
    /// and the hosts that it comes from, such as `app@10.0.%`.
    pub fn grants_sql(&self, account: &str) -> String {
        grant(&self.object(), account) + ";\n"
    }

    /// The take-over as plain SQL, in two statements: the first `?` of each is the election (its
    /// bytes in UTF-8), the second the token (a signed number).
    ///
    /// - Send the first, and then the second, each on its own: with `autocommit` on, outside of any
    ///   transaction, and before the transaction that reads.
    /// - One row from the second: the resource is taken over. No row: it is not. A newer tenure has
    ///   it; or the table has another engine than InnoDB or no primary key, the server is
    ///   read-only, or a transaction is open (which MySQL does not tell).
    /// - An error, or no reply: the outcome is unknown. Repeat both until it is known, at another
    ///   server if this one is read-only (1290).
    /// - An account that may write at read-only servers (`SUPER`, `READ_ONLY ADMIN`) must not send
    ///   the first to a replica: it would be carried out.
    #[must_use]
    pub fn take_over_sql(&self) -> [String; 2] {
        let confirmed = format!(
            "SELECT token FROM {table} WHERE election = ? AND token = ? AND CONCAT(@@read_only) IN ('0', 'OFF') AND {fit} = 1 \
             AND @@autocommit = 1 /*M! AND @@in_transaction = 0 */ FOR UPDATE",
            table = self.object(),
            fit = self.is_fit()
        );
        [self.announcement("?", "?"), confirmed]
    }

    /// The check as plain SQL: the first `?` is the election (its bytes in UTF-8), the second the
    /// token (a signed number).
    ///
    /// - Send it once inside each transaction that writes, outside of savepoints: as its first
    ///   statement, so that little is done for nothing, or as its last one, so that transactions of
    ///   one tenure wait for each other's commits alone. Its lock lasts until the transaction ends.
    /// - One row changed: continue, and commit. None: the write is refused, so roll back. None is
    ///   also changed outside of a transaction; MySQL changes one there, and guards nothing.
    /// - An error: roll back, and begin the transaction anew, with its check. The server may have
    ///   ended the transaction: a statement that is only repeated is then no part of it.
    #[must_use]
    pub fn check_sql(&self) -> String {
        self.counting("?", "?")
    }

    /// Takes the resource over, in a transaction of its own. Waits until no older tenure has a
    /// transaction open that has passed its check, for `innodb_lock_wait_timeout` at most.
    ///
    /// # Errors
    /// [`FenceError::Superseded`] if a newer tenure has the resource. [`FenceError::ReadOnly`] if
    /// the session can't write, as at a replica. [`FenceError::Misused`] if a transaction is open on
    /// the connection, the fence's table is another one than [`schema_sql`](Self::schema_sql)
    /// creates, or no store can have granted the token. [`FenceError::Unknown`] if the connection
    /// broke or the server refused, also by a lock wait timeout (1205), a deadlock or another node's
    /// commit (1213): repeat the take-over, if need be on another connection, until its outcome is
    /// known.
    pub async fn take_over(
        &self,
        conn: &mut Conn,
        token: Token,
    ) -> Result<TakenOver, FenceError<Error>> {
        let fence = self.election.as_str();
        let number = as_bigint(fence, token)?;
        if self.examine(conn).await? {
            return Err(self.misused(INSIDE));
        }
        let sql = format!(
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE; START TRANSACTION; {}; {} FOR UPDATE; COMMIT",
            self.announcement(&self.literal(), &number.to_string()),
            self.stored()
        );
        match ask(conn, sql).await {
            Ok(answers) => match answers.token() {
                Some(stored) if stored == number => {
                    Ok(TakenOver { fence: self.clone(), token, number })
                }
                Some(stored) if stored > number => Err(refused(fence, token, from_bigint(stored))),
                Some(_) | None => Err(self.misused(ALTERED)),
            },
            Err(Error::Server(error)) if error.code == IN_TRANSACTION => Err(self.misused(INSIDE)),
            Err(error) => {
                // Otherwise what was locked stays so until the connection is used again.
                if !error.is_fatal() {
                    let _ = conn.query_drop("ROLLBACK").await;
                }
                Err(without_answer(fence)(error))
            }
        }
    }

    /// The first statement of a take-over. It has the same effect on all servers, so a log of
    /// statements may replicate it, and none if it is late or repeated.
    fn announcement(&self, election: &str, token: &str) -> String {
        format!(
            "INSERT INTO {} (election, token) VALUES ({election}, {token}) ON DUPLICATE KEY UPDATE token = GREATEST(token, \
             VALUES(token))",
            self.object()
        )
    }

    /// The check. Of an odd session it changes nothing: MariaDB alone reads the comment.
    fn counting(&self, election: &str, token: &str) -> String {
        format!(
            "UPDATE {} SET checks = checks + 1 WHERE election = {election} AND token = {token} AND CONCAT(@@read_only) IN \
             ('0', 'OFF') /*M! AND @@in_transaction = 1 */",
            self.object()
        )
    }

    /// A read of the fence's token.
    fn stored(&self) -> String {
        format!("SELECT token FROM {} WHERE election = {}", self.object(), self.literal())
    }

    /// An expression that is 1 if the table is what the fence rests on.
    fn is_fit(&self) -> String {
        let database = self.database.as_ref().map_or("DATABASE()".into(), |it| format!("'{it}'"));
        let of_table = format!("TABLE_SCHEMA = {database} AND TABLE_NAME = '{}'", self.table);
        format!(
            "((SELECT MIN(COALESCE(ENGINE, '') = 'InnoDB') FROM information_schema.TABLES WHERE {of_table}) AND (SELECT \
             MIN(COLUMN_KEY = 'PRI') FROM information_schema.COLUMNS WHERE {of_table} AND COLUMN_NAME = 'election'))"
        )
    }

    /// Refuses a server or a table on which the fence would not hold. True if a transaction is open,
    /// as far as the server tells.
    async fn examine(&self, conn: &mut impl Queryable) -> Result<bool, FenceError<Error>> {
        let fence = self.election.as_str();
        let sql =
            format!("SELECT CONCAT(@@read_only), {}, 0 /*M! + @@in_transaction */", self.is_fit());
        let row: Option<(String, Option<i64>, i64)> =
            conn.query_first(sql).await.map_err(without_answer(fence))?;
        let (read_only, is_fit, open) = row.unwrap_or_default();
        if is_on(&read_only) {
            // An account with more rights may write there.
            let source = Error::Other("the server's read_only is on".into());
            return Err(failed(fence, true, source));
        }
        // Of a missing table there is nothing to see: statements that need it are refused.
        if is_fit == Some(0) {
            return Err(self.misused(UNFIT));
        }
        Ok(open == 1)
    }

    fn misused(&self, why: &str) -> FenceError<Error> {
        FenceError::Misused { fence: self.election.as_str().to_owned(), why: why.to_owned() }
    }

    fn literal(&self) -> String {
        hex(self.election.as_str().as_bytes())
    }

    fn object(&self) -> String {
        let database = self.database.as_ref().map(|it| format!("`{it}`.")).unwrap_or_default();
        format!("{database}`{}`", self.table)
    }
}

const UNFIT: &str = "can't be kept in this table: it must have the engine InnoDB, and `election` as its primary key; drop it, \
                     and create it by Fence::schema_sql";
const INSIDE: &str = "can't be taken over inside a transaction, which may have read what an older tenure changes: commit it \
                      or roll it back first";
const OUTSIDE: &str = "can't be checked outside of a transaction: a statement such as CREATE TABLE has committed it, or an \
                       error has rolled it back; begin another one, and check there";
const ALTERED: &str = "does not have what was written there: a trigger changes it (drop it), or others have replaced it since";

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
    /// Once this has returned `Ok`, the transaction may commit. Waits for other transactions of this
    /// tenure that have passed their check.
    ///
    /// # Errors
    /// The transaction must then not be committed: roll it back. A `Transaction` that is only
    /// dropped keeps its locks until its connection is used again or ends.
    /// [`FenceError::Superseded`] if a newer tenure has the resource; [`FenceError::Unknown`] also
    /// where that shows as a deadlock or a changed record. [`FenceError::Misused`] if the
    /// transaction has ended, as far as the server tells. [`FenceError::ReadOnly`] if it can't
    /// write.
    pub async fn check(&self, transaction: &mut Transaction<'_>) -> Result<(), FenceError<Error>> {
        let Self { fence, token, number } = self;
        let name = fence.election.as_str();
        let sql = format!(
            "{}; {} FOR UPDATE",
            fence.counting(&fence.literal(), &number.to_string()),
            fence.stored()
        );
        let answers = ask(transaction, sql).await.map_err(without_answer(name))?;
        let stored = answers.token();
        let is_own = stored == Some(*number);
        if is_own && answers.changed == 1 {
            return Ok(());
        }
        if !is_own {
            return Err(refused(name, *token, stored.and_then(from_bigint)));
        }
        let is_open = fence.examine(transaction).await?;
        Err(fence.misused(if is_open { ALTERED } else { OUTSIDE }))
    }
}

/// The answers to the statements of one message.
#[derive(Default)]
struct Answers {
    /// The number of rows that the first one has changed.
    changed: u64,
    /// The rows of all.
    rows: Vec<Row>,
}

impl Answers {
    /// The token in the only row. Answers in text have nothing but bytes and nulls.
    fn token(&self) -> Option<i64> {
        let [row] = &self.rows[..] else { return None };
        let Some(Value::Bytes(digits)) = row.as_ref(0) else { return None };
        str::from_utf8(digits).ok()?.parse().ok()
    }
}

/// Sends statements as one message: a caller that gives up does not leave half of them undone.
async fn ask(conn: &mut impl Queryable, sql: String) -> Result<Answers, Error> {
    let mut result = conn.query_iter(sql).await?;
    let mut answers = Answers { changed: result.affected_rows(), rows: Vec::new() };
    while !result.is_empty() {
        // Collecting rows goes on to the next statement.
        answers.rows.extend(result.collect::<Row>().await?);
    }
    // The error of a statement after the first looks like the end until then.
    result.drop_result().await?;
    Ok(answers)
}

/// The error for an error of the client's.
fn without_answer(fence: &str) -> impl Fn(Error) -> FenceError<Error> {
    move |error| {
        let is_read_only = stores_error(&error).kind() == StoreErrorKind::NotPrimary;
        failed(fence, is_read_only, error)
    }
}
