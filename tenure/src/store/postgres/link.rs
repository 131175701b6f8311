//! The connection for requests and the one for wake-ups, replaced whenever they may be stuck.
//!
//! The outcome of a request without a reply is unknown, and stays so. Its backend may still carry
//! it out, like a late request.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use tenure_core::Mark;
use tokio_postgres::{Notification, SimpleQueryRow};
use tokio_util::sync::CancellationToken;

use super::config::PostgresConfig;
use super::error::{failed, not_made};
use super::listeners::{Listeners, heard};
use super::live::{Listening, Live};
use super::presence::{self, Presence};
use super::session::{Session, number, rows};
use super::statements::Statements;
use super::table::{LeaseTable, creation_lock};
use crate::logging;
use crate::runtime::Runtime;
use crate::store::dial::Dial;
use crate::store::slot::{Patience, Slot};
use crate::store::watches::Watches;
use crate::store::{Key, StoreError, StoreErrorKind};

pub(super) struct Link {
    pub(super) config: PostgresConfig,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) listeners: Arc<Listeners>,
    pub(super) requests: Slot<Live>,
    pub(super) listening: Slot<Listening>,
    /// The marks seen by purges.
    pub(super) watches: Mutex<Watches<Key, Mark>>,
    /// True if the log has said that there is none, though there is one for requests.
    lacks_wakeups: AtomicBool,
    dial: Dial,
}

impl Link {
    pub(super) fn new(config: PostgresConfig, runtime: Arc<dyn Runtime>) -> Self {
        config.warns();
        let requests = Slot::new(&runtime, config.connect_timeout);
        let listening = Slot::for_one(&runtime, config.connect_timeout);
        let dial = Dial::new(&runtime, config.connect_timeout);
        let lacks_wakeups = AtomicBool::new(false);
        let listeners = Arc::default();
        let watches = Mutex::default();
        Self { config, runtime, listeners, requests, listening, watches, lacks_wakeups, dial }
    }

    /// The connection for requests, opened anew if there is none.
    pub(super) async fn live(
        self: &Arc<Self>,
        patience: Patience,
    ) -> Result<Arc<Live>, StoreError> {
        let link = Arc::clone(self);
        let connect = || async move { link.connect().await }.boxed();
        self.requests.get(patience, connect).await
    }

    /// The connection on which wake-ups arrive. It ends with the connection for requests: a network
    /// that loses replies loses wake-ups too, which nothing else would notice.
    pub(super) async fn listening(self: &Arc<Self>) -> Result<Arc<Listening>, StoreError> {
        // Without it, the other one is not attempted.
        self.live(Patience::Waits).await?;
        let link = Arc::clone(self);
        let connect = || {
            async move {
                let live = link.live(Patience::Waits).await?;
                link.listen(&live).await
            }
            .boxed()
        };
        let opened = self.listening.get(Patience::Waits, connect).await;
        self.log_wakeups(opened.as_ref().err());
        opened
    }

    /// Says once that there are no wake-ups, and once that they are back. Without any connection,
    /// the driver says it.
    fn log_wakeups(&self, error: Option<&StoreError>) {
        match error {
            Some(error) if self.requests.current().is_some() => {
                if !self.lacks_wakeups.swap(true, Ordering::Relaxed) {
                    let error = error.with_causes();
                    logging::warn!(
                        %error,
                        "no second connection could be opened: until there is one, no wake-ups and messages arrive, \
                         and waiting candidates poll"
                    );
                }
            }
            Some(_) => {}
            None => {
                if self.lacks_wakeups.swap(false, Ordering::Relaxed) {
                    logging::info!(
                        "the second connection is open: wake-ups and messages arrive again"
                    );
                }
            }
        }
    }

    /// Opens a connection for requests, in two round trips after the protocol's own: the first
    /// examines the server and the table, the second needs their state.
    async fn connect(&self) -> Result<Live, StoreError> {
        let table = &self.config.table;
        let session = self.open(CancellationToken::new(), |_| {}).await?;
        // If anything else fails, the session is unusable.
        let half_way = session.dead.clone().drop_guard();
        let rows = session.set_up(&self.config, &presence::query(table)).await?;
        self.make_or_find(&session, &Presence::read(&rows)?).await?;
        let (version, identity, statements) = tokio::join!(
            self.is_known(&session),
            self.identity(&session),
            Statements::prepare(&session.client, table)
        );
        version?;
        let (identity, backend) = identity?;
        let statements = statements.map_err(|error| failed(&self.config, &error))?;
        half_way.disarm();
        let is_examined = AtomicBool::new(false);
        Ok(Live { session, identity, backend, statements, is_examined })
    }

    pub(super) async fn open(
        &self,
        dead: CancellationToken,
        heard: impl Fn(&Notification) + Send + 'static,
    ) -> Result<Session, StoreError> {
        Session::open(&self.config, &self.dial, dead, heard).await
    }

    /// Creates missing tables and functions, if that is configured and safe.
    async fn make_or_find(&self, session: &Session, there: &Presence) -> Result<(), StoreError> {
        let table = &self.config.table;
        self.is_fit(there)?;
        let Some(missing) = &there.missing else { return Ok(()) };
        if !self.config.create_table {
            let detail = format!(
                "{} is not whole (LeaseTable::schema_sql has the statements that make it): no {missing}",
                table.object("")
            );
            return Err(StoreError::new(StoreErrorKind::Missing, detail));
        }
        self.make(session, there, &table.schema_sql()).await?;
        logging::info!(table = table.object(""), "created the lease table, or its missing parts");
        Ok(())
    }

