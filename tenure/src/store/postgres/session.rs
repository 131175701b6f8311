//! One physical connection to a primary, set up so that what it acknowledges is kept.
//!
//! The client library is used for its protocol alone: it does not connect, reconnect, retry or
//! wait.

use std::future::poll_fn;
use std::io;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, duplex};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::DbError;
use tokio_postgres::{
    AsyncMessage, Client, NoTls, Notification, SimpleQueryMessage, SimpleQueryRow,
};
use tokio_util::sync::CancellationToken;

use super::config::PostgresConfig;
use super::encryption;
use super::error::{failed, is_fatal};
use crate::logging;
use crate::runtime::Connection;
use crate::store::dial::{Dial, Reached};
use crate::store::progress::{Ask, Progress};
use crate::store::slot;
use crate::store::{StoreError, StoreErrorKind};

/// The oldest server that the functions are written for.
const OLDEST: u32 = 12;

/// The settings that the session must not leave to the server, the database or the user:
///
/// - each statement of a function sees what others committed before it;
/// - a commit is acknowledged when it is on disk, and with the synchronous standbys if there are
///   any;
/// - the server says so when it gave up waiting for them;
/// - a statement does not wait long for a lock, since all that come after it wait with it;
/// - whether leases are granted although the server reports `fsync = off`: read by the functions,
///   and always set, so that no other setting of the user counts;
/// - rows are found by their keys: a plan that was made while the table was nearly empty would read
///   all of it;
/// - no statement is compiled: reading all of a table counts as so costly then, also where there is
///   no other way, that the server would compile such a statement each time, for longer than a
///   plain statement may take;
/// - a backend whose client has gone does not work for ever, if the server can notice that: from
///   version 14 on, and not on every system;
/// - nor does it wait for hours for the rest of a request, with a row locked, if the client
///   vanished half way through it.
///
/// Nothing is set unless the process that carries this out is the one that the server named when
/// the connection began. A pooler names itself there, and then uses its own sessions with the
/// server.
///
/// All of it is one message, and so one round trip, and reaches one session even behind a pooler.
const SET_UP: &str = "
    DO $body$ BEGIN
        IF pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) {pid} THEN
            PERFORM pg_catalog.set_config('search_path', 'pg_catalog', false);
            PERFORM set_config('default_transaction_isolation', 'read committed', false);
            PERFORM set_config('client_min_messages', 'warning', false);
            PERFORM set_config('lock_timeout', '{lock_timeout}', false);
            PERFORM set_config('elections.accepts_fsync_off', '{accepts_fsync_off}', false);
            PERFORM set_config(setting, 'off', false) FROM unnest(ARRAY[
                'jit', 'enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) AS setting;
            IF current_setting('synchronous_commit') <> 'remote_apply' THEN
                PERFORM set_config('synchronous_commit', 'on', false);
            END IF;
            BEGIN
                PERFORM set_config('client_connection_check_interval', '1s', false);
            EXCEPTION WHEN OTHERS THEN NULL;
            END;
            BEGIN
                PERFORM set_config('tcp_keepalives_idle', '10', false);
                PERFORM set_config('tcp_keepalives_interval', '5', false);
                PERFORM set_config('tcp_keepalives_count', '3', false);
            EXCEPTION WHEN OTHERS THEN NULL;
            END;
        END IF;
    END $body$;
    SELECT pg_backend_pid(), current_setting('server_version_num'), pg_is_in_recovery(),
            current_setting('default_transaction_read_only');
    {query}";

/// A connection that was working when last seen.
pub(super) struct Session {
    pub(super) client: Arc<Client>,
    /// Cancelled once the connection is known or suspected to be unusable.
    pub(super) dead: CancellationToken,
    pub(super) progress: Progress,
    reached: Reached,
    unreplicated: Arc<AtomicBool>,
    /// True if a request over it has succeeded.
    served: AtomicBool,
    /// The process that the server named when the connection began.
    pid: i32,
}

impl Session {
    /// Opens a session that ends with `dead`, and is not [set up](Self::set_up) yet. The caller
    /// bounds the time.
    pub(super) async fn open(
        config: &PostgresConfig,
        dial: &Dial,
        dead: CancellationToken,
        heard: impl Fn(&Notification) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let PostgresConfig { host, port, .. } = config;
        let runtime = dial.runtime();
        // Before the server is reached: it would have to wait.
        let identity = config.login.now(&**runtime, config.connect_timeout).await?;
        let opening = runtime.now();
        let (mut stream, mut reached) = dial.connect(host, *port).await.map_err(|error| {
            let detail = format!("{host}:{port}: {}", why(&error));
            StoreError::new(StoreErrorKind::Unreachable, detail).with_source(error)
        })?;
        if let Some(tls) = &config.tls {
            stream = encryption::begin(host, stream, tls).await?;
        }
        let mut settings = tokio_postgres::Config::new();
        settings
            .user(identity.username.as_ref().unwrap_or(&config.user))
            .dbname(&config.database)
            .application_name(&config.application_name);
        // This is about the library's own TLS: the stream is encrypted already, or not meant to be.
        settings.ssl_mode(SslMode::Disable);
        if let Some(password) = &identity.password {
            settings.password(password.reveal());
        }
        let (client, connection) =
            settings.connect_raw(stream, NoTls).await.map_err(|error| failed(config, &error))?;
        let unreplicated = Arc::new(AtomicBool::new(false));
        let driven = drive(connection, dead.clone(), heard, Arc::clone(&unreplicated));
        runtime.spawn(driven.boxed());
        let half_way = dead.clone().drop_guard();
        let pid = backend_pid(&client).await?;
        half_way.disarm();
        reached.has_spoken();
        let (client, served) = (Arc::new(client), AtomicBool::new(false));
        // Requests wait for locks of others.
        let progress = Progress::since(opening, runtime, &dead, empty_query(&client)).asks_always();
        Ok(Self { client, dead, progress, reached, unreplicated, served, pid })
    }

    /// Makes the settings and checks the server, and that no pooler is in between. `query` is sent
    /// in the same round trip, and its rows are returned.
    pub(super) async fn set_up(
        &self,
        config: &PostgresConfig,
        query: &str,
    ) -> Result<Vec<SimpleQueryRow>, StoreError> {
        let sql = SET_UP
            .replace("{pid}", &self.pid.to_string())
            .replace("{lock_timeout}", &config.lock_timeout.as_millis().max(1).to_string())
            .replace("{accepts_fsync_off}", if config.accepts_fsync_off { "on" } else { "off" })
            .replace("{query}", query);
        // A round trip, which tells how long an answer takes.
        let unanswered = self.progress.expects();
        let answers = self.client.simple_query(&sql).await;
        unanswered.answered();
        let answers = answers.map_err(|error| failed(config, &error))?;
        let mut rows = rows(answers);
        let first = if rows.is_empty() { None } else { Some(rows.remove(0)) };
        let unexpected = || StoreError::new(StoreErrorKind::UnexpectedReply, "to the first query");
        let first = first.ok_or_else(unexpected)?;
        let pid: i32 = number(&first, 0).ok_or_else(unexpected)?;
        if pid != self.pid {
            let detail = format!(
                "the session is served by process {pid}, and the connection began with {}; connect to \
                 the server itself",
                self.pid
            );
            return Err(StoreError::new(StoreErrorKind::Pooler, detail));
        }
        is_known(number(&first, 1).ok_or_else(unexpected)?)?;
        if first.get(2) != Some("f") {
            self.reached.is_wrong();
            return Err(StoreError::new(StoreErrorKind::NotPrimary, "it is in recovery"));
        }
        if first.get(3) != Some("off") {
            let detail = "default_transaction_read_only is on for this user, database or server, and \
                leases are written: set it to off for a user of their own (ALTER ROLE .. SET ..)";
            return Err(StoreError::new(StoreErrorKind::Refused, detail));
        }
        Ok(rows)
    }

    /// A request over it has succeeded.
    pub(super) fn serves(&self) {
        self.served.store(true, Ordering::Relaxed);
    }

    /// Checks that an answer that has come was replicated.
    ///
    /// # Errors
    /// If the server gave up waiting for its synchronous standbys: an acknowledged write may be
    /// lost in a failover. The server reports that before its answer is complete, but not for which
    /// answer.
    pub(super) fn is_replicated(&self) -> Result<(), StoreError> {
        if self.unreplicated.load(Ordering::Acquire) {
            let detail = "it gave up waiting for a synchronous standby";
            return Err(StoreError::new(StoreErrorKind::NotDurable, detail));
        }
        Ok(())
    }
}

impl slot::Connection for Session {
    fn dead(&self) -> &CancellationToken {
        &self.dead
    }

    fn has_served(&self) -> bool {
        self.served.load(Ordering::Relaxed)
    }

    fn is_wrong(&self) {
        self.reached.is_wrong();
    }
}

/// The question whether the server is still there. A refusal is an answer.
fn empty_query(client: &Arc<Client>) -> Ask {
    let client = Arc::clone(client);
    Box::new(move || {
        let client = Arc::clone(&client);
        async move {
            let answer = client.simple_query("").await;
            answer.map_or_else(|error| !is_fatal(&error), |_| true)
        }
        .boxed()
    })
}

/// The process that the server named when the connection began. The client library does not show
/// that number, but it is part of the message that would cancel a request.
async fn backend_pid(client: &Client) -> Result<i32, StoreError> {
    let (mut ours, theirs) = duplex(1024);
    // Length, code, process; a secret follows.
    let mut request = [0; 12];
    let written = client.cancel_token().cancel_query_raw(theirs, NoTls).await;
    if written.is_err() || ours.read_exact(&mut request).await.is_err() {
        let detail = "no process to cancel";
        return Err(StoreError::new(StoreErrorKind::UnexpectedReply, detail));
    }
    let [_, _, _, _, _, _, _, _, pid @ ..] = request;
    Ok(i32::from_be_bytes(pid))
}

/// The failure to open a connection, by the library's error.
fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "refused; nothing listens there".into(),
        io::ErrorKind::TimedOut => "no answer".into(),
        // Errors of the system have a number; errors of the name resolution have none.
        _ if error.raw_os_error().is_none() => format!("the name was not found ({error})"),
        _ => error.to_string(),
    }
}

