//! A server, a store on it, and what else happens to the server.

use tenure::store::postgres::{Postgres, PostgresConfig};
use tenure_servers::{PostgresServer, SqlSession};

use super::state;
use crate::replay::compare::{Examines, Kept, Subject};
use crate::replay::draw::{Draw, Values};

const TIMES: &[u64] = &[1_000_000, 2_000_000, 3_000_000, 5_000_000];
pub(crate) const VALUES: Values = Values {
    ttls: TIMES,
    times: TIMES,
    watched: &[1_000_000, 2_500_000, 5_000_000, 9_000_000_000],
    // Above what a floating-point number keeps exactly.
    tokens: &[(1 << 53) + 1, (1 << 53) + 2, (1 << 53) + 99],
    numbers: &[],
};

pub(crate) struct World {
    server: PostgresServer,
    session: SqlSession,
    store: Postgres,
    trusts: bool,
}

fn store(server: &PostgresServer, trusts: bool) -> Postgres {
    let config = PostgresConfig::new("127.0.0.1", server.port(), "postgres");
    Postgres::new(config.accept_fsync_off(true).trust_empty_store(trusts))
}

impl World {
    pub(crate) fn new() -> Self {
        let server = PostgresServer::start_with(&["fsync=off"]).expect("a server");
        let session = server.session().expect("a session");
        Self { store: store(&server, false), server, session, trusts: false }
    }
}

impl Subject for World {
    type Store = Postgres;
    const PURGE_EXAMINES: Examines = Examines::Always;
    const TELLS_LAST_PAST: bool = true;

    fn store(&self) -> &Postgres {
        &self.store
    }

    fn trusts(&self) -> bool {
        self.trusts
    }

    fn kept(&mut self) -> Kept {
        state::read(&mut self.session)
    }

    fn disturb(&mut self, draw: &mut Draw, _: &Kept) -> bool {
        let sql = match draw.below(44) {
            0 | 1 => {
                self.server.restart().expect("restarted");
                self.session = self.server.session().expect("a session");
                None
            }
            2 | 3 => {
                self.session.sql("SET client_min_messages = error").expect("set");
                self.session.sql("DROP SCHEMA tenure CASCADE").expect("dropped");
                None
            }
            4..22 => None,
            22..26 => Some("TRUNCATE tenure.leases"),
            26..30 => Some("DELETE FROM tenure.leases"),
            30..34 => Some("DELETE FROM tenure.leases_past"),
            34..38 => Some("UPDATE tenure.leases_past SET identity = NULL"),
            _ => Some("UPDATE tenure.leases SET token = token - 7 WHERE token > 7"),
        };
        if let Some(sql) = sql {
            self.session.sql(sql).expect("done");
            return false;
        }
        self.trusts = draw.one_in(3);
        self.store = store(&self.server, self.trusts);
        true
    }
}
