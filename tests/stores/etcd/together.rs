//! Many renewals in one call, over few streams of keepalives.

use std::time::Duration;

use tenure::store::contract::WatchedStamp;
use tenure::store::{Key, Reply, Request, Store};
use tenure_servers::{EtcdCluster, EtcdServer};

use super::support::{FAST, RENEWED, TTL, acquire, at, leads_all, release, renew, server};

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

/// All elections of a prefix watch one past. If each of them wrote that, they would hold up each
/// other's renewals, on three members until their leases have ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_past_costs_few_writes() {
    const LEADERS: usize = 50;
    const PROPOSALS: &str = "etcd_server_proposals_committed_total";
    let cluster = EtcdCluster::start(3, &FAST).expect("three etcd servers");
    let member = &cluster.members()[0];
    let store = at(&cluster.ports());
    let renewals = leads_all(&store, LEADERS).await;
    // The name of the past, in base64.
    member.api("kv/deleterange", r#"{"key":"dGVudXJlL3Bhc3Q="}"#).unwrap();
    let replies = renew_all(&store, &renewals).await;
    let Reply::Renewed { past: Some(past), .. } = replies[0] else { panic!("{replies:?}") };
    assert!(replies.iter().all(|reply| *reply == replies[0]), "{replies:?}");

    // Of any two leaders, the later one has watched it for longer.
    let told = |since: Duration| -> Vec<(Key, Request)> {
        let tell = |(milli, (key, renewal)): (u64, &(Key, Request))| {
            let Request::Renew { holder, token, .. } = *renewal else { panic!("{renewal:?}") };
            let Request::Renew { number, .. } = renew(1, token) else { panic!("a renewal") };
            let time = since + Duration::from_millis(milli);
            let stamp = Some(WatchedStamp { stamp: past.stamp, time });
            (key.clone(), Request::Renew { holder, token, number, stamp })
        };
        (0..).zip(&renewals).map(tell).collect()
    };
    // The member that has answered knows of all of them, the others a moment later.
    let committed = || {
        let of = cluster.members().iter().map(|one| one.metric(PROPOSALS).unwrap());
        of.max().unwrap()
    };
    for since in [TTL / 2, TTL] {
        let before = committed();
        let replies = renew_all(&store, &told(since)).await;
        let renewed = replies.iter().filter(|reply| matches!(reply, Reply::Renewed { .. }));
        assert_eq!(renewed.count(), LEADERS, "{replies:?}");
        let writes = committed() - before;
        assert!((1..LEADERS / 2).contains(&writes), "{writes} writes");
    }
    // It was watched for long enough.
    let replies = renew_all(&store, &renewals).await;
    assert!(replies.iter().all(|reply| *reply == RENEWED), "{replies:?}");
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
