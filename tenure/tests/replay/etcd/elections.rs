//! Candidates on a real etcd: what wakes them, what ends a lease, and what observers are told.

use std::time::{Duration, Instant};

use tenure::store::contract::Acquire;
use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure::store::{Key, Profile, Reply, Request, Store, StoreErrorKind};
use tenure::{Candidate, Config, HolderId, Token};
use tenure_core::{RequestId, Wish};
use tenure_servers::{EtcdServer, undisturbed};

/// A member that changes its leader quickly, so that leases may be short.
fn server() -> EtcdServer {
    let fast = ["--heartbeat-interval", "20", "--election-timeout", "200"];
    EtcdServer::start_with(&fast).expect("an etcd server")
}

fn store(server: &EtcdServer) -> Etcd {
    let config = EtcdConfig::new("127.0.0.1", server.port()).trust_empty_store(true);
    Etcd::new(config.election_timeout(Duration::from_millis(200)).unwrap())
}

fn candidate(server: &EtcdServer, name: &str, config: Config) -> Candidate {
    Candidate::builder(store(server), "job").name(name).config(config).start().unwrap()
}

async fn within<T>(bound: u64, done: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(bound), done).await.expect("in time")
}

async fn leader(of: &Candidate) -> Option<String> {
    of.incumbent().await.unwrap().map(|incumbent| incumbent.name)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_wakes_the_next_leader_at_once() {
    let server = server();
    let config = Config::builder(Duration::from_secs(30));
    let config = config.renew_interval(Duration::from_secs(1)).build().unwrap();
    let anna = candidate(&server, "anna", config);
    let first = within(60, anna.elected()).await.unwrap().token();
    let bert = candidate(&server, "bert", config);
    // A few renewals.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(anna.is_leader() && !bert.is_leader());
    assert_eq!(leader(&bert).await.as_deref(), Some("anna"));
    let began = Instant::now();
    anna.stop().await.unwrap();
    let second = within(60, bert.elected()).await.unwrap().token();
    // Far below the end of the lease.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(second > first);
    assert_eq!(leader(&bert).await.as_deref(), Some("bert"));
    bert.stop().await.unwrap();
    let key = Key::new("job").unwrap();
    let observed = store(&server).call(&key, Request::Observe).await.unwrap();
    assert!(matches!(&observed, Reply::At(shown) if shown.incumbent().is_none()), "{observed:?}");
}

fn acquire(holder: u128, ttl: u64) -> Request {
    let profile = Profile::new("anna", "").unwrap();
    let (holder, number) = (HolderId::from_bits(holder), RequestId::new(1).unwrap());
    let (ttl, quarantine) = (Duration::from_secs(ttl), Duration::from_secs(4));
    let first = Acquire::new(holder, number, ttl, profile.name_id());
    let asks = Acquire { quarantine, ..first };
    Request::Acquire { asks, profile }
}

async fn granted(store: &Etcd, ttl: u64) -> Token {
    match store.call(&Key::new("job").unwrap(), acquire(7, ttl)).await.unwrap() {
        Reply::Granted { token } => token,
        reply => panic!("{reply:?}"),
    }
}

fn renew(token: Token) -> Request {
    let (holder, number) = (HolderId::from_bits(7), RequestId::new(9).unwrap());
    Request::Renew { holder, token, number, stamp: None }
}

/// A leader that is gone renews no more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_without_renewals_is_ended_by_the_server() {
    let server = server();
    let lost = store(&server);
    let began = Instant::now();
    granted(&lost, 4).await;
    let config = Config::builder(Duration::from_secs(4)).build().unwrap();
    let bert = candidate(&server, "bert", config);
    within(60, bert.elected()).await.unwrap();
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(3), "{took:?}");
}

#[test]
fn a_renewal_extends_the_lease_and_writes_nothing() {
    // A pause of the machine may outlast the lease.
    undisturbed(|| tokio::runtime::Runtime::new().unwrap().block_on(renewals_extend_the_lease()));
}

async fn renewals_extend_the_lease() {
    let server = server();
    let (anna, key) = (store(&server), Key::new("job").unwrap());
    let token = granted(&anna, 4).await;
    let revision =
        || server.api("kv/range", r#"{"key":"YQ=="}"#).unwrap()["header"]["revision"].clone();
    let before = revision();
    // Another process of the same holder finds the lease too.
    let other = store(&server);
    for turn in 0..8 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let by = if turn % 2 == 0 { &anna } else { &other };
        let reply = by.call(&key, renew(token)).await.unwrap();
        assert!(
            matches!(reply, Reply::Renewed { asked: None, wanted: None, past: None }),
            "{reply:?}"
        );
    }
    assert_eq!(before, revision(), "a renewal was written");
    let reply = anna.call(&key, Request::Want { token, wish: Some(Wish::Anybody) }).await.unwrap();
    assert_eq!(reply, Reply::Noted);
    let reply = anna.call(&key, renew(token)).await.unwrap();
    assert!(matches!(reply, Reply::Renewed { wanted: Some(Wish::Anybody), .. }), "{reply:?}");
    // A lease of another TTL would not be the record's.
    assert_eq!(granted(&other, 8).await, token);
    let Reply::At(shown) = other.call(&key, Request::Observe).await.unwrap() else { panic!() };
    let incumbent = shown.incumbent().unwrap();
    assert_eq!(incumbent.ttl, Duration::from_secs(4));
    assert!(incumbent.renewed_ago < Duration::from_secs(2), "{:?}", incumbent.renewed_ago);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_an_earlier_version_are_refused_by_name() {
    let server = server();
    let key = Key::new("job").unwrap();
    // tenure/leader/job: tenure1 7
    let leader = r#"{"key":"dGVudXJlL2xlYWRlci9qb2I=","value":"dGVudXJlMSA3"}"#;
    // tenure/history: tenure1 7
    let history = r#"{"key":"dGVudXJlL2hpc3Rvcnk=","value":"dGVudXJlMSA3"}"#;
    for (put, named) in [(leader, "tenure/leader/job"), (history, "tenure/history")] {
        server.api("kv/put", put).unwrap();
        let error = store(&server).call(&key, acquire(7, 4)).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{error}");
        let text = error.to_string();
        assert!(text.contains(named) && text.contains("etcdctl del --prefix"), "{text}");
    }
}
