//! Triggers and rules of an administrator's that skip or change what the store writes: nothing is
//! granted or renewed that the table does not have.

use std::time::Duration;

use tenure::store::postgres::LeaseTable;
use tenure::store::{Reply, Request, Store, StoreErrorKind};
use tenure_servers::PostgresServer;

use super::support::{
    acquire, after_watching, at, call, granted, look, release, renew, server, shown,
};

fn trigger(server: &PostgresServer, table: &str, when: &str, body: &str) {
    server
        .sql(&format!(
            "CREATE FUNCTION alters() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$; \
             CREATE TRIGGER alters {when} ON tenure.{table} FOR EACH ROW EXECUTE FUNCTION alters()"
        ))
        .unwrap();
}

fn undo(server: &PostgresServer) {
    server.sql("DROP FUNCTION alters() CASCADE").unwrap();
}

async fn is_refused(store: &impl Store, request: Request) {
    let error = call(store, request).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Refused, "{error}");
    let text = error.to_string();
    assert!(text.contains("a trigger or a rule on") && text.contains("TN006"), "{text}");
}

/// A row that one candidate gave back, or held, is altered while another takes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_over_that_is_not_written_is_not_granted() {
    let server = server();
    let store = at(server.port());
    let mut token = granted(&store, acquire(1, None)).await;
    for (when, body) in [
        ("BEFORE UPDATE", "RETURN NULL;"),
        ("BEFORE UPDATE", "NEW.token := OLD.token; RETURN NEW;"),
        ("BEFORE UPDATE", "NEW.holder := OLD.holder; RETURN NEW;"),
        ("BEFORE UPDATE", "NEW.number := OLD.number; RETURN NEW;"),
        ("BEFORE UPDATE", "NEW.released := true; RETURN NEW;"),
        ("BEFORE UPDATE", "NEW.ttl := NEW.ttl / 2; RETURN NEW;"),
    ] {
        assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released, "{body}");
        trigger(&server, "leases", when, body);
        is_refused(&store, acquire(2, Some(token))).await;
        undo(&server);
        let after = shown(&store, look(Some(token))).await.sight.record.unwrap();
        assert!(after.released && after.token == token, "{body}: {after:?}");
        token = granted(&store, acquire(1, Some(token))).await;
    }
    // The holder's own acquire again: others watch the mark, which must change.
    trigger(&server, "leases", "BEFORE UPDATE", "RETURN NULL;");
    is_refused(&store, acquire(1, Some(token))).await;
    undo(&server);
    // One that has watched the lease for its TTL.
    let seen = shown(&store, look(Some(token))).await;
    let watched = after_watching(&acquire(2, Some(token)), &seen);
    trigger(&server, "leases", "BEFORE UPDATE", "RETURN NULL;");
    is_refused(&store, watched).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_is_not_inserted_is_not_granted() {
    let server = server();
    let store = at(server.port());
    server.sql(&LeaseTable::default().schema_sql()).unwrap();
    for body in ["RETURN NULL;", "NEW.holder := decode(repeat('00', 16), 'hex'); RETURN NEW;"] {
        trigger(&server, "leases", "BEFORE INSERT", body);
        is_refused(&store, acquire(1, None)).await;
        undo(&server);
    }
    // An update that follows the insertion.
    let after = "UPDATE tenure.leases SET released = true WHERE key = NEW.key; RETURN NULL;";
    trigger(&server, "leases", "AFTER INSERT", after);
    is_refused(&store, acquire(1, None)).await;
    undo(&server);
    server.sql("CREATE RULE alters AS ON INSERT TO tenure.leases DO INSTEAD NOTHING").unwrap();
    is_refused(&store, acquire(1, None)).await;
    server.sql("DROP RULE alters ON tenure.leases").unwrap();
    // A session keeps the plan that inserts nothing: PostgreSQL does not notice that it is old.
    granted(&at(server.port()), acquire(1, None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_past_that_is_not_written_grants_nothing() {
    let server = server();
    let store = at(server.port());
    server.sql(&LeaseTable::default().schema_sql()).unwrap();
    for body in ["RETURN NULL;", "NEW.longest := 0; RETURN NEW;"] {
        trigger(&server, "leases_past", "BEFORE UPDATE", body);
        is_refused(&store, acquire(1, None)).await;
        undo(&server);
    }
    granted(&store, acquire(1, None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_that_is_not_written_is_none() {
    let server = server();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    trigger(&server, "leases", "BEFORE UPDATE", "NEW.number := OLD.number; RETURN NEW;");
    is_refused(&store, renew(1, token)).await;
    undo(&server);
    trigger(&server, "leases", "BEFORE UPDATE", "RETURN NULL;");
    let error = call(&store, renew(1, token)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::UnexpectedReply, "{error}");
    undo(&server);
    assert!(matches!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed { .. }));
}

/// Or the tokens of the elections that were deleted would begin anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_that_is_not_noted_deletes_nothing() {
    let server = server();
    let store = at(server.port());
    let token = granted(&store, acquire(1, None)).await;
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    tokio::time::sleep(Duration::from_millis(2)).await;
    trigger(&server, "leases_past", "BEFORE UPDATE", "RETURN NULL;");
    assert!(store.purge(Duration::ZERO).await.is_err());
    assert!(shown(&store, look(Some(token))).await.sight.record.is_some());
    undo(&server);
    assert_eq!(store.purge(Duration::ZERO).await.unwrap(), 1);
}
