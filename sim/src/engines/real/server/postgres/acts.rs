//! Acts of an operator on a PostgreSQL server that runs on.

use std::sync::Arc;

use tenure_servers::{PgBouncer, PostgresServer, Proxy, ServerError, SqlSession};

use crate::engines::real::login;
use crate::engines::real::server::certificates::{Certificates, Shown};
use crate::engines::real::server::orders::Done;
use crate::plan::Act;

/// Ends the sessions of candidates: all but those of psql, which are the operator's. Each ended
/// session is a row.
const TERMINATE: &str = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' \
    AND application_name <> 'psql' AND pg_terminate_backend(pid)";
/// Ends one session: that of the candidate that has renewed last. The other one of that candidate,
/// which listens, stays.
const TERMINATE_LEADER: &str = "SELECT pid FROM (SELECT pid FROM pg_stat_activity \
    WHERE backend_type = 'client backend' AND application_name <> 'psql' AND query ~ 'SET number = ' \
    ORDER BY query_start DESC LIMIT 1) AS leader WHERE pg_terminate_backend(pid)";
/// Another lock may be in the way: it is one of this operator's, which outlasts this wait.
const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = '500ms'";
const ROW: &str = "SELECT 1 FROM tenure.leases FOR UPDATE";
const TABLE: &str = "LOCK TABLE tenure.leases IN ACCESS EXCLUSIVE MODE";
/// Each line of the server's log begins with the name of its session. Those of candidates give up
/// after their `lock_timeout`.
pub(super) const NAMES_SESSIONS: &str = "log_line_prefix=%a ";
const CANDIDATE: &str = "tenure ";
const GAVE_UP: &str = "due to lock timeout";
/// All but the superuser need their password.
const RULES: &str = "host all all 127.0.0.1/32 scram-sha-256";
/// Fewer sessions than candidates.
const POOLED: u32 = 2;

/// The sessions that hold a lock, and the pooler in between.
#[derive(Debug, Default)]
pub(super) struct Acts {
    locks: Vec<Lock>,
    gates: Arc<[Proxy]>,
    pooler: Option<PgBouncer>,
    certificates: Option<Certificates>,
}

#[derive(Debug)]
struct Lock {
    act: Act,
    /// Holds it until it is dropped.
    _session: SqlSession,
    /// The earlier number of waits for a lock that were given up.
    gave_up: usize,
}

impl Acts {
    pub(super) fn with(certificates: Option<Certificates>) -> Self {
        Self { certificates, ..Self::default() }
    }

    /// Candidates reach the server by these.
    pub(super) fn has_gates(&mut self, gates: &Arc<[Proxy]>) {
        self.gates = Arc::clone(gates);
    }

    pub(super) fn begins(
        &mut self,
        act: Act,
        server: &PostgresServer,
    ) -> Result<Done, ServerError> {
        match act {
            Act::Disconnect => Ok(Done::now(!server.sql(TERMINATE)?.is_empty())),
            Act::DisconnectLeader => Ok(Done::now(!server.sql(TERMINATE_LEADER)?.is_empty())),
            Act::LockRow => self.locks(act, server, ROW),
            Act::LockTable => self.locks(act, server, TABLE),
            // Candidates report whether they have noticed.
            Act::Pooler => {
                // Its own certificate does not expire.
                let certificate = self.certificates.as_ref();
                let certificate =
                    certificate.map(|made| (made.certificate(Shown::Valid), made.key()));
                let pooler = PgBouncer::start_with(server, POOLED, certificate)?;
                self.leads_to(pooler.port());
                self.pooler = Some(pooler);
                Ok(Done::default())
            }
            Act::RotatePassword => {
                has_password(server, login::ANOTHER)?;
                server.sql(TERMINATE)?;
                // Candidates report whether they are refused.
                Ok(Done::default())
            }
            Act::ExpireCertificate => {
                self.shows(server, Shown::Expired)?;
                server.sql(TERMINATE)?;
                // Candidates report whether they refuse it.
                Ok(Done::default())
            }
            // Refused before the run.
            Act::FlushScripts
            | Act::FlushData
            | Act::RevokeRights
            | Act::FillMemory
            | Act::DeleteLog
            | Act::KillMember
            | Act::PauseRaftLeader
            | Act::MoveRaftLeader
            | Act::SplitBrain
            | Act::MoveSlot
            | Act::FillDisk => Ok(Done::default()),
        }
    }

    fn locks(
        &mut self,
        act: Act,
        server: &PostgresServer,
        lock: &str,
    ) -> Result<Done, ServerError> {
        let mut session = server.session()?;
        session.sql(BEGIN)?;
        // Without the lock the fault has no effect, which is counted.
        if session.sql(lock).is_ok() {
            let gave_up = gave_up(server)?;
            self.locks.push(Lock { act, _session: session, gave_up });
        }
        Ok(Done::default())
    }

    /// New connections lead there. Open ones end.
    pub(super) fn leads_to(&self, port: u16) {
        for gate in &*self.gates {
            gate.redirect(([127, 0, 0, 1], port).into());
            gate.cut();
        }
    }

    /// Unlocks, or takes the pooler away. Returns whether a request has given up waiting for a
    /// lock.
    pub(super) fn ends(&mut self, act: Act, server: &PostgresServer) -> Result<bool, ServerError> {
        match act {
            Act::Pooler => {
                self.leads_to(server.port());
                self.pooler = None;
                return Ok(false);
            }
            Act::RotatePassword => {
                has_password(server, login::PASSWORD)?;
                return Ok(false);
            }
            Act::ExpireCertificate => {
                self.shows(server, Shown::Valid)?;
                return Ok(false);
            }
            _ => {}
        }
        let Some(place) = self.locks.iter().position(|lock| lock.act == act) else {
            return Ok(false);
        };
        let before = self.locks.swap_remove(place).gave_up;
        Ok(gave_up(server)? > before)
    }

    /// New connections are shown that certificate.
    fn shows(&self, server: &PostgresServer, shown: Shown) -> Result<(), ServerError> {
        let Some(certificates) = &self.certificates else { return Ok(()) };
        server.certify(certificates.certificate(shown), certificates.key())
    }

    /// A server that is new, or has started again, shows a valid certificate.
    pub(super) fn renews(&self, server: &PostgresServer) -> Result<(), ServerError> {
        self.shows(server, Shown::Valid)
    }

    /// The server is gone, and all sessions with it.
    pub(super) fn are_gone(&mut self, server: &PostgresServer) {
        self.locks.clear();
        if self.pooler.take().is_some() {
            self.leads_to(server.port());
        }
    }

    /// Candidates reach no server, until the gates are opened.
    pub(super) fn shuts(&self) {
        for gate in &*self.gates {
            gate.refuse(true);
            gate.cut();
        }
    }
}

/// Lets candidates in, by their password alone.
pub(super) fn lets_in(server: &PostgresServer) -> Result<(), ServerError> {
    server.sql(&format!("CREATE ROLE {} SUPERUSER LOGIN", login::USER))?;
    has_password(server, login::PASSWORD)?;
    server.authenticate(RULES)
}

/// Candidates have that password from now on.
pub(super) fn has_password(server: &PostgresServer, password: &str) -> Result<(), ServerError> {
    server.sql(&format!("ALTER ROLE {} PASSWORD '{password}'", login::USER)).map(drop)
}

/// The number of candidates' requests that gave up waiting for a lock.
fn gave_up(server: &PostgresServer) -> Result<usize, ServerError> {
    let log = server.log()?;
    Ok(log.lines().filter(|line| line.starts_with(CANDIDATE) && line.contains(GAVE_UP)).count())
}
