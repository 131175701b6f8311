//! One physical connection, over which redis-rs speaks.
//!
//! The client library is used for its protocol alone: it does not connect, encrypt, reconnect,
//! retry, replay, follow redirections or wait. The outcome of a request without a reply is unknown,
//! and stays so.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, Pipeline, ProtocolVersion, PushInfo,
    RedisConnectionInfo, RedisError, RedisResult, Value,
};
use tokio_util::sync::CancellationToken;

use super::cap::{Capped, Reason};
use super::channels::Channels;
use super::config::{Address, RedisConfig};
use super::ends::carry;
use super::refusal::server_error;
use super::script::PastUse;
use super::scripts::{self, Flags};
use super::target::Targets;
use super::version;
use super::{ACQUIRES_IN_CALL, LOOKS_IN_CALL};
use crate::runtime::{Connection, Runtime};
use crate::store::credentials::{Identity, Login};
use crate::store::dial::{Dial, Reached};
use crate::store::progress::{Ask, Progress, Unanswered};
use crate::store::slot;
use crate::store::{Profile, StoreError, StoreErrorKind};

/// A connection that was working when last seen.
pub(super) struct Live {
    pub(super) connection: MultiplexedConnection,
    /// The server's address.
    pub(super) at: Address,
    reached: Reached,
    /// Cancelled once the connection is known or suspected to be unusable.
    pub(super) dead: CancellationToken,
    pub(super) progress: Progress,
    reason: Reason,
    /// The texts of the scripts that the server takes.
    pub(super) flags: Flags,
    /// True if a request over it has succeeded.
    served: AtomicBool,
    /// True if a request over it was answered that has compared the server with the past.
    has_compared: AtomicBool,
    /// The connection's number: a random one that no other has drawn.
    number: u128,
    /// The targets of redirected requests.
    pub(super) targets: Targets<Self>,
}

/// The most bytes of a reply about elections: more than the longest answers to all acquires or
/// looks of a call, and many times the longest message.
pub(super) const REPLY_MOST: u64 = 256 << 10;
/// Names and metadata, and what else is shown of an election.
const SHOWN_MOST: usize = Profile::NAME_MOST + Profile::METADATA_MOST + 1_024;
const _: () = assert!((ACQUIRES_IN_CALL * SHOWN_MOST) as u64 <= REPLY_MOST);
const _: () = assert!((LOOKS_IN_CALL * SHOWN_MOST) as u64 <= REPLY_MOST);
/// The most bytes of a reply about a cluster: enough for nodes of their own for each slot.
pub(super) const TOPOLOGY_MOST: u64 = 8 << 20;

/// Opens connections for one store.
pub(super) struct Connector {
    pub(super) config: RedisConfig,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) channels: Arc<Channels>,
    dial: Dial,
}

impl Connector {
    pub(super) fn new(config: RedisConfig, runtime: Arc<dyn Runtime>) -> Self {
        let channels = Arc::new(Channels::new(&config));
        let dial = Dial::new(&runtime, config.connect_timeout);
        Self { config, runtime, channels, dial }
    }

    /// Opens a connection that refuses replies of more than `most` bytes and ends when it is
    /// `dead`. The caller bounds the time.
    pub(super) async fn open(
        &self,
        at: &Address,
        login: &Login,
        database: u8,
        most: u64,
    ) -> Result<Live, StoreError> {
        let number = self.runtime.entropy().map_err(|error| {
            StoreError::new(StoreErrorKind::Refused, "no random number for the connection")
                .with_source(error)
        })?;
        // Before the server is reached: it would have to wait.
        let identity = login.now(&*self.runtime, self.config.connect_timeout).await?;
        let opening = self.runtime.now();
        let dialled = self.dial.connect(&at.host, at.port).await;
        let (mut stream, mut reached) = dialled.map_err(|error| {
            StoreError::new(StoreErrorKind::Unreachable, at.to_string()).with_source(error)
        })?;
        if let Some(tls) = &self.config.tls {
            let silent = self.runtime.sleep_until(opening + self.config.connect_timeout * 4 / 5);
            stream = tokio::select! {
                biased;
                stream = tls.connect(&at.host, stream, &[]) => {
                    stream.map_err(StoreError::of_handshake)?
                }
                () = silent => return Err(silence(at)),
            };
        }
        let reason = Reason::default();
        let stream: Connection = Box::new(Capped::new(stream, most, reason.clone()));
        let channels = Arc::clone(&self.channels);
        let settings = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(None)
            .set_push_sender(move |push: PushInfo| {
                channels.pushed(&push);
                Ok::<(), redis::aio::SendError>(())
            });
        let session = session(&identity, database);
        let opened = MultiplexedConnection::new_with_config(&session, stream, settings).await;
        let (connection, driver) = opened.map_err(|error| ended(&error, &reason))?;
        reached.has_spoken();
        let dead = CancellationToken::new();
        self.runtime.spawn(carry(dead.clone(), driver).boxed());
        let progress = Progress::since(opening, &self.runtime, &dead, ping(&connection));
        let served = AtomicBool::new(false);
        let has_compared = AtomicBool::new(false);
        let (at, targets) = (at.clone(), Targets::default());
        Ok(Live {
            connection,
            at,
            reached,
            dead,
            progress,
            reason,
            flags: Flags::Known,
            served,
            has_compared,
            number,
            targets,
        })
    }
}

/// A server that speaks unencrypted waits for the end of a line.
fn silence(at: &Address) -> StoreError {
    let detail = format!(
        "{at} has accepted the connection, and has not answered the TLS handshake: perhaps it speaks unencrypted at that \
         port (redis://)"
    );
    StoreError::new(StoreErrorKind::Unreachable, detail)
}

