//! Many renewals in one statement: one row's trouble is that row's alone.

use tenure::Token;
use tenure::store::postgres::Postgres;
use tenure::store::{Key, Reply, Request, Store, StoreErrorKind};
use tenure_servers::PostgresServer;

use super::support::{self, at, client, renew, server};

const ELECTIONS: usize = 8;

/// The store leads all elections, and may renew them by plain statements.
async fn leads_all(store: &Postgres) -> Vec<(Key, Request)> {
    let renewals = support::leads_all(store, ELECTIONS).await;
    let (key, first) = &renewals[0];
    assert_eq!(store.call(key, first.clone()).await.unwrap(), Reply::Renewed);
    renewals
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
        assert_eq!(reply.unwrap(), Reply::Renewed);
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
            reply => assert_eq!((number, reply.unwrap()), (number, Reply::Renewed)),
        }
    }
    assert_eq!(transactions(&server), 2, "the others are renewed by one statement");
    other.batch_execute("ROLLBACK").await.unwrap();
    for reply in store.call_all(renewals).await {
        assert_eq!(reply.unwrap(), Reply::Renewed);
    }
}

/// Its numbers are too great to be subtracted: the statement fails for all, and each is asked alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_row_refuses_only_itself() {
    let server = server();
    let store = at(server.port());
    let renewals = leads_all(&store).await;
    let damage = "UPDATE tenure.leases SET lease_end = -9223372036854775808 WHERE key = 'job-3'";
    server.sql(damage).unwrap();
    for (number, reply) in store.call_all(renewals).await.into_iter().enumerate() {
        if number == 3 {
            assert!(!matches!(reply, Ok(Reply::Renewed)), "{reply:?}");
        } else {
            assert_eq!(reply.unwrap(), Reply::Renewed);
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
            _ => Reply::Renewed,
        };
        assert_eq!((number, reply.unwrap()), (number, wanted));
    }
}
