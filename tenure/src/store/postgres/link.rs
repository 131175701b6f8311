//! The connection for requests and the one for wake-ups, replaced whenever they may be stuck.
//!
//! What a request did whose reply did not come is unknown, and stays so. Its backend may still be at it:
//! whatever it does then is what a late request does.

use std::fmt;
use std::sync::Arc;

use tokio_postgres::{Notification, SimpleQueryMessage};
use tokio_util::sync::CancellationToken;

use super::advisory::{self, Gate};
use super::call::Statements;
use super::error::failed;
use super::session::Session;
use super::table::quoted;
use super::wakeup::Listeners;
use super::{LeaseTable, PostgresConfig};
use crate::runtime::Runtime;
use crate::store::slot::{Connection, Slot, in_time};
use crate::store::{StoreError, StoreErrorKind};

pub(super) struct Link {
    pub(super) config: PostgresConfig,
    /// What a session must have besides, where leases are granted under advisory locks only.
    pub(super) gate: Option<Gate>,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) listeners: Arc<Listeners>,
    requests: Slot<Live>,
    listening: Slot<Session>,
}

/// A connection for requests.
pub(super) struct Live {
    pub(super) session: Session,
    /// The server's, which can't change as long as a session with a primary lasts.
    pub(super) identity: String,
    pub(super) statements: Statements,
    /// The name under which the session was let through the gate, if there is one.
    pub(super) admitted: String,
}

impl Link {
    pub(super) fn new(
        config: PostgresConfig,
        gate: Option<Gate>,
        runtime: Arc<dyn Runtime>,
    ) -> Self {
        let (requests, listening) = (Slot::default(), Slot::default());
        Self { config, gate, runtime, listeners: Arc::default(), requests, listening }
    }

    /// The connection for requests, opened anew if there is none.
    pub(super) async fn live(&self) -> Result<Arc<Live>, StoreError> {
        self.requests.get(&*self.runtime, self.config.connect_timeout, || self.connect()).await
    }

    /// The connection on which wake-ups arrive. It ends with that for requests: a network that lets no
    /// reply through lets no wake-up through either, and nobody would notice.
    pub(super) async fn listening(&self) -> Result<Arc<Session>, StoreError> {
        let live = self.live().await?;
        let within = self.config.connect_timeout;
        self.listening.get(&*self.runtime, within, || self.listen(&live)).await
    }

    async fn connect(&self) -> Result<Live, StoreError> {
        let session = self.open(CancellationToken::new(), |_| {}).await?;
        // Whatever else may fail: it is of no use half way.
        let half_way = session.dead.clone().drop_guard();
        let table = &self.config.table;
        let sql = || table.schema_sql();
        self.make_or_know(&session, "_version", LeaseTable::VERSION, sql).await?;
        let mut admitted = String::new();
        if let Some(gate) = &self.gate {
            let (known, sql) = (LeaseTable::ADVISORY_VERSION, || table.advisory_sql());
            self.make_or_know(&session, "_locked_version", known, sql).await?;
            admitted = gate.admit(&self.config, &*self.runtime, &session).await?;
        }
        let client = &session.client;
        let identity = format!("SELECT {}()", table.object("_identity"));
        let prepared = async {
            let identity = client.query_one(&identity, &[]).await?.try_get(0)?;
            Ok((identity, Statements::prepare(client, self.gate.is_some(), table).await?))
        };
        let prepared = prepared.await;
        let (identity, statements) = prepared.map_err(|error| failed(&self.config, &error))?;
        half_way.disarm();
        Ok(Live { session, identity, statements, admitted })
    }

    async fn open(
        &self,
        dead: CancellationToken,
        heard: impl Fn(&Notification) + Send + 'static,
    ) -> Result<Session, StoreError> {
        let session = Session::open(&self.config, &*self.runtime, dead, heard).await?;
        // Ends what was spawned, if the caller loses patience too.
        let half_way = session.dead.clone().drop_guard();
        if self.gate.is_some() {
            // Before any setting is changed: it might be everybody's.
            advisory::is_direct(&self.config, &session).await?;
        }
        session.set_up(&self.config).await?;
        half_way.disarm();
        Ok(session)
    }

    /// Makes what `sql` makes, unless it is there, in the version that this store knows.
    async fn make_or_know(
        &self,
        session: &Session,
        version: &str,
        known: i32,
        sql: impl Fn() -> String,
    ) -> Result<(), StoreError> {
        let mut found = self.version(session, version).await;
        let is_missing = |error: &StoreError| error.kind() == StoreErrorKind::Missing;
        let table = self.config.table.object("");
        if found.as_ref().is_err_and(is_missing) && self.config.create_table {
            // One transaction, one after the other: IF NOT EXISTS alone is no protection.
            let sql = format!(
                "SELECT pg_advisory_xact_lock(hashtext('{}')); {}",
                self.config.table.channel(),
                sql()
            );
            let made = session.client.batch_execute(&sql).await;
            made.map_err(|error| failed(&self.config, &error))?;
            tracing::info!(%table, "made the lease table, or what it lacked");
            found = self.version(session, version).await;
        }
        let found = found?;
        if found != known {
            let detail = format!("{table} has version {found}; this store knows {known}");
            return Err(StoreError::new(StoreErrorKind::UnsupportedVersion, detail));
        }
        Ok(())
    }

    /// The version that this function tells, if it and the table are there.
    async fn version(&self, session: &Session, function: &str) -> Result<i32, StoreError> {
        let table = &self.config.table;
        let (leases, history) = (table.object(""), table.object("_history"));
        let sql = format!(
            "SELECT {}(), to_regclass('{leases}') IS NULL OR to_regclass('{history}') IS NULL",
            table.object(function)
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
        let heard = move |notification: &Notification| {
            let payload = notification.payload();
            if notification.channel() == inbox {
                listeners.message(payload);
            } else {
                listeners.wake(payload);
            }
        };
        let session = self.open(live.session.dead.child_token(), heard).await?;
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
        let inbox = self.config.table.inbox();
        let listens = self.listen_to(&session, &inbox);
        in_time(&*self.runtime, self.config.connect_timeout, listens).await?;
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

impl Connection for Session {
    fn dead(&self) -> &CancellationToken {
        &self.dead
    }
}

impl Connection for Live {
    fn dead(&self) -> &CancellationToken {
        &self.session.dead
    }
}
