//! PostgreSQL servers of a test's own.

// Helpers stand outside of the functions that clippy.toml means by tests.
#![allow(clippy::unwrap_used)]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use tenure_servers::PostgresServer;

#[test]
fn recovers_what_was_committed_and_leaves_nothing_behind() {
    let mut server = PostgresServer::start().unwrap();
    server.sql("CREATE TABLE t AS SELECT 7 AS x").unwrap();
    let port = server.port();
    server.restart().unwrap();
    assert_eq!((server.port(), &*server.sql("SELECT x FROM t").unwrap()), (port, "7"));
    server.stop().unwrap();
    server.stop().unwrap();
    server.sql("SELECT 1").unwrap_err();
    server.replace().unwrap();
    let error = server.sql("SELECT x FROM t").unwrap_err();
    let said = error.source().unwrap().to_string();
    assert!(said.contains("\"t\" does not exist"), "{said}");

    let folder = server.sql("SHOW data_directory").unwrap();
    let pid = server.sql("SELECT pg_backend_pid()").unwrap();
    assert!(Path::new(&folder).exists());
    drop(server);
    assert!(!Path::new(&folder).exists());
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn stands_still_with_all_its_processes() {
    let server = PostgresServer::start().unwrap();
    let started = Instant::now();
    std::thread::scope(|threads| {
        threads.spawn(|| server.sql("SELECT pg_sleep(0.3)").unwrap());
        std::thread::sleep(Duration::from_millis(150));
        server.pause().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        server.resume().unwrap();
    });
    assert!(started.elapsed() >= Duration::from_millis(850));
    server.sql("SELECT 1").unwrap();
}

#[test]
fn a_replica_follows_and_can_be_promoted() {
    let mut primary = PostgresServer::start().unwrap();
    primary.sql("CREATE TABLE t AS SELECT 7 AS x").unwrap();
    let replica = primary.replica(&[]).unwrap();
    assert_eq!(replica.sql("SELECT pg_is_in_recovery()").unwrap(), "t");
    primary.sql("UPDATE t SET x = 8").unwrap();
    let started = Instant::now();
    while replica.sql("SELECT x FROM t").unwrap() != "8" {
        assert!(started.elapsed() < Duration::from_secs(60));
    }
    primary.stop().unwrap();
    replica.promote().unwrap();
    replica.sql("UPDATE t SET x = 9").unwrap();
}

#[test]
fn a_server_that_refuses_its_settings_says_why() {
    let error = PostgresServer::start_with(&["no_such_setting=1"]).unwrap_err().to_string();
    assert!(error.contains("no_such_setting"), "{error}");
}

#[test]
fn a_session_holds_its_locks_until_dropped() {
    let server = PostgresServer::start().unwrap();
    server.sql("CREATE TABLE t AS SELECT 7 AS x").unwrap();
    let mut session = server.session().unwrap();
    session.sql("BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE").unwrap();
    assert_eq!(session.sql("SELECT x FROM t UNION SELECT 8 ORDER BY x").unwrap(), "7\n8");
    assert_eq!(session.sql("SELECT x FROM t WHERE x = 0").unwrap(), "");
    let reads = "SET lock_timeout = '100ms'; SELECT x FROM t";
    server.sql(reads).unwrap_err();
    drop(session);
    assert_eq!(server.sql("SELECT x FROM t").unwrap(), "7");
}

#[test]
fn a_refused_statement_ends_its_session() {
    let server = PostgresServer::start().unwrap();
    let mut session = server.session().unwrap();
    session.sql("SELECT no_column").unwrap_err();
    session.sql("SELECT 1").unwrap_err();
}
