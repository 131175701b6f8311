//! A server for every row of the store contract; and rows that only etcd has.

use std::time::Duration;

use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure::store::{Reply, Request, StoreErrorKind};
use tenure::{Candidate, Config, ConfigBuilder, StartError};
use tenure_servers::EtcdServer;
use tenure_sim::conformance::{Data, Row};

use super::support::{
    Place, RENEWED, acquire, acquire_for, answered, at, call, granted, held, local, release, renew,
    server, soon, start,
};

/// A server of a test's own. It has no messages, its tokens are revisions, its leases have no marks
/// and TTLs of whole seconds, and a restart loses nothing.
pub(crate) fn place() -> Place {
    const SKIPPED: [Row; 14] = [
        Row::Messages,
        Row::OwnMessages,
        Row::NoLeader,
        Row::TokenFloor,
        Row::Taken,
        Row::OlderRenewal,
        Row::StaysHeld,
        Row::Age,
        Row::Asked,
        Row::Differential,
        Row::LeaderWatches,
        Row::FirstRequest,
        Row::StampsDiffer,
        Row::Restart,
    ];
    let replace = |server: &mut EtcdServer, data| match data {
        Data::Kept => server.restart().unwrap(),
        Data::Lost => server.restart_empty().unwrap(),
    };
    let connect = |server: &EtcdServer| Etcd::new(local(&[server.port()]));
    Place::of(server(), connect)
        .replaced(replace)
        .slowed(|server, is_slow| {
            if is_slow { server.pause() } else { server.resume() }.unwrap();
        })
        .skipping(&SKIPPED)
        .place()
}

/// In place of the row that is skipped: etcd has written what it acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_keeps_leases_and_the_past() {
    let mut server = server();
    let store = at(&[server.port()]);
    let token = granted(&store, acquire(1, None)).await;
    server.restart().unwrap();
    let reply = answered(&store, acquire(1, None)).await;
    assert_eq!(reply, Reply::Granted { token });
    // The stream of keepalives may have ended with the member.
    assert_eq!(answered(&store, renew(1, token)).await, RENEWED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_are_of_whole_seconds() {
    let server = server();
    let store = at(&[server.port()]);
    let uneven = Duration::from_millis(2_500);
    let token = granted(&store, acquire(1, None)).await;
    let error = call(&store, acquire_for(2, None, uneven)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Ttl);
    assert!(error.to_string().ends_with("it is 2.5s; etcd keeps whole seconds"), "{error}");
    // It did not change the lease.
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lengthens_leases_is_refused() {
    let server = EtcdServer::start_with(&["--election-timeout", "3000"]).unwrap();
    let store = at(&[server.port()]);
    let error = call(&store, acquire_for(1, None, Duration::from_secs(4))).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Ttl);
    let text = error.to_string();
    assert!(text.contains("it is 4 s, and the server makes it 5 s"), "{text}");
    assert!(text.contains("than the 200ms that are configured"), "{text}");
    granted(&store, acquire_for(1, None, Duration::from_secs(5))).await;
}

#[tokio::test]
async fn impossible_settings_are_refused_before_any_request() {
    let with = |config: ConfigBuilder| {
        Candidate::builder(at(&[1]), "job").config(config.build().unwrap()).start()
    };
    let ttl = |seconds| Config::builder(Duration::from_secs(seconds));
    assert!(matches!(with(ttl(1)), Err(StartError::Config { store: "etcd", .. })));
    let impatient = ttl(5).request_timeout(Duration::from_millis(550));
    assert!(matches!(with(impatient), Err(StartError::Config { store: "etcd", .. })));
    with(ttl(30)).unwrap();
}

/// A cluster with the usual election timeout ends leases up to three seconds early.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_presets_suit_etcd_as_it_comes() {
    let server = EtcdServer::start().unwrap();
    for config in [Config::fast_failover(), Config::normal(), Config::unreliable_network()] {
        let usual = EtcdConfig::new("127.0.0.1", server.port()).trust_empty_store(true);
        // Of elections of their own: they contradict each other.
        let usual = usual.prefix(format!("of-{}", config.ttl().as_secs())).unwrap();
        let (candidate, _) = start(Etcd::new(usual), "one", config);
        soon(candidate.elected()).await.unwrap();
        soon(candidate.stop()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_holder_may_change_its_connection() {
    let server = server();
    let (one, other) = (at(&[server.port()]), at(&[server.port()]));
    let token = granted(&one, acquire(1, None)).await;
    for store in [&one, &other, &one, &other] {
        assert_eq!(call(store, renew(1, token)).await.unwrap(), RENEWED);
    }
    assert_eq!(call(&other, release(1, token)).await.unwrap(), Reply::Released);
    assert_eq!(call(&one, renew(1, token)).await.unwrap(), Reply::Superseded { last: Some(token) });
    assert_eq!(call(&one, release(1, token)).await.unwrap(), Reply::NotHeld);
}

/// Also by candidates that were refused, and by those that released theirs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_etcd_lease_is_left_behind() {
    let server = server();
    let store = at(&[server.port()]);
    let leases =
        || server.api("lease/leases", "{}").unwrap()["leases"].as_array().map_or(0, Vec::len);
    // An unused lease is given back after the reply.
    let one_is_left = async || {
        let mut left = 200;
        while leases() != 1 {
            left -= 1;
            assert!(left > 0, "{} leases are there, and one is needed", leases());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let token = granted(&store, acquire(1, None)).await;
    held(&store, acquire(2, None)).await;
    let asked = (10..26).map(|number| call(&store, acquire(number, Some(token))));
    futures_util::future::join_all(asked).await;
    one_is_left().await;
    assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
    assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    let asked = (10..26).map(|number| call(&store, acquire(number, Some(token))));
    let replies = futures_util::future::join_all(asked).await;
    let is_granted = |reply: &&Result<Reply, _>| matches!(reply, Ok(Reply::Granted { .. }));
    assert_eq!(replies.iter().filter(is_granted).count(), 1);
    one_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_can_be_read_by_people() {
    let server = server();
    let store = at(&[server.port()]);
    let token = granted(&store, acquire(7, None)).await;
    // tenure/leader/job
    let found = server.api("kv/range", r#"{"key":"dGVudXJlL2xlYWRlci9qb2I="}"#).unwrap();
    let created: u64 = found["kvs"][0]["create_revision"].as_str().unwrap().parse().unwrap();
    assert!(token.get() > created);
    assert_ne!(found["kvs"][0]["lease"].as_str(), None);
    for _ in 0..2 {
        let incumbent = held(&store, Request::Observe).await;
        assert_eq!((&*incumbent.name, incumbent.token), ("worker-7", token));
    }
}
