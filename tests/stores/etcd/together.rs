//! Many renewals in one call, over few streams of keepalives.

use tenure::store::{Key, Reply, Request, Store};
use tenure_servers::EtcdServer;

use super::support::{RENEWED, acquire, at, leads_all, release, renew, server};

const ELECTIONS: usize = 40;
/// More than one call needs.
const STREAMS: usize = 20;
const STARTED: &str = "grpc_server_started_total{grpc_method=\"LeaseKeepAlive\",\
                       grpc_service=\"etcdserverpb.Lease\",grpc_type=\"bidi_stream\"}";

fn streams(server: &EtcdServer) -> usize {
    server.metric(STARTED).unwrap()
}

async fn renew_all(store: &impl Store, renewals: &[(Key, Request)]) -> Vec<Reply> {
    let mut replies = Vec::new();
    for some in renewals.chunks(store.traits().renewals_in_call) {
        let some = store.call_all(some.to_vec()).await;
        replies.extend(some.into_iter().map(|reply| reply.expect("an answer")));
    }
    replies
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_share_streams_of_keepalives() {
    let server = server();
    let store = at(&[server.port()]);
    let renewals = leads_all(&store, ELECTIONS).await;
    for _ in 0..3 {
        let replies = renew_all(&store, &renewals).await;
        assert!(replies.iter().all(|reply| *reply == RENEWED), "{replies:?}");
    }
    let used = streams(&server);
    assert!((1..STREAMS).contains(&used), "{used} streams");

    // One of another store's, whose keepalive this one has not sent yet.
    let other = at(&[server.port()]);
    let replies = renew_all(&other, &renewals[..1]).await;
    assert_eq!(replies, [RENEWED]);

    // The end of one lease is that lease's alone, and costs no stream.
    let (key, renewal) = &renewals[7];
    let Request::Renew { token, .. } = *renewal else { panic!("{renewal:?}") };
    assert_eq!(other.call(key, release(1, token)).await.unwrap(), Reply::Released);
    let before = streams(&server);
    let replies = renew_all(&store, &renewals).await;
    for (number, reply) in replies.into_iter().enumerate() {
        let expected = if number == 7 { Reply::Superseded { last: Some(token) } } else { RENEWED };
        assert_eq!((number, reply), (number, expected));
    }
    assert_eq!(streams(&server), before);

    // Of what was given back, nothing is remembered.
    assert_eq!(store.leases_remembered(), ELECTIONS - 1);
    for (key, renewal) in &renewals {
        let Request::Renew { token, .. } = *renewal else { panic!("{renewal:?}") };
        store.call(key, release(1, token)).await.unwrap();
    }
    assert_eq!(store.leases_remembered(), 0);
}

/// Two candidates of one process: what one of them learns does not slow the renewals of the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rivals_of_one_store_do_not_forget_the_leader() {
    let server = server();
    let store = at(&[server.port()]);
    let key = Key::new("job").unwrap();
    let reply = store.call(&key, acquire(1, None)).await.unwrap();
    let Reply::Granted { token } = reply else { panic!("{reply:?}") };
    let reads = async || {
        let before = server.metric("etcd_mvcc_range_total").unwrap();
        assert_eq!(store.call(&key, renew(1, token)).await.unwrap(), RENEWED);
        server.metric("etcd_mvcc_range_total").unwrap() - before
    };
    let alone = reads().await;
    for _ in 0..3 {
        assert!(matches!(store.call(&key, acquire(2, None)).await, Ok(Reply::Not(_))));
        assert_eq!(reads().await, alone, "those after its keepalive");
    }
}
