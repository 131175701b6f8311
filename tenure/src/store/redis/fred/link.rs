//! A pair of physical connections, replaced whenever either may be stuck.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fred::clients::Client;
use fred::error::{Error, ErrorKind};
use fred::interfaces::{AuthInterface, ClientLike, EventInterface, LuaInterface, PubsubInterface};
use fred::socket2::TcpKeepalive;
use fred::types::config::{Config, ServerConfig, TcpConfig};
use fred::types::{Builder, CustomCommand, RespVersion, Value};
use futures_util::FutureExt;
use futures_util::future::{join_all, select};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::pushed::forward;
use crate::runtime::{KEEPALIVE_AFTER, Runtime, TokioRuntime};
use crate::store::credentials::Identity;
use crate::store::dial::{Dial, Reached};
use crate::store::progress::{Ask, Progress, Unanswered};
use crate::store::redis::channels::Channels;
use crate::store::redis::config::{Address, RedisConfig, Servers};
use crate::store::redis::ends::carry;
use crate::store::redis::purge::Purging;
use crate::store::redis::refusal;
use crate::store::redis::script::{Invocation, PastUse};
use crate::store::redis::scripts::{self, Flags};
use crate::store::redis::version;
use crate::store::slot::{Connection, Patience, Slot};
use crate::store::{Secret, StoreError, StoreErrorKind};

pub(super) struct Link {
    pub(super) config: RedisConfig,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) channels: Arc<Channels>,
    pub(super) current: Slot<Live>,
    pub(super) purging: Purging,
    dial: Dial,
}

/// Connections that were working when last seen.
pub(super) struct Live {
    requests: Client,
    wakeups: Client,
    reached: Reached,
    /// Cancelled once either connection is known or suspected to be unusable.
    pub(super) dead: CancellationToken,
    progress: Progress,
    /// The texts of the scripts that the server takes.
    pub(super) flags: Flags,
    /// True if a request over them has succeeded.
    pub(super) served: AtomicBool,
    /// True if a request over them was answered that has compared the server with the past.
    has_compared: AtomicBool,
    /// The connection's number: a random one that no other has drawn.
    number: u128,
}

impl Link {
    pub(super) fn new(config: RedisConfig) -> Self {
        let runtime: Arc<dyn Runtime> = Arc::new(TokioRuntime);
        let current = Slot::new(&runtime, config.connect_timeout);
        let channels = Arc::new(Channels::new(&config));
        let dial = Dial::new(&runtime, config.connect_timeout);
        Self { config, runtime, channels, current, purging: Purging::default(), dial }
    }

    /// The connections, opened anew if there are none.
    pub(super) async fn live(
        self: &Arc<Self>,
        patience: Patience,
    ) -> Result<Arc<Live>, StoreError> {
        let link = Arc::clone(self);
        let connect = || async move { link.connect().await }.boxed();
        self.current.get(patience, connect).await
    }

    async fn connect(&self) -> Result<Live, StoreError> {
        let RedisConfig { login, connect_timeout, .. } = &self.config;
        let number = self.runtime.entropy().map_err(|error| {
            StoreError::new(StoreErrorKind::Refused, "no random number for the connection")
                .with_source(error)
        })?;
        let identity = login.now(&*self.runtime, *connect_timeout).await?;
        let opening = self.runtime.now();
        let mut reached = self.reach().await?;
        let client = || self.client(&reached, &identity);
        let (requests, wakeups) = (client()?, client()?);
        let routing = tokio::try_join!(open(&requests), open(&wakeups));
        let (first, second) = routing.map_err(|error| self.not_opened(&error))?;
        reached.has_spoken();
        let dead = CancellationToken::new();
        // The end of either connection ends the pair: fred's tasks are aborted, and their sockets
        // closed.
        TokioRuntime.spawn(carry(dead.clone(), select(first, second)).boxed());
        let (pushed, channels) = (wakeups.message_rx(), Arc::downgrade(&self.channels));
        TokioRuntime.spawn(forward(pushed, channels, dead.clone()).boxed());
        let (served, has_compared) = (AtomicBool::new(false), AtomicBool::new(false));
        let progress = Progress::since(opening, &self.runtime, &dead, ping(&requests));
        let mut live = Live {
            requests,
            wakeups,
            reached,
            dead,
            progress,
            flags: Flags::Known,
            served,
            has_compared,
            number,
        };
        live.load_scripts(&self.config).await?;
        Ok(live)
    }

