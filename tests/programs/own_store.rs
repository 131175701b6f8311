//! A store of the program's own over a table of values.

use rustix::process::Signal;
use tenure_servers::{PostgresServer, undisturbed};

use super::program::{Program, example};

const LEADS: &str = "leads with the token ";

#[test]
fn a_killed_leader_is_replaced() {
    undisturbed(|| {
        let server = PostgresServer::start().unwrap();
        let address = format!("host=127.0.0.1 port={} user=postgres", server.port());
        let start = || Program::start(example("own_store").args([&address, "job"]));
        let first = start();
        let before = first.number(LEADS);
        let second = start();
        second.says("another candidate has the lease");
        first.signal(Signal::KILL);
        let after = second.number(LEADS);
        assert!(after > before, "{after} after {before}");
    });
}