    /// Carries out statements of a migration, in a session of its own.
    pub(super) async fn migrate(&self, sql: &str) -> Result<(), StoreError> {
        let session = self.open(CancellationToken::new(), |_| {}).await?;
        let _ended = session.dead.clone().drop_guard();
        let rows = session.set_up(&self.config, &presence::query(&self.config.table)).await?;
        let there = Presence::read(&rows)?;
        self.is_fit(&there)?;
        self.make(&session, &there, sql).await
    }

    /// Checks that no stranger and no earlier version has made a part of the table. A user that does
    /// not create it relies on its owner.
    fn is_fit(&self, there: &Presence) -> Result<(), StoreError> {
        if self.config.create_table {
            there.is_ours()?;
        }
        there.is_current(&self.config.table)
    }

    /// Carries out statements that create something, in one transaction and under a lock. They wait
    /// for that lock, but not long for those of tables, since renewals queue behind them.
    async fn make(&self, session: &Session, there: &Presence, sql: &str) -> Result<(), StoreError> {
        // Functions of another version must not be replaced.
        if there.tells_version {
            self.is_known(session).await?;
        }
        let lock = format!(
            "SELECT set_config('lock_timeout', '0', true), {}; \
             SELECT set_config('lock_timeout', '500ms', true);",
            creation_lock(self.config.table.schema_name())
        );
        let made = session.client.batch_execute(&format!("{lock} {sql}")).await;
        made.map_err(|error| not_made(&self.config, &error))
    }

    /// Checks that the table has the version that this store knows.
    async fn is_known(&self, session: &Session) -> Result<(), StoreError> {
        let table = &self.config.table;
        let row = self.row(session, &format!("SELECT {}()", table.object("_version"))).await?;
        let (found, known) = (number::<i32>(&row, 0), LeaseTable::VERSION);
        if found != Some(known) {
            let found = found.map_or_else(|| "none".to_owned(), |found| found.to_string());
            let table = table.object("");
            let detail = format!("{table} has version {found}; this store knows {known}");
            return Err(StoreError::new(StoreErrorKind::UnsupportedVersion, detail));
        }
        Ok(())
    }

    /// The server's identity, and the process that has reported it.
    async fn identity(&self, session: &Session) -> Result<(String, String), StoreError> {
        let table = &self.config.table;
        let [identity, backend, place] =
            ["_identity", "_backend", "_place"].map(|function| table.object(function));
        let row = format!("SELECT {identity}(), {backend}(), {place}()");
        let row = self.row(session, &row).await?;
        let column = |index, parts: &[_]| whole(row.get(index).unwrap_or_default(), parts);
        // The functions that grant read the place again.
        column(2, &["the table's number", "the table's file"])?;
        let identity = column(0, &["system identifier", "timeline", "start time"])?;
        Ok((identity, column(1, &["process", "start time"])?))
    }

    /// The one row of an answer.
    async fn row(&self, session: &Session, sql: &str) -> Result<SimpleQueryRow, StoreError> {
        let answers = session.client.simple_query(sql).await;
        let rows = rows(answers.map_err(|error| failed(&self.config, &error))?);
        rows.into_iter().next().ok_or_else(|| {
            StoreError::new(StoreErrorKind::UnexpectedReply, "no row where there is always one")
        })
    }

    async fn listen(&self, live: &Live) -> Result<Listening, StoreError> {
        let (listeners, inbox) = (Arc::clone(&self.listeners), self.config.table.inbox());
        let hears = move |notification: &Notification| heard(&listeners, notification, &inbox);
        let session = self.open(live.session.dead.child_token(), hears).await?;
        let half_way = session.dead.clone().drop_guard();
        session.set_up(&self.config, "").await?;
        half_way.disarm();
        Ok(Listening::new(session))
    }
}

/// An identity that has all of its parts: one without them would be the same after a loss of data.
fn whole(identity: &str, parts: &[&str]) -> Result<String, StoreError> {
    let mut found = identity.split('/');
    for part in parts {
        let value = found.next().unwrap_or_default();
        if value.chars().all(|digit| digit == '0') {
            let detail = format!("it has no {part}, but {value:?} in {identity:?}");
            return Err(StoreError::new(StoreErrorKind::Withheld, detail));
        }
    }
    Ok(identity.to_owned())
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_without_a_part_is_refused() {
        let parts = ["system identifier", "timeline", "start time"];
        assert_eq!(whole("7300/00000001/17", &parts).unwrap(), "7300/00000001/17");
        for (identity, missing) in [
            ("", "system identifier"),
            ("//", "system identifier"),
            ("0/00000001/17", "system identifier"),
            ("7300//17", "timeline"),
            ("7300/00000001/", "start time"),
            ("7300/00000001", "start time"),
        ] {
            let error = whole(identity, &parts).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Withheld, "{identity}");
            assert!(error.to_string().contains(&format!("no {missing}")), "{error}");
        }
    }
}
