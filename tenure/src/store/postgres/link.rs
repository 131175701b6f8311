//! The connection for requests and the one for wake-ups, replaced whenever they may be stuck.
//!
//! What a request did whose reply did not come is unknown, and stays so. Its backend may still be at it:
//! whatever it does then is what a late request does.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_postgres::{SimpleQueryMessage, Statement};
use tokio_util::sync::CancellationToken;

use super::error::failed;
use super::session::Session;
use super::table::quoted;
use super::wakeup::Listeners;
use super::{LeaseTable, PostgresConfig};
use crate::runtime::Runtime;
use crate::store::{StoreError, StoreErrorKind};

pub(super) struct Link {
    pub(super) config: PostgresConfig,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) listeners: Arc<Listeners>,
    requests: Slot<Live>,
    listening: Slot<Session>,
}

/// A connection for requests.
pub(super) struct Live {
    pub(super) session: Session,
    pub(super) acquire: Statement,
    pub(super) renew: Statement,
    pub(super) release: Statement,
    pub(super) observe: Statement,
    pub(super) notify: Statement,
}

impl Link {
    pub(super) fn new(config: PostgresConfig, runtime: Arc<dyn Runtime>) -> Self {
        let (requests, listening) = (Slot::default(), Slot::default());
        Self { config, runtime, listeners: Arc::default(), requests, listening }
    }

    /// The connection for requests, opened anew if there is none.
    pub(super) async fn live(&self) -> Result<Arc<Live>, StoreError> {
        self.requests.get(|| self.in_time(self.connect())).await
    }

    /// The connection on which wake-ups arrive. It ends with that for requests: a network that lets no
    /// reply through lets no wake-up through either, and nobody would notice.
    pub(super) async fn listening(&self) -> Result<Arc<Session>, StoreError> {
        let live = self.live().await?;
        self.listening.get(|| self.in_time(self.listen(&live))).await
    }

    async fn in_time<T>(
        &self,
        connect: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let within = self.config.connect_timeout;
        tokio::select! {
            biased;
            connected = connect => connected,
            () = self.runtime.sleep_until(self.runtime.now() + within) => {
                let detail = format!("no connection within {within:?}");
                Err(StoreError::new(StoreErrorKind::Unreachable, detail))
            }
        }
    }

    async fn connect(&self) -> Result<Live, StoreError> {
        let (config, runtime) = (&self.config, &*self.runtime);
        let session = Session::open(config, runtime, CancellationToken::new(), |_| {}).await?;
        // Whatever else may fail: it is of no use half way.
        let half_way = session.dead.clone().drop_guard();
        self.make_or_know_the_table(&session).await?;
        let prepared = |function, parameters| {
            let function = config.table.object(function);
            let client = &session.client;
            async move {
                let sql = format!("SELECT * FROM {function}({parameters})");
                client.prepare(&sql).await.map_err(|error| failed(config, &error))
            }
        };
        let (acquire, renew, release, observe, notify) = futures_util::try_join!(
            prepared("_acquire", "$1, $2, $3, $4, $5, $6, $7, $8"),
            prepared("_renew", "$1, $2, $3, $4"),
            prepared("_release", "$1, $2, $3"),
            prepared("_observe", "$1"),
            prepared("_notify", "$1, $2"),
        )?;
        half_way.disarm();
        Ok(Live { session, acquire, renew, release, observe, notify })
    }

    async fn make_or_know_the_table(&self, session: &Session) -> Result<(), StoreError> {
        let mut found = self.version(session).await;
        let is_missing = |error: &StoreError| error.kind() == StoreErrorKind::Missing;
        if found.as_ref().is_err_and(is_missing) && self.config.create_table {
            // One transaction, one after the other: IF NOT EXISTS alone is no protection.
            let sql = format!(
                "SELECT pg_advisory_xact_lock(hashtext('{}')); {}",
                self.config.table.channel(),
                self.config.table.schema_sql()
            );
            session
                .client
                .batch_execute(&sql)
                .await
                .map_err(|error| failed(&self.config, &error))?;
            tracing::info!(table = %self.config.table.object(""), "made the lease table");
            found = self.version(session).await;
        }
        match found? {
            LeaseTable::VERSION => Ok(()),
            version => {
                let (table, known) = (self.config.table.object(""), LeaseTable::VERSION);
                let detail = format!("{table} has version {version}; this store knows {known}");
                Err(StoreError::new(StoreErrorKind::UnsupportedVersion, detail))
            }
        }
    }

