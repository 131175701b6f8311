//! Servers for every row of the store contract, whose data survives a restart or is lost in one of two ways.

use tenure::store::postgres::Postgres;
use tenure_servers::PostgresServer;
use tenure_sim::conformance::{Data, Mishap, Row, check};

use super::support::{Place, at, local, server};

/// The tables may be emptied, and the server restarted.
pub(crate) fn place() -> Place {
    let empty = |server: &mut PostgresServer, data: Data| {
        if data == Data::Lost {
            server.sql("TRUNCATE tenure.leases, tenure.leases_history").unwrap();
        }
        server.restart().unwrap();
    };
    Place::of(server(), distrustful).replaced(empty).suffering(&Mishap::ALL, suffer).place()
}

/// The same, which is taken for whole when it is empty.
pub(crate) fn trusting() -> Place {
    let connect = |server: &PostgresServer| at(server.port());
    Place::of(server(), connect).suffering(&Mishap::ALL, suffer).trusting().place()
}

fn distrustful(server: &PostgresServer) -> Postgres {
    Postgres::new(local(server.port()))
}

fn suffer(server: &mut PostgresServer, mishap: Mishap) {
    let sql = match mishap {
        Mishap::LeasesEnd => "UPDATE tenure.leases SET lease_end = 1",
        Mishap::LongTime => "UPDATE tenure.leases_history SET known_since = 1",
        Mishap::OtherServer => "UPDATE tenure.leases_history SET identity = ''another''",
        Mishap::HistoryLost => "DELETE FROM tenure.leases_history",
        Mishap::AllLost => "TRUNCATE tenure.leases, tenure.leases_history",
    };
    // Before the first request there is no table, and so nothing that could suffer.
    let sql = format!(
        "DO $$ BEGIN IF to_regclass('tenure.leases_history') IS NOT NULL THEN \
         EXECUTE '{sql}'; END IF; END $$"
    );
    server.sql(&sql).unwrap();
}

/// Another cluster may be put in the place of the old one.
#[test]
fn a_new_cluster_makes_wait() {
    let replaced = |server: &mut PostgresServer, _| server.replace().unwrap();
    check(Row::Loss, || Place::of(server(), distrustful).replaced(replaced).place());
}
