//! Many renewals or looks in one statement: one row's trouble is that row's alone.

use tenure::Token;
use tenure::store::contract::WatchedStamp;
use tenure::store::postgres::Postgres;
use tenure::store::{Key, Reply, Request, Store, StoreErrorKind};
use tenure_servers::PostgresServer;

use super::support::{self, RENEWED, TTL, at, client, look, next_number, renew, server};

const ELECTIONS: usize = 8;

/// The store leads all elections.
async fn leads_all(store: &Postgres) -> Vec<(Key, Request)> {
    support::leads_all(store, ELECTIONS).await
}

/// The number of transactions that have written the rows.
fn transactions(server: &PostgresServer) -> usize {
    server.sql("SELECT count(DISTINCT xmin::text) FROM tenure.leases").unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_commit_renews_all() {
    let server = server();
    let store = at(server.port());
    let renewals = leads_all(&store).await;
    assert_eq!(transactions(&server), ELECTIONS);
    for reply in store.call_all(renewals).await {
        assert_eq!(reply.unwrap(), RENEWED);
    }
    assert_eq!(transactions(&server), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_row_holds_no_other_back() {
    let server = server();
    let store = at(server.port());
    let renewals = leads_all(&store).await;
    let other = client(server.port()).await;
    let lock = "BEGIN; SELECT FROM tenure.leases WHERE key = 'job-3' FOR UPDATE";
    other.batch_execute(lock).await.unwrap();
    for (number, reply) in store.call_all(renewals.clone()).await.into_iter().enumerate() {
        match reply {
            Err(error) if number == 3 => assert_eq!(error.kind(), StoreErrorKind::Locked),
            reply => assert_eq!((number, reply.unwrap()), (number, RENEWED)),
        }
    }
    assert_eq!(transactions(&server), 2, "the others are renewed by one statement");
    other.batch_execute("ROLLBACK").await.unwrap();
    for reply in store.call_all(renewals).await {
        assert_eq!(reply.unwrap(), RENEWED);
    }
}

/// The server refuses to write it: the statement fails for all, and each is asked alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_is_not_written_refuses_only_itself() {
    let server = server();
    let store = at(server.port());
    let renewals = leads_all(&store).await;
    let refuses = "ALTER TABLE tenure.leases ADD CHECK (key <> 'job-3') NOT VALID";
    server.sql(refuses).unwrap();
    for (number, reply) in store.call_all(renewals).await.into_iter().enumerate() {
        if number == 3 {
            reply.unwrap_err();
        } else {
            assert_eq!(reply.unwrap(), RENEWED);
        }
    }
}

/// The server returns them, and no candidate wrote them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_row_fails_only_its_own_election() {
    let server = server();
    let store = at(server.port());
    let renewals = leads_all(&store).await;
    for damage in [
        "reserve = -1 WHERE key = 'job-3'",
        "asked = decode(repeat('07', 16), 'hex'), defer = -1 WHERE key = 'job-5'",
    ] {
        server.sql(&format!("UPDATE tenure.leases SET {damage}")).unwrap();
    }
    let looks = renewals.iter().map(|(key, _)| (key.clone(), look(None))).collect();
    for (number, reply) in store.call_all(looks).await.into_iter().enumerate() {
        match (number, reply) {
            (3 | 5, Err(error)) => assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{error}"),
            (3 | 5, reply) => panic!("{number}: {reply:?}"),
            (_, reply) => assert!(matches!(reply, Ok(Reply::At(_))), "{number}: {reply:?}"),
        }
    }
    // A renewal returns what candidates have asked for, and no reservation.
    for (number, reply) in store.call_all(renewals).await.into_iter().enumerate() {
        match (number, reply) {
            (5, Err(error)) => assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{error}"),
            (number, reply) => assert_eq!((number, reply.unwrap()), (number, RENEWED)),
        }
    }
    assert_eq!(transactions(&server), 1, "all are renewed by one statement");
}

/// Their report of a watched past is left out, and comes again with the next renewals.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_past_holds_no_renewal_back() {
    let server = server();
    let store = at(server.port());
    let leases = leads_all(&store).await;
    server.sql("UPDATE tenure.leases_past SET watched = 0").unwrap();
    let (key, renewal) = &leases[0];
    let unwatched = store.call(key, renewal.clone()).await.unwrap();
    let Reply::Renewed { past: Some(past), .. } = unwatched else { panic!("{unwatched:?}") };
    let stamp = Some(WatchedStamp { stamp: past.stamp, time: TTL });
    let renewals = || -> Vec<(Key, Request)> {
        let renewals = leases.iter().map(|(key, request)| {
            let Request::Renew { holder, token, .. } = *request else { panic!("{request:?}") };
            (key.clone(), Request::Renew { holder, token, number: next_number(), stamp })
        });
        renewals.collect()
    };
    let watched = || server.sql("SELECT watched FROM tenure.leases_past").unwrap();
    let other = client(server.port()).await;
    other.batch_execute("BEGIN; SELECT FROM tenure.leases_past FOR UPDATE").await.unwrap();
    for reply in store.call_all(renewals()).await {
        assert_eq!(reply.unwrap(), unwatched);
    }
    // By the statement for one.
    let (key, renewal) = renewals().remove(0);
    assert_eq!(store.call(&key, renewal).await.unwrap(), unwatched);
    assert_eq!(watched(), "0");
    other.batch_execute("ROLLBACK").await.unwrap();
    for reply in store.call_all(renewals()).await {
        assert_eq!(reply.unwrap(), RENEWED);
    }
    assert_eq!(watched(), TTL.as_micros().to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_leases_are_not_renewed() {
    let server = server();
    let store = at(server.port());
    let mut renewals = leads_all(&store).await;
    let token = |request: &Request| match request {
        Request::Renew { token, .. } => *token,
        other => panic!("{other:?}"),
    };
    let tokens: Vec<Token> = renewals.iter().map(|(_, request)| token(request)).collect();
    renewals[1].1 = renew(2, tokens[1]);
    renewals[2].1 = renew(1, tokens[2].next());
    for (number, reply) in store.call_all(renewals).await.into_iter().enumerate() {
        let wanted = match number {
            1 | 2 => Reply::Superseded { last: Some(tokens[number]) },
            _ => RENEWED,
        };
        assert_eq!((number, reply.unwrap()), (number, wanted));
    }
}
