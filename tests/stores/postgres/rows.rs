//! Servers for every row of the store contract, whose data survives a restart or is lost in one of
//! two ways.

use tenure::store::postgres::Postgres;
use tenure_servers::PostgresServer;
use tenure_sim::conformance::{Data, Mishap, Row, check};

use super::support::{Place, SOON, at, local, server};

/// The tables may be emptied, and the server restarted.
pub(crate) fn place() -> Place {
    let empty = |server: &mut PostgresServer, data: Data| {
        if data == Data::Lost {
            server.sql("TRUNCATE tenure.leases, tenure.leases_past").unwrap();
        }
        server.restart().unwrap();
    };
    // On a slow disk, concurrent requests wait longer than the default of 50 ms for each other's
    // commits.
    let connect = |server: &PostgresServer| Postgres::new(local(server.port()).lock_timeout(SOON));
    let slow = |server: &mut PostgresServer, is_slow| {
        if is_slow { server.pause() } else { server.resume() }.unwrap();
    };
    Place::of(server(), connect)
        .replaced(empty)
        .suffering(&Mishap::ALL, suffer)
        .slowed(slow)
        .place()
}

/// The same, which is trusted when it is empty.
pub(crate) fn trusting() -> Place {
    let connect = |server: &PostgresServer| at(server.port());
    Place::of(server(), connect).suffering(&Mishap::ALL, suffer).trusting().place()
}

pub(crate) fn suffer(server: &mut PostgresServer, mishap: Mishap) {
    let sql = match mishap {
        // A table that was truncated is another one.
        Mishap::RecordsLost => "DELETE FROM tenure.leases",
        Mishap::OtherServer => "UPDATE tenure.leases_past SET identity = ''another''",
        Mishap::PastLost => "DELETE FROM tenure.leases_past",
        Mishap::AllLost => "TRUNCATE tenure.leases, tenure.leases_past",
    };
    // Before the first request there is no table, and so no data to change.
    let sql = format!(
        "DO $$ BEGIN IF to_regclass('tenure.leases_past') IS NOT NULL THEN \
         EXECUTE '{sql}'; END IF; END $$"
    );
    server.sql(&sql).unwrap();
}

/// Another cluster may be put in the place of the old one.
#[test]
fn a_new_cluster_is_to_be_watched() {
    let replaced = |server: &mut PostgresServer, _| server.replace().unwrap();
    let connect = |server: &PostgresServer| Postgres::new(local(server.port()));
    check(Row::Loss, || Place::of(server(), connect).replaced(replaced).place());
}
