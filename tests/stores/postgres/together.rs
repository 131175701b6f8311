//! Many renewals in one statement: one row's trouble is that row's alone.

use tenure::Token;
use tenure::store::postgres::Postgres;
use tenure::store::{Key, Reply, Request, Store, StoreErrorKind};
use tenure_servers::PostgresServer;

use super::support::{self, RENEWED, at, client, renew, server};

const ELECTIONS: usize = 8;

/// The store leads all elections.
async fn leads_all(store: &Postgres) -> Vec<(Key, Request)> {
    support::leads_all(store, ELECTIONS).await
}

/// How many transactions have written the rows.
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