/// The question whether the server is still there. A refusal is an answer.
fn ping(connection: &MultiplexedConnection) -> Ask {
    let connection = connection.clone();
    Box::new(move || {
        let mut connection = connection.clone();
        async move {
            let answer = connection.send_packed_command(&redis::cmd("PING")).await;
            answer.map_or_else(|error| error.code().is_some(), |_| true)
        }
        .boxed()
    })
}

fn session(identity: &Identity, database: u8) -> RedisConnectionInfo {
    // With RESP3, wake-ups arrive over the same connection as replies.
    let mut session = RedisConnectionInfo::default()
        .set_protocol(ProtocolVersion::RESP3)
        .set_skip_set_lib_name()
        .set_db(i64::from(database));
    if let Some(username) = &identity.username {
        session = session.set_username(username);
    }
    if let Some(password) = &identity.password {
        session = session.set_password(password.reveal());
    }
    session
}

impl slot::Connection for Live {
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

impl Live {
    /// A request over it has succeeded.
    pub(super) fn serves(&self) {
        self.served.store(true, Ordering::Relaxed);
    }

    /// The use of the past by the next call.
    pub(super) fn past(&self) -> PastUse {
        if self.has_compared.load(Ordering::Relaxed) {
            return PastUse::Reads;
        }
        PastUse::Compares(self.number)
    }

    /// A request over it was answered that has compared the server with the past.
    pub(super) fn compared(&self) {
        self.has_compared.store(true, Ordering::Relaxed);
    }

    /// One command and its answer. The client hands on an error reply as a value like any other.
    pub(super) async fn answer(&self, command: &Cmd) -> RedisResult<Value> {
        self.connection.clone().send_packed_command(command).await?.extract_error()
    }

    /// Sends a command that changes nothing; without an answer the connection is condemned.
    pub(super) async fn ask(&self, question: &Cmd) -> Result<Value, StoreError> {
        let unanswered = self.progress.expects();
        let answer = self.answer(question).await;
        conclude(unanswered, &answer);
        answer.map_err(|error| self.failed(&error))
    }

    /// Loads the texts for such a server and asks for a part of `INFO`, in one round trip.
    async fn load(&self, flags: Flags, info: &str) -> Result<Vec<Value>, StoreError> {
        let texts = scripts::texts(flags);
        let mut commands = Pipeline::with_capacity(texts.len() + 1);
        for text in texts {
            commands.cmd("SCRIPT").arg("LOAD").arg(text);
        }
        commands.cmd("INFO").arg(info);
        let unanswered = self.progress.expects();
        let answers =
            self.connection.clone().send_packed_commands(&commands, 0, commands.len()).await;
        conclude(unanswered, &answers);
        answers.map_err(|error| self.failed(&error))
    }

    /// The store's error for an error of the client library on this connection.
    pub(super) fn failed(&self, error: &RedisError) -> StoreError {
        ended(error, &self.reason)
    }
}

/// An error with a code is a reply of the server: the connection is fine.
pub(super) fn conclude<T>(request: Unanswered<'_>, answer: &RedisResult<T>) {
    match answer {
        Err(error) if error.code().is_none() => request.failed(),
        Ok(_) | Err(_) => request.answered(),
    }
}

/// The same; `reason` says why the stream was given up, if it was.
fn ended(error: &RedisError, reason: &Reason) -> StoreError {
    match reason.get().filter(|_| error.code().is_none()) {
        Some(reason) => StoreError::showing(StoreErrorKind::UnexpectedReply, reason),
        None => failed(error),
    }
}

/// Loads all scripts and asks for the server's version in one round trip, so that no request has
/// to: a request's timeout may allow for a single round trip. A server that knows no flags takes a
/// second one. Any other refusal is ignored here: the call of a script loads it again and reports
/// the refusal.
pub(super) async fn load_scripts(live: &mut Live, config: &RedisConfig) -> Result<(), StoreError> {
    // The first round trip, which tells how long an answer takes.
    let answers = live.load(Flags::Known, "server").await?;
    // Without the right to ask, the scripts that need to know are refused by name.
    if let Some(info) = info(&answers) {
        version::is_known(&info).inspect_err(|_| live.dead.cancel())?;
    }
    let refuses_flags = |answer: &Value| match answer {
        Value::ServerError(error) => {
            version::is_about_flags(error.code(), error.details().unwrap_or_default())
        }
        _ => false,
    };
    if answers.iter().any(refuses_flags) {
        live.flags = Flags::Unknown;
        let answers = live.load(Flags::Unknown, "replication").await?;
        config.warn_of_replicas(&info(&answers).unwrap_or_default());
    }
    Ok(())
}

/// The answer to `INFO`, which is the last one.
fn info(answers: &[Value]) -> Option<Cow<'_, str>> {
    match answers.last()? {
        Value::BulkString(info) => Some(String::from_utf8_lossy(info)),
        Value::VerbatimString { text, .. } => Some(text.as_str().into()),
        _ => None,
    }
}

/// The store's error for an error of the client library.
fn failed(error: &RedisError) -> StoreError {
    if let Some(code) = error.code() {
        let text = error.detail().unwrap_or_default();
        if version::is_about_hello(code, text) {
            return version::without_resp3();
        }
        return server_error(code, text);
    }
    // A server may refuse our certificate only after the handshake.
    if let Some(error) = StoreError::about_tls(error) {
        return error;
    }
    let kind = match error.kind() {
        ErrorKind::RESP3NotSupported => return version::without_resp3(),
        ErrorKind::AuthenticationFailed => StoreErrorKind::Authentication,
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => StoreErrorKind::UnexpectedReply,
        _ => StoreErrorKind::Disconnected,
    };
    StoreError::showing(kind, error)
}
