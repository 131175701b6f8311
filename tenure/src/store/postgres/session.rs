//! One physical connection to a primary, set up so that what it acknowledges is kept.
//!
//! The client library is used for its protocol alone: it does not connect, reconnect, retry or wait.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::DbError;
use tokio_postgres::{AsyncMessage, Client, NoTls, Notification, SimpleQueryMessage};
use tokio_util::sync::CancellationToken;

use super::PostgresConfig;
use super::error::failed;
use crate::runtime::{Connection, Runtime};
use crate::store::{StoreError, StoreErrorKind};
use crate::tls::TlsConfig;

/// The oldest server that the functions are written for.
const OLDEST: u32 = 12;

/// What the session must not leave to settings of the server, the database or the user:
///
/// - each statement of a function sees what others committed before it, and may write;
/// - a commit is acknowledged when it is on disk, and with the synchronous standbys if there are any;
/// - the server says so when it gave up waiting for them;
/// - a backend whose client has gone does not wait for locks for ever, if the server can notice that: from
///   version 14 on, and not on every system.
const SETTINGS: &str = "
    SET default_transaction_isolation TO 'read committed';
    SET default_transaction_read_only TO off;
    SET search_path TO pg_catalog;
    SET client_min_messages TO warning;
    SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') <> 'remote_apply';
    DO $$ BEGIN PERFORM set_config('client_connection_check_interval', '1s', false);
        EXCEPTION WHEN OTHERS THEN NULL; END $$;
    SELECT current_setting('server_version_num'), pg_is_in_recovery()";

/// A connection that was working when last seen.
pub(super) struct Session {
    pub(super) client: Client,
    /// Cancelled once the connection is known or suspected to be of no more use.
    pub(super) dead: CancellationToken,
    unreplicated: Arc<AtomicBool>,
}

impl Session {
    /// Opens one, which ends with `dead`, and is not [set up](Self::set_up) yet. Whoever opens it bounds
    /// the time.
    pub(super) async fn open(
        config: &PostgresConfig,
        runtime: &dyn Runtime,
        dead: CancellationToken,
        heard: impl Fn(&Notification) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let PostgresConfig { host, port, .. } = config;
        let mut stream = runtime.connect(host, *port).await.map_err(|error| {
            StoreError::new(StoreErrorKind::Unreachable, format!("{host}:{port}"))
                .with_source(error)
        })?;
        if let Some(tls) = &config.tls {
            stream = encrypted(host, stream, tls).await?;
        }
        let mut settings = tokio_postgres::Config::new();
        settings.user(&config.user).dbname(&config.database).application_name("tenure");
        // Of the library's own TLS: the stream is encrypted already, or shall not be.
        settings.ssl_mode(SslMode::Disable);
        if let Some(password) = &config.password {
            settings.password(password.reveal());
        }
        let (client, connection) =
            settings.connect_raw(stream, NoTls).await.map_err(|error| failed(config, &error))?;
        let unreplicated = Arc::new(AtomicBool::new(false));
        let driven = drive(connection, dead.clone(), heard, Arc::clone(&unreplicated));
        runtime.spawn(driven.boxed());
        Ok(Self { client, dead, unreplicated })
    }

    /// Sees to the settings, and to what kind of server it is.
    pub(super) async fn set_up(&self, config: &PostgresConfig) -> Result<(), StoreError> {
        let told = self.client.simple_query(SETTINGS).await;
        is_fit(&told.map_err(|error| failed(config, &error))?)
    }

    /// Whether an answer that has come says what it seems to say.
    ///
    /// # Errors
    /// If the server gave up waiting for its synchronous standbys: what it acknowledged may be lost in a
    /// failover. It says so before its answer is complete, but not which answer it means.
    pub(super) fn is_replicated(&self) -> Result<(), StoreError> {
        if self.unreplicated.load(Ordering::Acquire) {
            let detail = "it gave up waiting for a synchronous standby";
            return Err(StoreError::new(StoreErrorKind::NotDurable, detail));
        }
        Ok(())
    }
}

/// The server's version, and whether it is a standby, are the last that it answers to [`SETTINGS`]. A
/// primary does not become a standby without ending its connections.
fn is_fit(answers: &[SimpleQueryMessage]) -> Result<(), StoreError> {
    let last = answers.iter().rev().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => Some((row.get(0)?.parse::<u32>().ok()?, row.get(1)?)),
        _ => None,
    });
    let Some((version, standby)) = last else {
        return Err(StoreError::new(StoreErrorKind::UnexpectedReply, "to the first query"));
    };
    is_known(version)?;
    if standby != "f" {
        return Err(StoreError::new(StoreErrorKind::NotPrimary, "it is in recovery"));
    }
    Ok(())
}

fn is_known(version: u32) -> Result<(), StoreError> {
    let major = version / 10_000;
    if major < OLDEST {
        let detail = format!("the server is PostgreSQL {major}; it must be {OLDEST} or later");
        return Err(StoreError::new(StoreErrorKind::UnsupportedVersion, detail));
    }
    Ok(())
}

/// Asks for encryption in the protocol's own way. The server says yes or no in one byte, and nothing that
/// it sends besides may be read as if it had come encrypted.
async fn encrypted(
    host: &str,
    mut stream: Connection,
    tls: &TlsConfig,
) -> Result<Connection, StoreError> {
    const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
    let mut answer = [0];
    let asked = async {
        stream.write_all(&SSL_REQUEST).await?;
        stream.flush().await?;
        stream.read_exact(&mut answer).await
    };
    if let Err(error) = asked.await {
        let detail = "while asking for TLS";
        return Err(StoreError::new(StoreErrorKind::Disconnected, detail).with_source(error));
    }
    match answer {
        [b'S'] => tls.connect(host, stream).await.map_err(|error| {
            StoreError::new(StoreErrorKind::Tls, error.to_string()).with_source(error)
        }),
        [b'N'] => Err(StoreError::new(StoreErrorKind::Tls, "the server does not offer it")),
        _ => Err(StoreError::new(StoreErrorKind::UnexpectedReply, "to the question for TLS")),
    }
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
                    // Before the answer that it is about, and that reads it, can be complete.
                    unreplicated.store(true, Ordering::Release);
                    dead.cancel();
                } else {
                    tracing::debug!(notice = notice.message(), "the server says");
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                tracing::debug!(%error, "the connection broke");
                break;
            }
            None => break,
        }
    }
    dead.cancel();
}

/// Its text is in the server's language; where it comes from is not.
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