    /// An address of the server that accepts connections. The client opens its own, but would look
    /// the name up among tokio's blocking tasks, and wait for its first address alone.
    async fn reach(&self) -> Result<Reached, StoreError> {
        let at = self.server()?;
        self.dial.reach(&at.host, at.port).await.map_err(|error| {
            StoreError::new(StoreErrorKind::Unreachable, at.to_string()).with_source(error)
        })
    }

    fn client(&self, reached: &Reached, identity: &Identity) -> Result<Client, StoreError> {
        let RedisConfig { database, connect_timeout, .. } = &self.config;
        let Address { port, .. } = self.server()?;
        let password = identity.password.as_ref().map(Secret::reveal).map(str::to_owned);
        // In RESP3, fred sends the password in a line of text (HELLO), where a space ends it and a
        // line break begins a command. In RESP2 it sends AUTH, framed: `open` greets after that.
        let version = if password.is_some() { RespVersion::RESP2 } else { RespVersion::RESP3 };
        let username = identity.username.clone().unwrap_or_else(|| "default".to_owned());
        let config = Config {
            fail_fast: true,
            version,
            server: ServerConfig::new_centralized(reached.address(), *port),
            username: Some(username),
            password,
            database: Some(*database).filter(|database| *database != 0),
            ..Config::default()
        };
        // No reconnection policy: without one, a connection that breaks ends its client.
        Builder::from_config(config)
            .with_connection_config(|settings| {
                settings.max_command_attempts = 1;
                settings.max_redirections = 0;
                settings.connection_timeout = *connect_timeout;
                settings.internal_command_timeout = *connect_timeout;
                let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_AFTER);
                settings.tcp = TcpConfig {
                    nodelay: Some(true),
                    keepalive: Some(keepalive),
                    ..TcpConfig::default()
                };
            })
            .build()
            .map_err(|error| failed(&error))
    }

    /// The server, unless more is configured than this store supports: settings must not be ignored
    /// silently.
    fn server(&self) -> Result<&Address, StoreError> {
        let RedisConfig { servers, tls, replicas, .. } = &self.config;
        match servers {
            Servers::One(server) if tls.is_none() && replicas.least == 0 => Ok(server),
            _ => {
                let detail = "fred is for one server, unencrypted, and waits for no replicas: use the store \
                              `Redis` in place of `Fred`";
                Err(StoreError::new(StoreErrorKind::Refused, detail))
            }
        }
    }

    fn not_opened(&self, error: &Error) -> StoreError {
        match error.kind() {
            ErrorKind::IO if error.details().contains("refused") => {
                let at = self.server().map(ToString::to_string).unwrap_or_default();
                let detail = format_args!("{at}: {}", error.details());
                StoreError::showing(StoreErrorKind::Unreachable, detail)
            }
            ErrorKind::Timeout => {
                StoreError::new(StoreErrorKind::Unreachable, error.details().to_owned())
            }
            // Where AUTH waits for its answer, fred takes the end of the connection for one.
            ErrorKind::Protocol if error.details() == "Expected string." => {
                StoreError::new(StoreErrorKind::Disconnected, "it ended while it logged in")
            }
            _ => failed(error),
        }
    }
}

/// Opens a client's connection, which speaks RESP3 then. The task that drives it ends when the
/// handle is dropped.
async fn open(client: &Client) -> Result<AbortOnDropHandle<Result<(), Error>>, Error> {
    let mut connected = Box::pin(client.wait_for_connect());
    // Subscribes before there can be an event.
    let early = connected.as_mut().now_or_never();
    let mut routing = AbortOnDropHandle::new(client.connect());
    let opened = async {
        if early.is_none() {
            connected.await?;
        }
        if client.protocol_version() != RespVersion::RESP3 {
            client.hello(RespVersion::RESP3, None, None).await?;
        }
        Ok::<_, Error>(())
    };
    tokio::select! {
        biased;
        opened = opened => opened.map(|()| routing),
        ended = &mut routing => {
            ended??;
            Err(Error::new(ErrorKind::Canceled, "ended while connecting"))
        }
    }
}

