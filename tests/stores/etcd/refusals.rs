//! Servers that are not what they should be: each says so by a typed error, and grants nothing.

use std::time::Duration;

use tenure::store::etcd::Etcd;
use tenure::store::{Key, Reply, Request, Store, StoreErrorKind};
use tenure_servers::{EtcdCluster, EtcdGrpcProxy, EtcdServer};

use super::support::{
    FAST, RENEWED, acquire, all_requests, answered, at, call, granted, local, release, renew,
    server,
};

async fn refuses(store: &Etcd, requests: &[Request], kind: StoreErrorKind) {
    for request in requests {
        let error = call(store, request.clone()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{request:?}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_port() {
    let mut server = server();
    server.kill().unwrap();
    let store = at(&[server.port()]);
    refuses(&store, &all_requests(), StoreErrorKind::Unreachable).await;
    let error = call(&store, Request::Observe).await.unwrap_err().to_string();
    assert!(error.contains(&format!("127.0.0.1:{}", server.port())), "{error}");
}

/// It answers a renewal by one of its own, sent at another time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grpc_proxy_is_named() {
    let server = server();
    let proxy = EtcdGrpcProxy::start(&server).unwrap();
    let store = at(&[proxy.port()]);
    refuses(&store, &all_requests(), StoreErrorKind::Pooler).await;
    let error = call(&store, Request::Observe).await.unwrap_err().to_string();
    assert!(error.contains("name the members themselves"), "{error}");
    granted(&at(&[server.port()]), acquire(1, None)).await;
}

/// Base64, as the gateway wants it.
fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| char::from(DIGITS[usize::try_from(bits & 63).unwrap()]);
    let of_three = |three: &[u8]| {
        let bits = three.iter().fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte));
        let bits = bits << (8 * (3 - three.len()));
        let all = [18, 12, 6, 0].map(|shift| digit(bits >> shift));
        let there = all[..=three.len()].iter().collect::<String>();
        format!("{there:=<4}")
    };
    text.as_bytes().chunks(3).map(of_three).collect()
}

pub(crate) fn put(server: &EtcdServer, key: &str, value: &str) {
    let (key, value) = (base64(key), base64(value));
    server.api("kv/put", &format!(r#"{{"key":"{key}","value":"{value}"}}"#)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_records_are_no_vacancy() {
    let server = server();
    let store = at(&[server.port()]);
    granted(&store, acquire(1, None)).await;
    put(&server, "tenure/past", "not ours");
    refuses(&store, &[acquire(1, None), acquire(2, None)], StoreErrorKind::BadRecord).await;
    put(&server, "tenure/record/job", "not ours");
    refuses(&store, &[acquire(2, None), Request::Observe], StoreErrorKind::BadRecord).await;
    put(&server, "tenure/leader/job", "not ours");
    let requests = [acquire(1, None), acquire(2, None), Request::Observe];
    refuses(&store, &requests, StoreErrorKind::BadRecord).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_renews_but_grants_nothing() {
    let args = [&FAST[..], &["--quota-backend-bytes", "1048576"]].concat();
    let server = EtcdServer::start_with(&args).unwrap();
    let store = at(&[server.port()]);
    let token = granted(&store, acquire(1, None)).await;
    let (key, value) = (base64("big"), base64(&"x".repeat(200_000)));
    let put = format!(r#"{{"key":"{key}","value":"{value}"}}"#);
    // It takes 8 to 28, since the server may use the room of earlier values again.
    assert!((0..200).any(|_| server.api("kv/put", &put).is_err()), "the server is not full");
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
    // A release writes that the lease was given back.
    refuses(&store, &[release(1, token)], StoreErrorKind::Full).await;
    let other = Key::new("other").unwrap();
    let error = store.call(&other, acquire(2, None)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Full, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_without_a_majority_answers_nothing() {
    let mut cluster = EtcdCluster::start(3, &FAST).unwrap();
    let store = at(&cluster.ports());
    let reply = answered(&store, acquire(1, None)).await;
    let Reply::Granted { token } = reply else { panic!("{reply:?}") };
    cluster.member(1).kill().unwrap();
    cluster.member(2).kill().unwrap();
    let patience = Duration::from_secs(3);
    let mut kinds = Vec::new();
    for _ in 0..4 {
        let asked = call(&store, renew(1, token));
        match tokio::time::timeout(patience, asked).await {
            Ok(Ok(reply)) => panic!("{reply:?}, of a minority"),
            Ok(Err(error)) => kinds.push(error.kind()),
            Err(_) => {}
        }
    }
    let known =
        [StoreErrorKind::NoLeader, StoreErrorKind::Unreachable, StoreErrorKind::Disconnected];
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| known.contains(kind)), "{kinds:?}");
    cluster.member(1).rejoin().unwrap();
    assert_eq!(answered(&store, renew(1, token)).await, RENEWED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_etcd() {
    let redis = tenure_servers::RedisServer::start().unwrap();
    let store = Etcd::new(local(&[redis.port()]));
    for request in all_requests() {
        call(&store, request).await.unwrap_err();
    }
}
