//! What a session needs before leases are granted in it: that the one before it is gone, and that it has the
//! locks of all tenures that are still live.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::config::{AdvisoryConfig, Takeover};
use super::number::LockNumber;
use crate::HolderId;
use crate::runtime::Runtime;
use crate::store::postgres::listeners::payload;
use crate::store::postgres::session::Backend;
use crate::store::postgres::table::LeaseTable;
use crate::store::{Key, Reply, Request, StoreError, StoreErrorKind};

/// How soon the server ends a session whose client can't be reached any more, so that its locks are free:
/// 15 s after the last sign of life, whatever the session is doing. A client that stands still gives such
/// signs; of that, `idle_session_timeout` takes care, which the functions set for as long as they hold a lock.
///
/// The session's name tells it from any that somebody in between might put in its place.
const SETTINGS: &str = "
            PERFORM set_config('tcp_keepalives_idle', '5', false);
            PERFORM set_config('tcp_keepalives_interval', '5', false);
            PERFORM set_config('tcp_keepalives_count', '2', false);
            PERFORM set_config('tcp_user_timeout', '15000', false);
            BEGIN
                PERFORM set_config('idle_session_timeout', '0', false);
            EXCEPTION WHEN OTHERS THEN NULL;
            END;
            PERFORM set_config('tenure.session', '{name}', false);";

pub(in crate::store::postgres) struct Gate {
    config: AdvisoryConfig,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The sessions that may have locks: the last that was let through, and those that were to follow it.
    sessions: Vec<Backend>,
    /// Who was granted the lease of which election last, as far as is known here.
    leaders: BTreeMap<Key, HolderId>,
}

impl Gate {
    pub(in crate::store::postgres) fn new(config: AdvisoryConfig) -> Self {
        Self { config, state: Mutex::default() }
    }

    pub(in crate::store::postgres) fn number(&self, key: &Key) -> LockNumber {
        self.config.number_of(key)
    }

    pub(in crate::store::postgres) fn is_immediate(&self) -> bool {
        self.config.takeover == Takeover::Immediate
    }

    /// A name for a session, and what names it.
    pub(in crate::store::postgres) fn name(
        runtime: &dyn Runtime,
    ) -> Result<(String, String), StoreError> {
        let name = runtime.entropy().map_err(|error| {
            StoreError::new(StoreErrorKind::Refused, "no random name for the session")
                .with_source(error)
        })?;
        let name = format!("{name:032x}");
        let settings = SETTINGS.replace("{name}", &name);
        Ok((name, settings))
    }

    /// Ends the sessions before this one, which were given up for whatever reason, and takes their locks: if
    /// they were left, they would be taken for somebody else's.
    pub(in crate::store::postgres) fn retake(&self, table: &LeaseTable, by: Backend) -> String {
        let mut state = self.state();
        let before = list(&state.sessions, |one| format!("{}", one.pid));
        let starts = list(&state.sessions, |one| format!("{}", one.started));
        state.sessions.push(by);
        let leaders: Vec<_> = state.leaders.iter().collect();
        let keys = list(&leaders, |(key, _)| format!("decode('{}', 'hex')", payload(key)));
        let holders =
            list(&leaders, |(_, holder)| format!("decode('{:032x}', 'hex')", holder.to_bits()));
        let numbers = list(&leaders, |(key, _)| format!("({})", self.number(key).number));
        let pairs = list(&leaders, |(key, _)| format!("{}", self.number(key).is_pair));
        format!(
            "SELECT {}({before}::integer[], {starts}::bigint[], {keys}::bytea[], {holders}::bytea[], \
             {numbers}::bigint[], {pairs}::boolean[])",
            table.object("_lock_retake")
        )
    }

    /// No session is left but this one.
    pub(in crate::store::postgres) fn admitted(&self, session: Backend) {
        self.state().sessions = vec![session];
    }

    /// Whose lock a new session has to take.
    pub(in crate::store::postgres) fn note(&self, key: &Key, request: &Request, reply: &Reply) {
        let holder = match request {
            Request::Acquire { holder, .. }
            | Request::Renew { holder, .. }
            | Request::Release { holder, .. } => *holder,
            Request::Observe | Request::Notify { .. } => return,
        };
        let leaders = &mut self.state().leaders;
        let is_known = leaders.get(key) == Some(&holder);
        match reply {
            Reply::Granted { .. } | Reply::Renewed if !is_known => {
                leaders.insert(key.clone(), holder);
            }
            Reply::Superseded { .. } | Reply::Released | Reply::NotHeld if is_known => {
                leaders.remove(key);
            }
            _ => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn list<T>(of: &[T], element: impl Fn(&T) -> String) -> String {
    let elements: Vec<_> = of.iter().map(element).collect();
    format!("ARRAY[{}]", elements.join(", "))
}
