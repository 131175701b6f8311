//! A user with the rights that the documentation names, and no others.

use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::redis::RedisConfig;
use tenure::store::{
    AnyStore, Credentials, Reply, Request, Secret, Store, StoreErrorKind, Watched,
};
use tenure_servers::{RedisServer, Reply as Raw};

use super::support::{Client, SOON, acquire, call, granted, local, release, renew, server, soon};

/// The rights in `SECURITY.md`.
pub(crate) const RIGHTS: [&str; 13] = [
    "~{tenure}:*",
    "&{tenure}:*",
    "+evalsha",
    "+script|load",
    "+hmget",
    "+hstrlen",
    "+hset",
    "+time",
    "+info",
    "+publish",
    "+subscribe",
    "+unsubscribe",
    "+ping",
];

/// Not needed by redis-rs.
const FOR_FRED: &str = "+ping";

pub(crate) fn let_in(server: &RedisServer, rights: &[&str]) {
    let user = ["ACL", "SETUSER", "app", "reset", "on", ">correct-horse"];
    let answer = server.command(&[&user[..], rights].concat()).unwrap();
    assert!(matches!(answer, Raw::SimpleString(_)), "{answer:?}");
}

/// Logs in as that user.
pub(crate) fn as_app(config: RedisConfig) -> RedisConfig {
    config
        .credentials(Credentials::new("app", Secret::new("correct-horse")))
        .trust_empty_store(true)
}

fn store(client: Client, server: &RedisServer) -> AnyStore {
    client.store(as_app(local(server.port())))
}

/// Sends every request that elections need; returns the first refusal. A subscription is refused if
/// there is none within that time.
async fn takes_part(
    server: &RedisServer,
    store: &AnyStore,
    patience: Duration,
) -> Result<(), String> {
    let refused = |error: tenure::store::StoreError| error.to_string();
    let Reply::Granted { token } = call(store, acquire(1, None)).await.map_err(refused)? else {
        return Err("not granted".into());
    };
    call(store, renew(1, token)).await.map_err(refused)?;
    call(store, Request::Observe).await.map_err(refused)?;
    let mut hints = Box::pin(store.hints(Watched::only([crate::stores::support::job()])));
    let subscribed = tokio::time::timeout(patience, hints.next()).await;
    subscribed.map_err(|_| "no hint".to_owned())?;
    call(store, release(1, token)).await.map_err(refused)?;
    soon(hints.next()).await;
    drop(hints);
    let unsubscribed = async {
        while server.command(&["PUBSUB", "CHANNELS"]).unwrap() != Raw::Array(vec![]) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let unsubscribed = tokio::time::timeout(patience, unsubscribed).await;
    unsubscribed.map_err(|_| "still subscribed".to_owned())
}

over_both_clients! {
    async fn a_user_with_least_rights_takes_part(client: Client) {
        let server = server();
        let_in(&server, &RIGHTS);
        takes_part(&server, &store(client, &server), SOON).await.unwrap();
        // Another prefix is not allowed.
        let elsewhere = as_app(local(server.port()).prefix("other").unwrap());
        call(&client.store(elsewhere), acquire(1, None)).await.unwrap_err();
    }

    async fn another_database_needs_one_right_more(client: Client) {
        let server = server();
        let third = || client.store(as_app(local(server.port()).database(3).unwrap()));
        let_in(&server, &RIGHTS);
        let error = call(&third(), acquire(1, None)).await.unwrap_err();
        assert!(error.to_string().contains("select"), "{error}");
        let_in(&server, &[&RIGHTS[..], &["+select"]].concat());
        takes_part(&server, &third(), SOON).await.unwrap();
    }

    /// Redis counts INFO among the dangerous commands; the version of these tests does not say that
    /// it was INFO which a script may not call.
    async fn a_role_without_dangerous_commands_needs_info(client: Client) {
        const SAFE: [&str; 4] = ["~*", "&*", "+@all", "-@dangerous"];
        let server = server();
        let_in(&server, &SAFE);
        let error = call(&store(client, &server), acquire(1, None)).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Permission, "{error}");
        assert!(error.to_string().to_lowercase().contains("info"), "{error}");
        let_in(&server, &[&SAFE[..], &["+info"]].concat());
        takes_part(&server, &store(client, &server), SOON).await.unwrap();
    }

    async fn purging_and_listing_need_more_rights(client: Client) {
        let server = server();
        let_in(&server, &RIGHTS);
        let store = store(client, &server);
        granted(&store, acquire(1, None)).await;
        let purged = soon(store.purge(Duration::ZERO)).await.map(drop);
        for refused in [purged, soon(store.keys()).await.map(drop)] {
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Permission, "{error}");
            assert!(error.to_string().contains("a listing needs +scan, and a purge +scan and +del"), "{error}");
        }
        let again = || client.store(as_app(local(server.port())));
        let_in(&server, &[&RIGHTS[..], &["+scan"]].concat());
        assert_eq!(soon(again().keys()).await.unwrap().len(), 1);
        let_in(&server, &[&RIGHTS[..], &["+scan", "+del"]].concat());
        let store = again();
        assert_eq!(soon(store.purge(Duration::ZERO)).await.unwrap(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_of_these_rights_is_too_much() {
    let server = server();
    for left_out in RIGHTS.iter().filter(|right| **right != FOR_FRED) {
        let rights: Vec<_> = RIGHTS.iter().copied().filter(|right| right != left_out).collect();
        let_in(&server, &rights);
        server.command(&["FLUSHALL"]).unwrap();
        server.command(&["SCRIPT", "FLUSH"]).unwrap();
        let store = store(Client::RedisRs, &server);
        let outcome = takes_part(&server, &store, Duration::from_secs(1)).await;
        assert!(outcome.is_err(), "{left_out} is not needed");
    }
    let_in(&server, &RIGHTS);
    server.command(&["FLUSHALL"]).unwrap();
    granted(&store(Client::RedisRs, &server), acquire(1, None)).await;
}