impl Connection for Live {
    fn dead(&self) -> &CancellationToken {
        &self.dead
    }

    fn has_served(&self) -> bool {
        self.served.load(Ordering::Relaxed)
    }

    fn is_wrong(&self) {
        self.reached.is_wrong();
        // Another server may be the primary by now.
        self.dead.cancel();
    }
}

/// The question whether the server is still there. A refusal is an answer.
fn ping(client: &Client) -> Ask {
    let client = client.clone();
    Box::new(move || {
        let client = client.clone();
        async move {
            let answer = client.ping::<Value>(None).await;
            answer.map_or_else(|error| server_error(&error).is_some(), |_| true)
        }
        .boxed()
    })
}

impl Live {
    /// The use of the past by the next call.
    pub(super) fn past(&self) -> PastUse {
        if self.has_compared.load(Ordering::Relaxed) {
            return PastUse::Reads;
        }
        PastUse::Compares(self.number)
    }

    /// A request of that call has succeeded.
    pub(super) fn serves(&self, call: &Invocation) {
        self.served.store(true, Ordering::Relaxed);
        if call.compares {
            self.has_compared.store(true, Ordering::Relaxed);
        }
    }

    /// Loads all scripts and asks for the server's version in one round trip, so that no request
    /// has to: a request's timeout may allow for a single round trip. A server that knows no flags
    /// takes a second one. Any other refusal is ignored here: the call of a script loads it again
    /// and reports the refusal.
    async fn load_scripts(&mut self, config: &RedisConfig) -> Result<(), StoreError> {
        let half_way = self.dead.drop_guard_ref();
        // The first round trip, which tells how long an answer takes.
        let (flags, info) = self.load(Flags::Known, "server").await?;
        // Without the right to ask, the scripts that need to know are refused by name.
        if let Some(info) = info {
            version::is_known(&info)?;
        }
        if flags == Flags::Unknown {
            let (_, info) = self.load(Flags::Unknown, "replication").await?;
            config.warn_of_replicas(&info.unwrap_or_default());
        }
        half_way.disarm();
        self.flags = flags;
        Ok(())
    }

    /// Loads the texts for such a server and asks for a part of `INFO`, in one round trip. Returns
    /// whether the server knows the flags of these texts, and what it has said if this user may
    /// ask.
    async fn load(
        &self,
        flags: Flags,
        info: &'static str,
    ) -> Result<(Flags, Option<String>), StoreError> {
        let unanswered = self.progress.expects();
        let loads = scripts::texts(flags).map(|text| self.requests.script_load::<Value, _>(text));
        let command = CustomCommand::new_static("INFO", None::<u16>, false);
        let info = self.requests.custom::<Value, _>(command, vec![info]);
        let (loaded, info) = futures_util::join!(join_all(loads), info);
        let mut flags = Flags::Known;
        for answer in loaded.into_iter().chain([info.clone()]) {
            let Err(error) = answer else { continue };
            let Some((code, text)) = server_error(&error) else { return Err(failed(&error)) };
            if version::is_about_flags(code, text) {
                flags = Flags::Unknown;
            }
        }
        unanswered.answered();
        Ok((flags, info.ok().and_then(Value::into_string)))
    }

    /// Calls the script. A server that does not know it has not executed anything: only then is it
    /// called a second time.
    pub(super) async fn invoke(&self, call: &Invocation) -> Result<Value, Error> {
        let unanswered = self.progress.expects();
        let mut answer = self.evalsha(call).await;
        if matches!(&answer, Err(error) if server_error(error).is_some_and(|(code, _)| code == "NOSCRIPT"))
        {
            let loaded = self.answered(self.requests.script_load::<Value, _>(&*call.script.text));
            answer = match loaded.await {
                Ok(_) => self.evalsha(call).await,
                Err(error) => Err(error),
            };
        }
        conclude(unanswered, &answer);
        answer
    }