/// The rows among the answers to a simple query, of all statements.
pub(super) fn rows(answers: Vec<SimpleQueryMessage>) -> Vec<SimpleQueryRow> {
    let rows = answers.into_iter().filter_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    rows.collect()
}

pub(super) fn number<T: FromStr>(row: &SimpleQueryRow, index: usize) -> Option<T> {
    row.try_get(index).ok()??.parse().ok()
}

fn is_known(version: u32) -> Result<(), StoreError> {
    let major = version / 10_000;
    if major < OLDEST {
        let detail = format!("the server is PostgreSQL {major}; it must be {OLDEST} or later");
        return Err(StoreError::new(StoreErrorKind::UnsupportedVersion, detail));
    }
    Ok(())
}

/// Moves bytes until the connection ends or is condemned.
async fn drive(
    mut connection: tokio_postgres::Connection<Connection, tokio_postgres::tls::NoTlsStream>,
    dead: CancellationToken,
    heard: impl Fn(&Notification),
    unreplicated: Arc<AtomicBool>,
) {
    loop {
        let message = tokio::select! {
            biased;
            () = dead.cancelled() => break,
            message = poll_fn(|context| connection.poll_message(context)) => message,
        };
        match message {
            Some(Ok(AsyncMessage::Notification(notification))) => heard(&notification),
            Some(Ok(AsyncMessage::Notice(notice))) => {
                if is_about_replication(&notice) {
                    // Before the answer can be complete to which the notice belongs.
                    unreplicated.store(true, Ordering::Release);
                    dead.cancel();
                } else {
                    logging::debug!(notice = notice.message(), "a notice of the server");
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                logging::debug!(%error, "the connection broke");
                break;
            }
            None => break,
        }
    }
    dead.cancel();
}

/// The text is in the server's language, but the routine's name is not.
fn is_about_replication(notice: &DbError) -> bool {
    notice.routine() == Some("SyncRepWaitForLSN")
        || notice.message().contains("synchronous replication")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_are_refused() {
        for known in [120_000, 150_014, 180_001] {
            is_known(known).unwrap();
        }
        let error = is_known(110_022).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::UnsupportedVersion);
        assert!(error.to_string().contains("is PostgreSQL 11; it must be 12 or later"), "{error}");
    }
}
