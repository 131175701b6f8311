//! The conditions for granting leases in a session: the previous session is gone, and the new one has the locks
//! of all tenures that are still live.

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

/// When the server ends a session whose client can't be reached, which frees its locks: 15 s after the last sign
/// of life, whatever the session is doing. The machine of a client that hangs still gives such signs; for that
/// case the functions set `idle_session_timeout` for as long as they hold a lock.
///
/// The session's name distinguishes it from a session that a pooler might put in its place.
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
    /// The sessions that may have locks: the last one that was admitted, and those that should have followed it.
    sessions: Vec<Backend>,
    /// The last known holder of each election's lease.
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

    /// A name for a session, and the settings that give it the name.
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

    /// The statement that ends the sessions before this one and takes their locks: locks that were left would
    /// count as those of another program.
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

    /// Only this session is left.
    pub(in crate::store::postgres) fn admitted(&self, session: Backend) {
        self.state().sessions = vec![session];
    }

    /// Notes which locks a new session has to take.
    pub(in crate::store::postgres) fn note(&self, key: &Key, request: &Request, reply: &Reply) {
        let holder = match request {
            Request::Acquire { holder, .. }
            | Request::Renew { holder, .. }
            | Request::Release { holder, .. } => *holder,
            Request::Describe { .. } | Request::Observe | Request::Notify { .. } => return,
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
