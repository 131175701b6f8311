//! What a session needs before leases are granted in it: that it is ours alone, and that the one before it,
//! with all of its locks, is gone.

use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, duplex};
use tokio_postgres::{NoTls, SimpleQueryMessage, SimpleQueryRow};

use super::{AdvisoryConfig, LockNumber, Takeover};
use crate::runtime::Runtime;
use crate::store::postgres::PostgresConfig;
use crate::store::postgres::error::failed;
use crate::store::postgres::session::Session;
use crate::store::{Key, StoreError, StoreErrorKind};

/// How soon the server ends a session whose client can't be reached any more, so that its locks are free:
/// 15 s after the last sign of life, whatever the session is doing. A client that stands still gives such
/// signs; of that, `idle_session_timeout` takes care, which the functions set for as long as they hold a lock.
///
/// The session's name tells it from any that somebody in between might put in its place.
const SETTINGS: &str = "
    SET tcp_keepalives_idle TO 5; SET tcp_keepalives_interval TO 5; SET tcp_keepalives_count TO 2;
    SET tcp_user_timeout TO 15000;
    DO $$ BEGIN PERFORM set_config('idle_session_timeout', '0', false);
        EXCEPTION WHEN OTHERS THEN NULL; END $$;
    SELECT pid, (date_part('epoch', backend_start) * 1e6)::bigint,
            set_config('tenure.session', '{name}', false)
        FROM pg_stat_activity WHERE pid = pg_backend_pid()";

/// How often to look whether the session before has gone.
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(in crate::store::postgres) struct Gate {
    config: AdvisoryConfig,
    /// The last session that was let through.
    before: Mutex<Option<Backend>>,
}

/// A process of the server that serves one session. Its number is used again; with its start, it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Backend {
    pid: i32,
    started: i64,
}

impl Gate {
    pub(super) fn new(config: AdvisoryConfig) -> Self {
        Self { config, before: Mutex::default() }
    }

    pub(in crate::store::postgres) fn number(&self, key: &Key) -> LockNumber {
        self.config.number_of(key)
    }

    pub(in crate::store::postgres) fn is_immediate(&self) -> bool {
        self.config.takeover == Takeover::Immediate
    }

    /// Lets a session through, and names it. The one before, which was given up for whatever reason, is ended
    /// first: it may still hold locks, and these would be taken for somebody else's.
    pub(in crate::store::postgres) async fn admit(
        &self,
        config: &PostgresConfig,
        runtime: &dyn Runtime,
        session: &Session,
    ) -> Result<String, StoreError> {
        let name = runtime.entropy().map_err(|error| {
            StoreError::new(StoreErrorKind::Refused, "no random name for the session")
                .with_source(error)
        })?;
        let name = format!("{name:032x}");
        let row = ask(config, session, &SETTINGS.replace("{name}", &name)).await?;
        let backend =
            row.and_then(|row| Some(Backend { pid: number(&row, 0)?, started: number(&row, 1)? }));
        let backend = backend.ok_or_else(|| unexpected("its own process"))?;
        let before = *self.before.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = before {
            let sql = before.ends();
            while ask(config, session, &sql).await?.is_some() {
                runtime.sleep_until(runtime.now() + LOOK_EVERY).await;
            }
        }
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = Some(backend);
        Ok(name)
    }
}

impl Backend {
    /// Ends it, which a user may do to its own; returns a row as long as it is there.
    fn ends(self) -> String {
        let Self { pid, started } = self;
        format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE pid = {pid} AND (date_part('epoch', backend_start) * 1e6)::bigint = {started}"
        )
    }
}

/// Whether the process that serves the session is the one that the server told of when the connection began.
/// A pooler tells of itself there, and has sessions that it hands out to whoever needs one.
///
/// The client library keeps that number to itself, but not what it would send to cancel a request.
pub(in crate::store::postgres) async fn is_direct(
    config: &PostgresConfig,
    session: &Session,
) -> Result<(), StoreError> {
    let (mut ours, theirs) = duplex(1024);
    let asked = session.client.cancel_token().cancel_query_raw(theirs, NoTls).await;
    asked.map_err(|error| failed(config, &error))?;
    // Length, code, process; a secret follows.
    let mut request = [0; 12];
    ours.read_exact(&mut request).await.map_err(|_| unexpected("the number to cancel by"))?;
    let [_, _, _, _, _, _, _, _, pid @ ..] = request;
    let told = i32::from_be_bytes(pid);
    let row = ask(config, session, "SELECT pg_backend_pid()").await?;
    let serves: Option<i32> = row.and_then(|row| number(&row, 0));
    let serves = serves.ok_or_else(|| unexpected("its own process"))?;
    if serves != told {
        let detail = format!(
            "the session is served by process {serves}, and the connection began with {told}; \
             connect to the server itself"
        );
        return Err(StoreError::new(StoreErrorKind::Pooler, detail));
    }
    Ok(())
}

/// The first row of the last answer that has any.
async fn ask(
    config: &PostgresConfig,
    session: &Session,
    sql: &str,
) -> Result<Option<SimpleQueryRow>, StoreError> {
    let answers = session.client.simple_query(sql).await;
    let answers = answers.map_err(|error| failed(config, &error))?;
    Ok(answers.into_iter().rev().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    }))
}

fn number<T: FromStr>(row: &SimpleQueryRow, index: usize) -> Option<T> {
    row.try_get(index).ok()??.parse().ok()
}

fn unexpected(to: &str) -> StoreError {
    StoreError::new(StoreErrorKind::UnexpectedReply, format!("to the question for {to}"))
}
