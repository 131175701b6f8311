//! One connection for all elections, replaced whenever it may be stuck.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Row, SslOpts, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_util::sync::CancellationToken;

use super::config::MysqlConfig;
use super::error::failed;
use super::facts::{self, Facts};
use super::message::{self, About, Answer, Ask, Failed, Messages, Told, carry_out};
use super::register::bytes;
use super::sql::{Mark, Swap, Version, is_of_a_message, mark_of};
use crate::logging;
use crate::runtime::{KEEPALIVE_AFTER, Runtime, TokioRuntime};
use crate::store::cas::fresh;
use crate::store::credentials::Identity;
use crate::store::dial::{Dial, Reached};
use crate::store::progress::{self, Progress};
use crate::store::slot::{self, Patience, Slot};
use crate::store::{Key, StoreError, StoreErrorKind};

/// More than any statement has.
const PACKET_MOST: usize = 16 << 20;

pub(super) struct Link {
    pub(super) config: MysqlConfig,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) current: Slot<Live>,
    dial: Dial,
}

/// A connection that was working when last seen.
pub(super) struct Live {
    pub(super) facts: Arc<Facts>,
    asks: mpsc::UnboundedSender<Ask>,
    dead: CancellationToken,
    progress: Progress,
    reached: Reached,
    served: AtomicBool,
}

impl Link {
    pub(super) fn new(config: MysqlConfig) -> Self {
        let runtime: Arc<dyn Runtime> = Arc::new(TokioRuntime);
        let current = Slot::new(&runtime, config.connect_timeout);
        let dial = Dial::new(&runtime, config.connect_timeout);
        Self { config, runtime, current, dial }
    }

    /// The connection, opened anew if there is none.
    pub(super) async fn live(
        self: &Arc<Self>,
        patience: Patience,
    ) -> Result<Arc<Live>, StoreError> {
        let link = Arc::clone(self);
        let connect = || async move { link.connect().await }.boxed();
        self.current.get(patience, connect).await
    }

    /// The rows of an election, after a swap if there is one; nothing if there is another past than
    /// the swap was decided by, and it was not sent.
    pub(super) async fn about(
        &self,
        live: &Live,
        key: &Key,
        swap: Option<Swap>,
    ) -> Result<Option<Told>, StoreError> {
        let key = key.clone();
        self.send(live, |answer| Ask::About(About { key, swap, answer })).await
    }

    /// The answers to statements, which are sent once.
    pub(super) async fn ask(&self, live: &Live, sql: String) -> Result<Answer, StoreError> {
        self.send(live, |answer| Ask::Sql { sql, answer }).await
    }

    /// An error that is an answer leaves the connection as it is.
    async fn send<T>(
        &self,
        live: &Live,
        ask: impl FnOnce(message::Answered<T>) -> Ask,
    ) -> Result<T, StoreError> {
        let pending = live.progress.expects();
        let (answer, answered) = oneshot::channel();
        let _ = live.asks.send(ask(answer));
        match answered.await {
            Ok(Ok(told)) => {
                pending.answered();
                live.served.store(true, Ordering::Relaxed);
                Ok(told)
            }
            Ok(Err(Failed { error, is_fatal: false, .. })) => {
                pending.answered();
                self.refused(live, &error);
                Err(error)
            }
            broken => {
                pending.failed();
                let ended = StoreError::new(StoreErrorKind::Disconnected, "it has ended");
                let error = broken.ok().and_then(Result::err).map_or(ended, |failed| failed.error);
                self.current.failed(live, &error);
                Err(error)
            }
        }
    }

    /// Has the server draw its number, and begins the past, unless there are both.
    pub(super) async fn begin(&self, live: &Live) -> Result<(), StoreError> {
        let mark = mark()?;
        let answer = self.ask(live, self.config.tables.begin(&live.facts.server, mark)).await?;
        has_begun(mark, &answer)
    }

    /// The server has refused what elections need.
    pub(super) fn refused(&self, live: &Live, error: &StoreError) {
        let is_elsewhere = matches!(
            error.kind(),
            StoreErrorKind::NotPrimary | StoreErrorKind::Pooler | StoreErrorKind::NoLeader
        );
        // Another address may lead to the right one, and another connection makes missing tables.
        if is_elsewhere || error.kind() == StoreErrorKind::Missing {
            live.dead.cancel();
        }
        self.current.failed(live, error);
    }

