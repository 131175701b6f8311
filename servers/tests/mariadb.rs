//! MariaDB servers of a test's own.

// Helpers stand outside of the functions that clippy.toml means by tests.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::{Duration, Instant};

use tenure_servers::{MariadbServer, ServerError};

#[test]
fn recovers_what_was_committed_and_leaves_nothing_behind() {
    let mut server = MariadbServer::start().unwrap();
    server.sql("CREATE TABLE t AS SELECT 7 AS x").unwrap();
    let port = server.port();
    server.restart().unwrap();
    assert_eq!((server.port(), &*server.sql("SELECT x FROM t").unwrap()), (port, "7"));
    server.back_up().unwrap();
    server.sql("UPDATE t SET x = 8").unwrap();
    server.restore().unwrap();
    assert_eq!(server.sql("SELECT x FROM t").unwrap(), "7");
    server.replace().unwrap();
    let error = server.sql("SELECT x FROM t").unwrap_err();
    let ServerError::Protocol { detail, .. } = error else { panic!("{error:?}") };
    assert!(detail.contains("doesn't exist"), "{detail}");
    let folder = server.sql("SELECT @@datadir").unwrap();
    assert!(Path::new(&folder).exists());
    drop(server);
    assert!(!Path::new(&folder).exists());
}

#[test]
fn a_replica_follows_and_can_be_promoted() {
    let primary = MariadbServer::start_with(&["--log-bin", "--server-id=1"]).unwrap();
    let mut replica = primary.replica(&["--server-id=2"]).unwrap();
    primary.sql("CREATE TABLE t AS SELECT 7 AS x").unwrap();
    let started = Instant::now();
    while !replica.sql("SELECT x FROM t").is_ok_and(|x| x == "7") {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    replica.promote().unwrap();
    replica.restart().unwrap();
    assert_eq!(replica.sql("SELECT @@read_only").unwrap(), "0");
    replica.sql("UPDATE t SET x = 9").unwrap();
    assert_eq!(primary.sql("SELECT x FROM t").unwrap(), "7");
}

#[test]
fn a_session_holds_its_locks_until_dropped() {
    let server = MariadbServer::start().unwrap();
    server.sql("CREATE TABLE t AS SELECT 7 AS x").unwrap();
    let mut session = server.session().unwrap();
    session.sql("LOCK TABLES t WRITE").unwrap();
    assert_eq!(session.sql("SELECT x FROM t").unwrap(), "7");
    let reads = "SET lock_wait_timeout = 1; SELECT x FROM t";
    server.sql(reads).unwrap_err();
    session.sql("SELECT no_column").unwrap_err();
    session.sql("SELECT 1").unwrap_err();
    drop(session);
    assert_eq!(server.sql("SELECT x FROM t").unwrap(), "7");
}
