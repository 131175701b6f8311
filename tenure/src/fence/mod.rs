//! Fences: they make a resource refuse the writes of tenures that are over.
//!
//! A check of leadership says nothing about the moment after it: a leader may be paused between the
//! check and its write, and another candidate may lead by then. Only the resource that is written
//! to can distinguish them, by the tenure's fencing token. Refusing lower tokens is not enough: a
//! new leader that reads before the resource has seen its token can be overtaken by a last write of
//! the old one, and then acts on outdated data: a job runs twice. So a tenure does three things, in
//! this order:
//!
//! 1. **Take the resource over** with the tenure's token. The fence accepts a token that is at
//!    least the stored one, and stores it. The outcome must be known: while it is not, repeat the
//!    take-over.
//! 2. **Read** the data that the work depends on.
//! 3. **Write.** A write is accepted only if the stored token *equals* the tenure's own, in one
//!    atomic step with the write itself. A write never changes the stored token.
//!
//! This guarantees (promise G4): between the take-over and the last accepted write of a tenure the
//! resource accepts no write of any other tenure, so what the tenure reads stays true until it
//! changes it.
//!
//! The modules here are fences for four kinds of resources. Each mints a `TakenOver` only from a
//! take-over whose outcome is known, and each write goes through that value:
//!
//! - `postgres`: inside the user's own transaction, as plain SQL for any client, with a helper for
//!   `tokio-postgres`;
//! - `mysql`: the same in MariaDB and MySQL, with a helper for `mysql_async`;
//! - `redis`: a prelude for the user's own Lua script, with `get`, `set` and `delete`;
//! - `sqlite`: inside the user's own `rusqlite` transaction.
//!
//! # What is not guaranteed
//!
//! - **A fence orders tenures, not the requests of one tenure.** A write whose reply was lost, and
//!   that is sent again, may be carried out twice: make it idempotent, or look before repeating it.
//! - A fence guards what is written in the same database, in the same atomic step. An e-mail, or a
//!   file, that is written after the check is not guarded.
//! - Tokens of one election can be compared; tokens of two elections can't. Keep one fence for each
//!   election, and guard one resource by one election.
//! - A fence does not know where its tenure reads. What a replica returns may be older than the
//!   take-over: read at the primary, or look whether the take-over has arrived (`docs/fencing.md`
//!   has the statement).
//! - A fence requires increasing tokens (promise G3). A database that loses acknowledged commits
//!   loses the fence together with what it guards: writes are then refused, with
//!   [`FenceError::Lost`], until the leader has taken the resource over again, and has read it
//!   anew.

use crate::Token;

#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "redis-without-tls", feature = "fred"))]
pub mod redis;
#[cfg(feature = "sqlite")]
pub mod sqlite;

/// The refusal of a take-over or a write, or its unknown outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FenceError<E: std::error::Error + 'static> {
    /// A newer tenure has taken the resource over. Nothing was written; the tenure is over.
    #[error(
        "the fence {fence:?} holds token {stored}, which is above this tenure's token {token}: a newer tenure has \
         taken the resource over"
    )]
    Superseded {
        /// The fence's name: its election, or its Redis key.
        fence: String,
        /// This tenure's token.
        token: Token,
        /// The stored token.
        stored: Token,
    },
    /// The fence no longer knows the take-over: its database lost data, or its row or key was
    /// removed. Nothing was written. Take the resource over again, and read it anew.
    #[error(
        "the fence {fence:?} holds {}, not this tenure's token {token}: the take-over was lost; take the resource \
         over again, and read it anew",
        .stored.map_or_else(|| "no token".to_owned(), |stored| format!("token {stored}"))
    )]
    Lost {
        /// The fence's name: its election, or its Redis key.
        fence: String,
        /// This tenure's token.
        token: Token,
        /// The stored token, if there is one.
        stored: Option<Token>,
    },
    /// This fence can't be used so: its token is above the highest that a `bigint` has; its
    /// election's key has a zero byte or a character for which PostgreSQL has no text; the check was
    /// made inside a savepoint, a rollback to which would end it; a Redis cluster keeps it in
    /// another slot than the script's keys; or in MariaDB and MySQL, its table is another one than
    /// it creates, or a transaction is open or has ended. Nothing was taken over or checked, and a
    /// repetition does not help: the text says what to change.
    #[error("the fence {fence:?} {why}")]
    Misused {
        /// The fence's name: its election, or its Redis key.
        fence: String,
        /// The reason, and the remedy.
        why: String,
    },
    /// The session can't write: it is at a replica, or is read-only. Nothing was taken over,
    /// checked or written. What is read at a replica may be older than the take-over.
    #[error(
        "the fence {fence:?} can't be taken over or checked in a read-only session or at a replica: use a session that \
         may write, at the primary"
    )]
    ReadOnly {
        /// The fence's name: its election, or its Redis key.
        fence: String,
        /// The client's or server's error.
        #[source]
        source: E,
    },
    /// The step may have been carried out. Repeat a take-over until its outcome is known; look
    /// before repeating a write.
    #[error("whether the step at the fence {fence:?} was carried out is unknown")]
    Unknown {
        /// The fence's name: its election, or its Redis key.
        fence: String,
        /// The client's or server's error.
        #[source]
        source: E,
    },
}

/// The error for a refusal.
#[cfg(any(
    feature = "redis-without-tls",
    feature = "mysql",
    feature = "postgres",
    feature = "sqlite"
))]
fn refused<E: std::error::Error + 'static>(
    fence: &str,
    token: Token,
    stored: Option<Token>,
) -> FenceError<E> {
    let fence = fence.to_owned();
    match stored {
        Some(stored) if stored > token => FenceError::Superseded { fence, token, stored },
        Some(_) | None => FenceError::Lost { fence, token, stored },
    }
}

/// The error for a client's error that shows, if `is_read_only`, that the session can't write.
#[cfg(any(
    feature = "redis-without-tls",
    feature = "mysql",
    feature = "postgres",
    feature = "sqlite"
))]
fn failed<E: std::error::Error + 'static>(
    fence: &str,
    is_read_only: bool,
    source: E,
) -> FenceError<E> {
    let fence = fence.to_owned();
    if is_read_only {
        FenceError::ReadOnly { fence, source }
    } else {
        FenceError::Unknown { fence, source }
    }
}

/// The token as SQL databases store it.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
fn as_bigint<E: std::error::Error + 'static>(
    fence: &str,
    token: Token,
) -> Result<i64, FenceError<E>> {
    i64::try_from(token).map_err(|error| FenceError::Misused {
        fence: fence.to_owned(),
        why: format!(
            "can't store the token: {error}; no store grants such a token: give a tenure's own"
        ),
    })
}

/// A token as SQL databases store it.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
fn from_bigint(stored: i64) -> Option<Token> {
    Token::try_from(stored).ok()
}