    async fn connect(&self) -> Result<Live, StoreError> {
        let (opening, config) = (self.runtime.now(), &self.config);
        let (mut conn, reached) = self.open().await?;
        conn.query_drop(facts::SET_UP).await.map_err(|error| failed(&error))?;
        let variables = pairs(&mut conn, facts::VARIABLES).await?;
        let facts = Facts::check(&variables, conn.id());
        if facts.as_ref().is_err_and(|error| error.kind() == StoreErrorKind::NotPrimary) {
            reached.is_wrong();
        }
        let facts = facts?;
        if facts.is_node {
            conn.query_drop(facts::SET_UP_NODE).await.map_err(|error| failed(&error))?;
        }
        let mut found = pairs(&mut conn, &config.tables.found()).await?;
        // One without an engine is being made.
        let made = found.values().filter(|engine| !engine.is_empty()).count();
        if config.create_tables && made < config.tables.all().len() {
            let sql = config.tables.creations().join(";");
            conn.query_drop(sql).await.map_err(|error| failed(&error))?;
            logging::info!(tables = ?config.tables.all(), "created the tables, or those that were missing");
            found = pairs(&mut conn, &config.tables.found()).await?;
        }
        facts::are_fit(config, &found)?;
        // Here, since a request may be given up before so many answers have come.
        let begun = carry_out(&mut conn, &config.tables.begun(&facts.server)).await;
        let shown = begun.map_err(|(failed, _)| failed.error)?.rows.pop().unwrap_or_default();
        if shown.is_empty() || shown.contains(&Value::NULL) {
            // An insert waits for the lock of the MEMORY table, which every update of a row holds.
            let mark = mark()?;
            let sql = config.tables.begin(&facts.server, mark);
            let begun = carry_out(&mut conn, &sql).await.map_err(|(failed, _)| failed.error)?;
            has_begun(mark, &begun)?;
        }
        let (asks, asked) = mpsc::unbounded_channel();
        let (dead, facts) = (CancellationToken::new(), Arc::new(facts));
        let (tables, same) = (config.tables.clone(), Arc::clone(&facts));
        let runtime = Arc::clone(&self.runtime);
        let (past, refused) = (None, BTreeSet::new());
        let messages = Messages { conn, runtime, tables, facts: same, asked, past, refused };
        self.runtime.spawn(messages.send_all(dead.clone()).boxed());
        let progress = Progress::since(opening, &self.runtime, &dead, question(&asks));
        // Messages wait for each other, and for locks.
        let progress = progress.asks_always();
        let served = AtomicBool::new(false);
        Ok(Live { facts, asks, dead, progress, reached, served })
    }

    /// A connection that was not examined.
    async fn open(&self) -> Result<(Conn, Reached), StoreError> {
        let MysqlConfig { host, port, login, connect_timeout, .. } = &self.config;
        let identity = login.now(&*self.runtime, *connect_timeout).await?;
        let mut reached = self.dial.reach(host, *port).await.map_err(|error| {
            let detail = format!("{host}:{port}");
            StoreError::new(StoreErrorKind::Unreachable, detail).with_source(error)
        })?;
        let options = self.options(reached.address(), &identity)?;
        let conn = Conn::new(options).await.map_err(|error| match failed(&error) {
            away if away.kind() == StoreErrorKind::Unreachable => {
                StoreError::showing(away.kind(), format_args!("{host}:{port}: {error}"))
            }
            other => other,
        })?;
        reached.has_spoken();
        Ok((conn, reached))
    }

