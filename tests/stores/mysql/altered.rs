//! Triggers of an administrator's that change or skip what the store writes: nothing is granted or
//! renewed that the tables do not have.

use std::time::Duration;

use tenure::store::{Key, Reply, Store, StoreErrorKind};
use tenure_servers::MariadbServer;

use super::support::{
    acquire, after_watching, at, call, granted, release, renew, shown, with_tables,
};

fn trigger(server: &MariadbServer, table: &str, when: &str, body: &str) {
    let create = format!("CREATE TRIGGER alters BEFORE {when} ON {table} FOR EACH ROW {body}");
    server.sql(&create).unwrap();
}

fn undo(server: &MariadbServer) {
    server.sql("DROP TRIGGER alters").unwrap();
}

const CHANGED: &str = "a trigger changes it";

#[tokio::test]
async fn a_lease_that_is_not_written_is_not_granted() {
    let server = with_tables();
    let store = at(server.port());
    call(&store, acquire(1, None)).await.unwrap();
    for (number, (when, body, said)) in (0..).zip([
        ("UPDATE", "SET NEW.value = OLD.value", CHANGED),
        ("UPDATE", "SET NEW.value = REPLACE(NEW.value, 'host-', 'hosts-')", CHANGED),
        ("UPDATE", "SET NEW.version = OLD.version", CHANGED),
        ("UPDATE", "SET NEW.version = REPEAT('v', 16)", CHANGED),
        (
            "UPDATE",
            "SET NEW.version = OLD.version, NEW.value = OLD.value, NEW.hint = OLD.hint",
            "the version after a swap that it had before",
        ),
        ("UPDATE", "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not here'", "not here"),
        ("INSERT", "SET NEW.k = REVERSE(NEW.k)", "the version after a swap that it had before"),
    ]) {
        let key = Key::new(format!("job-{number}")).unwrap();
        let mut seen = None;
        // A lease that was given back, and one that never was.
        if when == "UPDATE" {
            let Reply::Granted { token } = store.call(&key, acquire(1, None)).await.unwrap() else {
                panic!("{body}")
            };
            let renewed = async || store.call(&key, renew(1, token)).await;
            trigger(&server, "tenure_leases", when, body);
            let error = renewed().await.unwrap_err().to_string();
            assert!(error.contains(said), "{body}: {error}");
            undo(&server);
            renewed().await.unwrap();
            assert_eq!(store.call(&key, release(1, token)).await.unwrap(), Reply::Released);
            seen = Some(token);
        }
        trigger(&server, "tenure_leases", when, body);
        let error = store.call(&key, acquire(2, seen)).await.unwrap_err().to_string();
        assert!(error.contains(said), "{body}: {error}");
        undo(&server);
    }
}

/// The first statement of such a message makes room for the row.
#[tokio::test]
async fn the_error_of_a_later_statement_is_named() {
    let server = with_tables();
    let store = at(server.port());
    call(&store, acquire(1, None)).await.unwrap();
    trigger(
        &server,
        "tenure_leases",
        "UPDATE",
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not here'",
    );
    let error = store.call(&Key::new("other").unwrap(), acquire(2, None)).await.unwrap_err();
    assert!(
        error.kind() == StoreErrorKind::Refused && error.to_string().contains("not here"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_past_that_is_not_written_grants_nothing() {
    for body in
        ["SET NEW.value = OLD.value", "SET NEW.watched = 0", "SET NEW.version = OLD.version"]
    {
        let server = with_tables();
        let store = tenure::store::mysql::Mysql::new(super::support::local(server.port()));
        let request = acquire(1, None);
        // A stamp is placed, or else the first grant writes how long it was watched.
        if !body.contains("watched") {
            trigger(&server, "tenure_leases_past", "UPDATE", body);
            let error = call(&store, request.clone()).await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Refused, "{body}: {error}");
            undo(&server);
        }
        let unwatched = shown(&store, request.clone()).await;
        assert!(unwatched.sight.past.is_some(), "{body}");
        trigger(&server, "tenure_leases_past", "UPDATE", body);
        let watched = after_watching(&request, &unwatched);
        let error = call(&store, watched.clone()).await.unwrap_err();
        assert!(error.to_string().contains(CHANGED), "{body}: {error}");
        undo(&server);
        granted(&store, watched).await;
    }
}

/// A server would have the same number after each start.
#[tokio::test]
async fn a_number_that_is_not_the_drawn_one_is_refused() {
    let server = with_tables();
    for (table, body) in [
        ("tenure_leases_boot", "SET NEW.nonce = 'always'"),
        ("tenure_leases_past", "SET NEW.version = REPEAT('v', 16)"),
    ] {
        trigger(&server, table, "INSERT", body);
        let error = call(&at(server.port()), acquire(1, None)).await.unwrap_err();
        assert!(error.to_string().contains(CHANGED), "{body}: {error}");
        undo(&server);
        server.sql("DELETE FROM tenure_leases_boot; DELETE FROM tenure_leases_past").unwrap();
    }
    granted(&at(server.port()), acquire(1, None)).await;
}

#[tokio::test]
async fn no_row_is_deleted_whose_token_the_past_does_not_keep() {
    let server = with_tables();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    call(&store, release(1, token)).await.unwrap();
    for body in ["SET NEW.value = OLD.value", "SET NEW.version = OLD.version"] {
        trigger(&server, "tenure_leases_past", "UPDATE", body);
        let error = store.purge(Duration::ZERO).await.unwrap_err().to_string();
        assert!(error.contains(CHANGED), "{body}: {error}");
        undo(&server);
    }
    assert_eq!(store.purge(Duration::ZERO).await.unwrap(), 1);
    let later = granted(&store, acquire(2, Some(token))).await;
    assert!(later > token);
}