    /// The version of the table's functions, if they and the table are there.
    async fn version(&self, session: &Session) -> Result<i32, StoreError> {
        let table = &self.config.table;
        let (leases, history) = (table.object(""), table.object("_history"));
        let sql = format!(
            "SELECT {}(), to_regclass('{leases}') IS NULL OR to_regclass('{history}') IS NULL",
            table.object("_version")
        );
        let rows = session.client.simple_query(&sql).await;
        let rows = rows.map_err(|error| failed(&self.config, &error))?;
        let row = rows.iter().find_map(|row| match row {
            SimpleQueryMessage::Row(row) => Some((row.get(0)?.parse().ok()?, row.get(1)?)),
            _ => None,
        });
        match row {
            Some((version, "f")) => Ok(version),
            Some(_) => Err(StoreError::new(StoreErrorKind::Missing, format!("no table {leases}"))),
            None => Err(StoreError::new(StoreErrorKind::UnexpectedReply, "to the version query")),
        }
    }

    async fn listen(&self, live: &Live) -> Result<Session, StoreError> {
        let listeners = Arc::clone(&self.listeners);
        let (hints, inbox) = (self.config.table.channel(), self.config.table.inbox());
        let heard = move |notification: &tokio_postgres::Notification| {
            let payload = notification.payload();
            if notification.channel() == inbox {
                listeners.message(payload);
            } else {
                listeners.wake(payload);
            }
        };
        let dead = live.session.dead.child_token();
        let session = Session::open(&self.config, &*self.runtime, dead, heard).await?;
        let half_way = session.dead.clone().drop_guard();
        self.listen_to(&session, &hints).await?;
        half_way.disarm();
        Ok(session)
    }

    /// The same connection, on which messages to leaders arrive too. Only those who lead need it: each message
    /// goes to all connections that listen.
    pub(super) async fn listening_for_messages(&self) -> Result<Arc<Session>, StoreError> {
        let session = self.listening().await?;
        let half_way = session.dead.clone().drop_guard();
        self.in_time(self.listen_to(&session, &self.config.table.inbox())).await?;
        half_way.disarm();
        Ok(session)
    }

    async fn listen_to(&self, session: &Session, channel: &str) -> Result<(), StoreError> {
        let sql = format!("LISTEN {}", quoted(channel));
        let listens = session.client.batch_execute(&sql).await;
        listens.map_err(|error| failed(&self.config, &error))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The other one ends with it.
        if let Some(live) = self.requests.current() {
            live.session.dead.cancel();
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}

/// A place for one connection.
struct Slot<T> {
    current: Mutex<Option<Arc<T>>>,
    /// Held while connecting, so that a crowd of callers opens one connection.
    connecting: tokio::sync::Mutex<()>,
}

impl<T: AsRef<Session>> Slot<T> {
    async fn get<C: Future<Output = Result<T, StoreError>>>(
        &self,
        connect: impl FnOnce() -> C,
    ) -> Result<Arc<T>, StoreError> {
        if let Some(there) = self.current() {
            return Ok(there);
        }
        let _turn = self.connecting.lock().await;
        if let Some(there) = self.current() {
            return Ok(there);
        }
        let new = Arc::new(Box::pin(connect()).await?);
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&new));
        Ok(new)
    }

    fn current(&self) -> Option<Arc<T>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|there| !(***there).as_ref().dead.is_cancelled()).cloned()
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { current: Mutex::default(), connecting: tokio::sync::Mutex::default() }
    }
}

impl AsRef<Session> for Session {
    fn as_ref(&self) -> &Session {
        self
    }
}

impl AsRef<Session> for Live {
    fn as_ref(&self) -> &Session {
        &self.session
    }
}

/// Condemns the connection unless the request on it was answered: a caller that gave up has dropped the
/// request half way, and the connection may be stuck for good.
pub(super) struct Answered<'a>(Option<&'a CancellationToken>);

impl<'a> Answered<'a> {
    pub(super) fn pending(session: &'a Session) -> Self {
        Self(Some(&session.dead))
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