    fn options(&self, address: &str, identity: &Identity) -> Result<OptsBuilder, StoreError> {
        let MysqlConfig { host, port, user, database, tls, .. } = &self.config;
        let user = identity.username.as_ref().unwrap_or(user);
        let password = identity.password.as_ref().map(|password| password.reveal().to_owned());
        let mut options = OptsBuilder::default()
            .ip_or_hostname(address)
            .tcp_port(*port)
            .user(Some(user))
            .pass(password)
            .db_name(Some(database))
            .prefer_socket(false)
            .tcp_keepalive(Some(KEEPALIVE_AFTER))
            .stmt_cache_size(0)
            // Otherwise it asks for both, in a round trip more.
            .max_allowed_packet(Some(PACKET_MOST))
            .wait_timeout(Some(28_800));
        if let Some(tls) = tls {
            let refused = |error| StoreError::showing(StoreErrorKind::Tls, error);
            let texts = tls.texts().map_err(refused)?;
            let name = texts.server_name.unwrap_or_else(|| host.clone());
            if CryptoProvider::get_default().is_none() {
                // Another thread may come first.
                let _ = ring::default_provider().install_default();
            }
            let roots = texts.authorities.into_iter().map(Into::into).collect();
            let own = texts.own.map(|(certificate, key)| {
                mysql_async::ClientIdentity::new(certificate.into(), key.into())
            });
            let encrypted = SslOpts::default()
                .with_disable_built_in_roots(true)
                .with_root_certs(roots)
                .with_client_identity(own)
                .with_danger_tls_hostname_override(Some(name));
            options = options.ssl_opts(Some(encrypted));
        }
        Ok(options)
    }

    /// Carries out statements over a connection of its own, which no elections use.
    pub(super) async fn apart(&self, statements: &[String]) -> Result<Vec<Row>, StoreError> {
        let (mut conn, _) = self.open().await?;
        let mut rows = Vec::new();
        for sql in statements {
            let answer: Result<Vec<Row>, _> = conn.query(sql).await;
            rows.extend(answer.map_err(|error| failed(&error))?);
        }
        Ok(rows)
    }
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

/// The first two columns of the answer, as text.
async fn pairs(conn: &mut Conn, sql: &str) -> Result<BTreeMap<String, String>, StoreError> {
    let rows: Vec<(String, Option<String>)> =
        conn.query(sql).await.map_err(|error| failed(&error))?;
    Ok(rows.into_iter().map(|(name, value)| (name, value.unwrap_or_default())).collect())
}

/// A new one.
pub(super) fn mark() -> Result<Mark, StoreError> {
    let bytes = fresh()?.to_bits().to_be_bytes();
    Ok(mark_of(std::array::from_fn(|at| bytes[at])))
}

/// Checks that rows which were added are those that were sent, or were replaced by a candidate since.
fn has_begun(mark: Mark, Answer { changed, rows }: &Answer) -> Result<(), StoreError> {
    let shown = rows.first().map(|row| row.iter().map(bytes).collect::<Vec<_>>());
    let shown = |at: usize| shown.as_ref()?.get(at)?.as_deref();
    let is_own = |at: usize| shown(at).is_some_and(|shown| shown.starts_with(&mark));
    let is_candidates = |at: usize| {
        let version = shown(at).and_then(|shown| Version::try_from(shown).ok());
        version.is_some_and(|version| is_of_a_message(&version))
    };
    let [is_number, is_past] = [0, 1].map(|at| changed.get(at) == Some(&0) || is_own(at));
    if is_number && (is_past || is_candidates(1)) { Ok(()) } else { Err(altered()) }
}

/// The error for a row that has another content than what was sent.
pub(super) fn altered() -> StoreError {
    let detail = "a row does not have what was written there: a trigger changes it (drop it), or others have replaced \
                  it since";
    StoreError::new(StoreErrorKind::Refused, detail)
}

/// The question whether the server is still there. A refusal is an answer.
fn question(asks: &mpsc::UnboundedSender<Ask>) -> progress::Ask {
    // The connection ends with its last question's sender, which this one must not be.
    let asks = asks.downgrade();
    Box::new(move || {
        let asks = asks.upgrade();
        async move {
            let (answer, answered) = oneshot::channel();
            let sql = "SELECT 0".into();
            let asked = asks.is_some_and(|it| it.send(Ask::Sql { sql, answer }).is_ok());
            asked && matches!(answered.await, Ok(Ok(_) | Err(Failed { is_fatal: false, .. })))
        }
        .boxed()
    })
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}
