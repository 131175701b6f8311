//! The state of the server process: its identity, its data and its sessions.

use std::collections::BTreeMap;
use std::fmt;

use sha1_smol::Sha1;

use super::keyspace::Keyspace;
use super::reply::{Protocol, Reply};
use super::session::{Session, SessionKey};
use super::{Role, Settings};

pub(super) struct Server {
    pub(super) settings: Settings,
    pub(super) keyspace: Keyspace,
    pub(super) run_id: String,
    pub(super) replication_id: String,
    pub(super) started_at: u64,
    pub(super) stalled: bool,
    /// True if input has arrived during the stall.
    pub(super) has_waiting_input: bool,
    clock: Box<dyn Fn() -> u64>,
    /// Ordered, so that messages go out in the same order in each run.
    sessions: BTreeMap<SessionKey, Session>,
    sessions_so_far: u64,
    last_client_id: i64,
    restarts: u64,
    promotions: u64,
}

impl Server {
    pub(super) fn new(settings: Settings, clock: Box<dyn Fn() -> u64>) -> Self {
        let mut server = Self {
            settings,
            keyspace: Keyspace::default(),
            run_id: String::new(),
            replication_id: String::new(),
            started_at: clock(),
            stalled: false,
            has_waiting_input: false,
            clock,
            sessions: BTreeMap::new(),
            sessions_so_far: 0,
            last_client_id: 0,
            restarts: 0,
            promotions: 0,
        };
        server.take_identity();
        server
    }

    pub(super) fn now(&self) -> u64 {
        (self.clock)()
    }

    /// A connection's session.
    pub(super) fn open(&mut self) -> SessionKey {
        self.last_client_id += 1;
        let session = Session::new(self.last_client_id, self.settings.password.is_none());
        self.insert(session)
    }

    /// A session for a command of the test itself. It does not change the ids of clients' sessions.
    pub(super) fn open_own_session(&mut self) -> SessionKey {
        let mut session = Session::new(0, true);
        session.protocol = Protocol::Resp3;
        self.insert(session)
    }

    fn insert(&mut self, session: Session) -> SessionKey {
        self.sessions_so_far += 1;
        let key = SessionKey(self.sessions_so_far);
        self.sessions.insert(key, session);
        key
    }

    pub(super) fn close(&mut self, key: SessionKey) {
        self.sessions.remove(&key);
    }

    /// `None` once the server has restarted.
    pub(super) fn session(&self, key: SessionKey) -> Option<&Session> {
        self.sessions.get(&key)
    }

    /// `None` once the server has restarted.
    pub(super) fn session_mut(&mut self, key: SessionKey) -> Option<&mut Session> {
        self.sessions.get_mut(&key)
    }

    /// Sends a message to the channel's subscribers and returns their number.
    pub(super) fn publish(&mut self, channel: &[u8], message: &Reply) -> usize {
        let subscribers =
            self.sessions.values_mut().filter(|session| session.channels.contains(channel));
        subscribers.map(|session| session.send(message)).count()
    }

    pub(super) fn stall(&mut self, on: bool) {
        self.stalled = on;
        self.has_waiting_input &= on;
        self.wake_all();
    }

    pub(super) fn restart(&mut self, keep_data: bool) {
        self.restarts += 1;
        self.take_identity();
        self.started_at = self.now();
        self.last_client_id = 0;
        if !keep_data {
            self.keyspace.clear();
        }
        self.wake_all();
        self.sessions.clear();
    }

    pub(super) fn set_role(&mut self, role: Role) {
        if self.settings.role == Role::Replica && role == Role::Master {
            self.promotions += 1;
            self.take_identity();
        }
        self.settings.role = role;
    }

    fn wake_all(&self) {
        self.sessions.values().for_each(|session| session.wake.notify_one());
    }

    /// A process has one run id for its life. A data set's history has one replication id until
    /// another master takes it over.
    fn take_identity(&mut self) {
        let Self { settings: Settings { seed, .. }, restarts, promotions, .. } = self;
        self.run_id = forty_hex_digits(&format!("run {seed} {restarts}"));
        self.replication_id =
            forty_hex_digits(&format!("replication {seed} {restarts} {promotions}"));
    }
}

fn forty_hex_digits(of: &str) -> String {
    Sha1::from(of).digest().to_string()
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("run_id", &self.run_id)
            .field("role", &self.settings.role)
            .field("stalled", &self.stalled)
            .field("sessions", &self.sessions.len())
            .field("keyspace", &self.keyspace)
            .finish_non_exhaustive()
    }
}