    /// One step of a scan, with these words.
    pub(super) async fn scan(&self, words: [&str; 5]) -> Result<Value, Error> {
        let unanswered = self.progress.expects();
        let command = CustomCommand::new_static("SCAN", None::<u16>, false);
        let words = words.map(Value::from).to_vec();
        let answer = self.answered(self.requests.custom(command, words)).await;
        conclude(unanswered, &answer);
        answer
    }

    /// By a command that fred does not know: of its own calls of scripts, each waits for the reply
    /// to the last one, so that a connection would carry one call in each round trip.
    async fn evalsha(&self, call: &Invocation) -> Result<Value, Error> {
        let command = CustomCommand::new_static("EVALSHA", None::<u16>, false);
        let keys = call.owned_keys();
        let mut words = vec![Value::from(&*call.script.sha), Value::try_from(keys.len())?];
        words.extend(keys.chain(call.owned_arguments()).map(Value::Bytes));
        self.answered(self.requests.custom(command, words)).await
    }

    /// The answer to a command. A client whose connection has ended accepts commands and never
    /// answers.
    async fn answered<T>(
        &self,
        command: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        tokio::select! {
            biased;
            answer = command => answer,
            () = self.dead.cancelled() => Err(Error::new(ErrorKind::Canceled, "the connection ended")),
        }
    }

    pub(super) async fn subscribe(&self, channels: Vec<String>) -> Result<(), StoreError> {
        // On the heap: a future of the client's takes kilobytes.
        Box::pin(self.changed(self.wakeups.subscribe(channels))).await
    }

    pub(super) async fn unsubscribe(&self, channels: Vec<String>) -> Result<(), StoreError> {
        Box::pin(self.changed(self.wakeups.unsubscribe(channels))).await
    }

    /// Asks the server for an answer on the connection for wake-ups.
    pub(super) async fn beats(&self) -> Result<(), StoreError> {
        Box::pin(self.changed(std::future::ready(Ok(())))).await
    }

    /// Waits until the server has changed its subscriptions: fred itself does not.
    async fn changed(
        &self,
        change: impl Future<Output = Result<(), Error>>,
    ) -> Result<(), StoreError> {
        let changed = self.answered(async {
            change.await?;
            self.wakeups.ping::<Value>(None).await.map(drop)
        });
        changed.await.map_err(|error| {
            // After a refusal, by an access rule for instance, the connection is still usable.
            if server_error(&error).is_none() {
                self.dead.cancel();
            }
            failed(&error)
        })
    }
}

/// An error with a code is a reply of the server: the connection is fine.
fn conclude<T>(request: Unanswered<'_>, answer: &Result<T, Error>) {
    match answer {
        Err(error) if server_error(error).is_none() => request.failed(),
        Ok(_) | Err(_) => request.answered(),
    }
}

/// The code and the text of an error reply of the server.
fn server_error(error: &Error) -> Option<(&str, &str)> {
    match error.kind() {
        ErrorKind::IO | ErrorKind::Canceled | ErrorKind::Timeout => return None,
        ErrorKind::Parse | ErrorKind::Protocol | ErrorKind::Config => return None,
        _ => {}
    }
    let (code, text) = error.details().split_once(' ').unwrap_or((error.details(), ""));
    let is_code = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_uppercase());
    is_code.then_some((code, text))
}

/// The store's error for an error of the client library.
pub(super) fn failed(error: &Error) -> StoreError {
    if let Some((code, text)) = server_error(error) {
        if version::is_about_hello(code, text) {
            return version::without_resp3();
        }
        return refusal::server_error(code, text);
    }
    let kind = match error.kind() {
        ErrorKind::Auth => StoreErrorKind::Authentication,
        ErrorKind::Parse | ErrorKind::Protocol => StoreErrorKind::UnexpectedReply,
        _ => StoreErrorKind::Disconnected,
    };
    StoreError::showing(kind, error)
}
