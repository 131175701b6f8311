//! One physical connection, replaced whenever it may be stuck.
//!
//! The client library is used for its protocol alone: it does not reconnect, retry, replay or wait.
//! What a request did whose reply did not come is unknown, and stays so.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ProtocolVersion, PushInfo, RedisConnectionInfo};
use tokio_util::sync::CancellationToken;

use super::config::RedisConfig;
use super::wakeup::Channels;
use crate::runtime::Runtime;
use crate::store::{StoreError, StoreErrorKind};

pub(super) struct Link {
    pub(super) config: RedisConfig,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) channels: Arc<Channels>,
    current: Mutex<Option<Arc<Live>>>,
    /// Held while connecting, so that a crowd of callers opens one connection.
    connecting: tokio::sync::Mutex<()>,
}

/// A connection that was working when last seen.
pub(super) struct Live {
    pub(super) connection: MultiplexedConnection,
    /// Cancelled once the connection is known or suspected to be of no more use.
    pub(super) dead: CancellationToken,
}

impl Link {
    pub(super) fn new(config: RedisConfig, runtime: Arc<dyn Runtime>) -> Self {
        Self {
            config,
            runtime,
            channels: Arc::default(),
            current: Mutex::new(None),
            connecting: tokio::sync::Mutex::new(()),
        }
    }

    /// The connection, opened anew if there is none.
    pub(super) async fn live(&self) -> Result<Arc<Live>, StoreError> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let _turn = self.connecting.lock().await;
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let late = self.runtime.sleep_until(self.runtime.now() + self.config.connect_timeout);
        let live = tokio::select! {
            biased;
            live = self.connect() => Arc::new(live?),
            () = late => {
                let within = self.config.connect_timeout;
                let detail = format!("no connection within {within:?}");
                return Err(StoreError::new(StoreErrorKind::Unreachable, detail));
            }
        };
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&live));
        Ok(live)
    }

    fn current(&self) -> Option<Arc<Live>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|live| !live.dead.is_cancelled()).cloned()
    }

    async fn connect(&self) -> Result<Live, StoreError> {
        let RedisConfig { host, port, .. } = &self.config;
        let stream = self.runtime.connect(host, *port).await.map_err(|error| {
            StoreError::new(StoreErrorKind::Unreachable, format!("{host}:{port}"))
                .with_source(error)
        })?;
        let channels = Arc::clone(&self.channels);
        let settings = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(None)
            .set_push_sender(move |push: PushInfo| {
                channels.pushed(&push);
                Ok::<(), redis::aio::SendError>(())
            });
        let (connection, driver) =
            MultiplexedConnection::new_with_config(&self.session(), stream, settings)
                .await
                .map_err(|error| failed(&error))?;
        let dead = CancellationToken::new();
        let ends = dead.clone();
        let drive = async move {
            tokio::select! {
                biased;
                () = ends.cancelled() => {}
                () = driver => ends.cancel(),
            }
        };
        self.runtime.spawn(drive.boxed());
        Ok(Live { connection, dead })
    }

    fn session(&self) -> RedisConnectionInfo {
        // RESP3 brings wake-ups over the same connection as replies.
        let mut session = RedisConnectionInfo::default()
            .set_protocol(ProtocolVersion::RESP3)
            .set_skip_set_lib_name()
            .set_db(i64::from(self.config.database));
        if let Some(username) = &self.config.username {
            session = session.set_username(username);
        }
        if let Some(password) = &self.config.password {
            session = session.set_password(password.reveal());
        }
        session
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(live) = self.current() {
            live.dead.cancel();
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}

/// Condemns the connection unless the request on it was answered: a caller that gave up has dropped
/// the request half way, and the connection may be stuck for good.
pub(super) struct Answered<'a>(Option<&'a CancellationToken>);

impl<'a> Answered<'a> {
    pub(super) fn pending(live: &'a Live) -> Self {
        Self(Some(&live.dead))
    }

    pub(super) fn yes(mut self) {
        self.0 = None;
    }
}

impl Drop for Answered<'_> {
    fn drop(&mut self) {
        if let Some(dead) = self.0.take() {
            dead.cancel();
        }
    }
}

/// What an error of the client library means.
pub(super) fn failed(error: &redis::RedisError) -> StoreError {
    use redis::ErrorKind;
    if let Some(code) = error.code() {
        return super::reply::server_error(code, error.detail().unwrap_or_default());
    }
    let kind = match error.kind() {
        ErrorKind::AuthenticationFailed => StoreErrorKind::Authentication,
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType | ErrorKind::RESP3NotSupported => {
            StoreErrorKind::UnexpectedReply
        }
        _ => StoreErrorKind::Disconnected,
    };
    StoreError::new(kind, error.to_string())
}
