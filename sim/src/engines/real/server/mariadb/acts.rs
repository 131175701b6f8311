//! Acts of an operator on a MariaDB server that runs on.

use std::sync::Arc;

use tenure::store::mysql::MysqlTables;
use tenure_servers::{MariadbServer, Proxy, ServerError, SqlSession};

use crate::engines::real::login;
use crate::engines::real::server::certificates::{Certificates, Shown};
use crate::engines::real::server::orders::Done;
use crate::plan::Act;

/// The sessions of candidates, and the one that has changed a lease last. Others of that candidate
/// are its earlier ones.
const SESSIONS: &str = "SELECT id FROM information_schema.PROCESSLIST WHERE user = 'candidate'";
const OF_THE_LEADER: &str = "SELECT id FROM information_schema.PROCESSLIST WHERE user = 'candidate' AND id = \
    (SELECT session FROM changes WHERE watched IS NULL ORDER BY changes.id DESC LIMIT 1)";
/// Another lock may be in the way: it is one of this operator's, which outlasts this wait.
const BEGIN: &str = "SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1; START TRANSACTION";
const ROW: &str = "SELECT k FROM tenure_leases FOR UPDATE";
const TABLE: &str = "LOCK TABLES tenure_leases WRITE";

/// The server notes each error, with the user. Sessions of candidates give up after their `lock_wait_timeout`.
pub(super) const NOTES_ERRORS: &str = "--plugin-load-add=sql_errlog";
const CANDIDATE: &str = "candidate[";
const GAVE_UP: &str = "ERROR 1205:";

/// The sessions that hold a lock.
#[derive(Debug, Default)]
pub(super) struct Acts {
    locks: Vec<Lock>,
    gates: Arc<[Proxy]>,
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

    /// The arguments of a server that also accepts encrypted connections.
    pub(super) fn encrypts(&self) -> Vec<String> {
        let Some(certificates) = &self.certificates else { return Vec::new() };
        let [file, key] = [certificates.file(), certificates.key_file()];
        vec![format!("--ssl-cert={}", file.display()), format!("--ssl-key={}", key.display())]
    }

    pub(super) fn begins(&mut self, act: Act, server: &MariadbServer) -> Result<Done, ServerError> {
        match act {
            Act::Disconnect => return ends(server, SESSIONS).map(Done::now),
            Act::DisconnectLeader => return ends(server, OF_THE_LEADER).map(Done::now),
            Act::LockRow => self.locks(act, server, ROW)?,
            Act::LockTable => self.locks(act, server, TABLE)?,
            // Candidates report whether they are refused, or refuse the server.
            Act::RotatePassword => {
                has_password(server, login::ANOTHER)?;
                ends(server, SESSIONS)?;
            }
            Act::ExpireCertificate => {
                self.shows(server, Shown::Expired)?;
                ends(server, SESSIONS)?;
            }
            // Refused before the run.
            _ => {}
        }
        Ok(Done::default())
    }

    fn locks(&mut self, act: Act, server: &MariadbServer, lock: &str) -> Result<(), ServerError> {
        let mut session = server.session()?;
        session.sql(BEGIN)?;
        // Without the lock the fault has no effect, which is counted.
        if session.sql(lock).is_ok() {
            let gave_up = gave_up(server)?;
            self.locks.push(Lock { act, _session: session, gave_up });
        }
        Ok(())
    }

    /// Returns whether a request has given up waiting for a lock.
    pub(super) fn ends(&mut self, act: Act, server: &MariadbServer) -> Result<bool, ServerError> {
        match act {
            Act::RotatePassword => has_password(server, login::PASSWORD)?,
            Act::ExpireCertificate => self.shows(server, Shown::Valid)?,
            _ => {
                let Some(place) = self.locks.iter().position(|lock| lock.act == act) else {
                    return Ok(false);
                };
                let before = self.locks.swap_remove(place).gave_up;
                return Ok(gave_up(server)? > before);
            }
        }
        Ok(false)
    }

    /// New connections are shown that certificate.
    pub(super) fn shows(&self, server: &MariadbServer, shown: Shown) -> Result<(), ServerError> {
        let Some(certificates) = &self.certificates else { return Ok(()) };
        certificates.writes(shown)?;
        server.sql("FLUSH SSL").map(drop)
    }

    /// The server is about to start again, and reads a valid certificate then.
    pub(super) fn renews(&self) -> Result<(), ServerError> {
        self.certificates.as_ref().map_or(Ok(()), |made| made.writes(Shown::Valid))
    }

    /// The server is gone, and all sessions with it.
    pub(super) fn are_gone(&mut self) {
        self.locks.clear();
    }

    /// New connections lead there. Open ones end.
    pub(super) fn leads_to(&self, port: u16) {
        for gate in &*self.gates {
            gate.redirect(([127, 0, 0, 1], port).into());
            gate.cut();
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

/// Lets candidates in, by their password alone, with the rights that they need.
pub(super) fn lets_in(server: &MariadbServer) -> Result<(), ServerError> {
    let (user, grants) = (login::USER, MysqlTables::default().grants_sql(login::USER));
    server.sql(&format!("CREATE USER {user}@'%'; {grants}"))?;
    has_password(server, login::PASSWORD)
}

/// Candidates have that password from now on.
pub(super) fn has_password(server: &MariadbServer, password: &str) -> Result<(), ServerError> {
    server.sql(&format!("ALTER USER {}@'%' IDENTIFIED BY '{password}'", login::USER)).map(drop)
}

/// Ends those sessions. Returns whether there was one; it may have gone meanwhile.
fn ends(server: &MariadbServer, which: &str) -> Result<bool, ServerError> {
    let sessions = server.sql(which)?;
    Ok(sessions.lines().filter(|id| server.sql(&format!("KILL {id}")).is_ok()).count() > 0)
}

/// The number of candidates' requests that gave up waiting for a lock.
fn gave_up(server: &MariadbServer) -> Result<usize, ServerError> {
    let errors = server.errors()?;
    let is_one = |line: &&str| line.contains(CANDIDATE) && line.contains(GAVE_UP);
    Ok(errors.lines().filter(is_one).count())
}
