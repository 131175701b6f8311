//! Servers for every row of the store contract, whose data survives a restart or is lost in one of
//! two ways.

use tenure::store::mysql::Mysql;
use tenure_servers::MariadbServer;
use tenure_sim::conformance::{Data, Mishap, Row, check};

use super::support::{Place, at, local, server, with_tables};

/// There are no messages, and the server ends no leases.
const SKIPPED: [Row; 4] = [Row::Messages, Row::OwnMessages, Row::NoLeader, Row::LeastTtl];

/// The tables may be emptied, and the server restarted.
pub(crate) fn place() -> Place {
    let empty = |server: &mut MariadbServer, data: Data| {
        if data == Data::Lost {
            server.sql("TRUNCATE tenure_leases; TRUNCATE tenure_leases_past").unwrap();
        }
        server.restart().unwrap();
    };
    let slow = |server: &mut MariadbServer, is_slow| {
        if is_slow { server.pause() } else { server.resume() }.unwrap();
    };
    Place::of(with_tables(), |server| Mysql::new(local(server.port())))
        .replaced(empty)
        .suffering(&Mishap::ALL, suffer)
        .slowed(slow)
        .skipping(&SKIPPED)
        .place()
}

/// The same, which is trusted when it is empty.
pub(crate) fn trusting() -> Place {
    let connect = |server: &MariadbServer| at(server.port());
    let place = Place::of(with_tables(), connect).suffering(&Mishap::ALL, suffer);
    place.trusting().skipping(&SKIPPED).place()
}

fn suffer(server: &mut MariadbServer, mishap: Mishap) {
    let sql = match mishap {
        Mishap::RecordsLost => "DELETE FROM tenure_leases",
        Mishap::OtherServer => "UPDATE tenure_leases_boot SET nonce = UUID()",
        Mishap::PastLost => "DELETE FROM tenure_leases_past",
        Mishap::AllLost => "DELETE FROM tenure_leases; DELETE FROM tenure_leases_past",
    };
    server.sql(sql).unwrap();
}

/// Another server may be put in the place of the old one.
#[test]
fn a_new_server_is_to_be_watched() {
    let replaced = |server: &mut MariadbServer, _| server.replace().unwrap();
    let connect = |server: &MariadbServer| Mysql::new(local(server.port()));
    check(Row::Loss, || Place::of(server(), connect).replaced(replaced).place());
}
