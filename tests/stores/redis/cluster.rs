//! A cluster, one node of which keeps the elections at a time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::store::redis::{Redis, RedisConfig};
use tenure::store::{AnyStore, Credentials, Key, Reply, Request, Secret, Store, StoreErrorKind};
use tenure::{Candidate, Config};
use tenure_servers::{RedisCluster, RedisServer, Reply as Raw};

use super::access::{RIGHTS, as_app, let_in};
use super::failover::{self, hands_over_at_once};
use super::fake::{Fake, HELLO};
use super::rows::{NEED_A_RESTART, slow};
use super::support::{
    Place, RECORD, RENEWED, TTL, Watch, acquire, call, falls, granted, granted_after_a_watch, held,
    job, local, release, renew, server, soon, start,
};

fn quick() -> Config {
    Config::builder(Duration::from_secs(5)).build().unwrap()
}

fn by(ports: &[u16]) -> RedisConfig {
    let listed = ports.iter().map(|&port| ("127.0.0.1", port));
    RedisConfig::cluster(listed).unwrap().trust_empty_store(true).connect_timeout(TTL)
}

fn store(config: RedisConfig) -> AnyStore {
    AnyStore::new(Redis::new(config))
}

fn candidate(ports: &[u16], name: &str, config: Config) -> Candidate {
    start(store(by(ports).connect_timeout(quick().request_timeout())), name, config).0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_node_redirects_to_the_prefixs_owner() {
    let cluster = RedisCluster::start(3, 0).unwrap();
    let mut owners = std::collections::BTreeSet::new();
    for number in 0..12 {
        let prefix = format!("app-{number}");
        owners.insert(cluster.owner(&format!("{{{prefix}}}:past"), 0).unwrap());
        let mut token = None;
        for port in cluster.ports() {
            let config = by(&[port]).prefix(&prefix).unwrap();
            let store = store(config);
            let granted = granted(&store, acquire(1, token)).await;
            assert!(token.is_none_or(|before| granted > before));
            assert_eq!(call(&store, release(1, granted)).await.unwrap(), Reply::Released);
            token = Some(granted);
        }
    }
    assert_eq!(owners.len(), 3, "the prefixes are kept by all of the nodes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_records_are_deleted() {
    let cluster = RedisCluster::start(3, 0).unwrap();
    crate::stores::stories::purge::old_records_alone_are_deleted(store(by(&cluster.ports()))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_hand_over_at_once() {
    let cluster = RedisCluster::start(3, 0).unwrap();
    let ports = cluster.ports();
    hands_over_at_once(store(by(&ports[..1])), store(by(&ports[1..2]))).await;
}

async fn survives(
    fail: impl FnOnce(&mut RedisServer),
    returns: impl AsyncFnOnce(&mut RedisServer),
) {
    let cluster = RedisCluster::start(3, 3).unwrap();
    let ports = cluster.ports();
    failover::survives(cluster, |name| candidate(&ports, name, quick()), fail, returns).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_paused_and_resumed() {
    let returns = async |old: &mut RedisServer| {
        old.resume().unwrap();
        tokio::time::sleep(quick().ttl() * 2).await;
    };
    survives(|node| node.pause().unwrap(), returns).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_dies() {
    survives(|node| node.kill().unwrap(), async |_| {}).await;
}

/// A slot on its way from one node to another, step by step.
struct Move<'a> {
    cluster: &'a RedisCluster,
    slot: String,
    from: usize,
    to: usize,
}

impl<'a> Move<'a> {
    fn begin(cluster: &'a RedisCluster) -> Self {
        let from = cluster.owner(RECORD, 0).unwrap();
        let to = (from + 1) % 3;
        let slot = cluster.slot(RECORD, 0).unwrap().to_string();
        let (old, new) = (cluster.id(from).unwrap(), cluster.id(to).unwrap());
        let moving = Self { cluster, slot, from, to };
        moving.set(to, &["IMPORTING", &old]);
        moving.set(from, &["MIGRATING", &new]);
        moving
    }

    fn set(&self, node: usize, what: &[&str]) {
        let command = [&["CLUSTER", "SETSLOT", &self.slot], what].concat();
        let answer = self.cluster.node(node).command(&command).unwrap();
        assert!(matches!(answer, Raw::SimpleString(_)), "{answer:?}");
    }

    fn key(&self, key: &str) {
        let port = self.cluster.node(self.to).port().to_string();
        let migrate = ["MIGRATE", "127.0.0.1", &port, key, "0", "5000"];
        let answer = self.cluster.node(self.from).command(&migrate).unwrap();
        assert!(matches!(answer, Raw::SimpleString(_)), "{answer:?}");
    }

    fn end(self) {
        let new = self.cluster.id(self.to).unwrap();
        for node in [self.to, self.from] {
            self.set(node, &["NODE", &new]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_moving_slot_is_followed() {
    let cluster = RedisCluster::start(3, 0).unwrap();
    let ports = cluster.ports();
    // By a user with the least rights.
    let more = ["+cluster|keyslot", "+cluster|slots", "+cluster|nodes", "+asking"];
    for number in 0..3 {
        let_in(cluster.node(number), &[&RIGHTS[..], &more].concat());
    }
    let store = store(as_app(by(&ports)));
    let token = granted(&store, acquire(1, None)).await;
    let other = Key::new("other").unwrap();
    let reply = store.call(&other, acquire(1, None)).await.unwrap();
    let Reply::Granted { token: token_of_other, .. } = reply else { panic!("{reply:?}") };
    let renewed = async || {
        let renewed = call(&store, renew(1, token)).await.unwrap();
        assert!(matches!(renewed, Reply::Renewed { .. }), "{renewed:?}");
    };
    let moving = Move::begin(&cluster);
    renewed().await;
    moving.key(RECORD);
    renewed().await;
    // Also over a connection on which no renewal has found the record beside the past yet.
    let anew = self::store(as_app(by(&ports)));
    assert_eq!(call(&anew, renew(1, token)).await.unwrap(), RENEWED);
    // Where one record has moved and the other has not, each renewal of one call goes to its own
    // node.
    let together = vec![(job(), renew(1, token)), (other.clone(), renew(1, token_of_other))];
    for reply in store.call_all(together).await {
        assert_eq!(reply.unwrap(), RENEWED);
    }
    // With one of two keys on each node, other requests are refused until both are on one.
    for request in [acquire(2, None), Request::Observe] {
        let error = call(&store, request).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Refused, "{error}");
    }
    for key in [super::support::PAST, "{tenure}:leader:other"] {
        moving.key(key);
    }
    held(&store, acquire(2, None)).await;
    renewed().await;
    moving.end();
    renewed().await;
    // Another server than the one that the past names.
    assert_eq!(granted_after_a_watch(&store, acquire(1, None)).await, token);
}

/// The number of connections that the nodes have taken, those of this question included.
fn connections(cluster: &RedisCluster) -> u64 {
    let of_node = |number: usize| {
        let stats = cluster.node(number).command(&["INFO", "stats"]).unwrap();
        let Raw::BulkString(stats) = stats else { panic!("{stats:?}") };
        let stats = String::from_utf8(stats).unwrap();
        let taken = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
        taken.unwrap().parse::<u64>().unwrap()
    };
    (0..3).map(of_node).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirected_elections_share_a_connection() {
    const ELECTIONS: usize = 60;
    const FEW: u64 = 8;
    let cluster = RedisCluster::start(3, 0).unwrap();
    let store = store(by(&cluster.ports()));
    let keys: Vec<_> =
        (0..ELECTIONS).map(|number| Key::new(format!("job-{number}")).unwrap()).collect();
    let acquires = keys.iter().map(|key| (key.clone(), acquire(1, None))).collect();
    let granted = keys.iter().zip(store.call_all(acquires).await);
    let renewals: Vec<_> = granted
        .map(|(key, reply)| match reply {
            Ok(Reply::Granted { token }) => (key.clone(), renew(1, token)),
            other => panic!("{other:?}"),
        })
        .collect();
    let moving = Move::begin(&cluster);
    for key in keys.iter().step_by(2) {
        moving.key(&format!("{{tenure}}:leader:{key}"));
    }
    let before = connections(&cluster);
    for _ in 0..3 {
        for reply in store.call_all(renewals.clone()).await {
            assert_eq!(reply.unwrap(), RENEWED);
        }
    }
    // Those that are asked for this number are 3.
    let opened = connections(&cluster) - before - 3;
    assert!((1..=FEW).contains(&opened), "{opened} for {ELECTIONS} elections");
}

/// The first renewals that a new owner carries out make another past: by `ASK`, or by `MOVED`, of
/// one election or of two in one call.
async fn compares_a_new_owner(is_redirected_by_ask: bool, elections: &[&str]) {
    let cluster = RedisCluster::start(3, 0).unwrap();
    let store = store(by(&cluster.ports()));
    let mut renewals = Vec::new();
    for &name in elections {
        let key = Key::new(name).unwrap();
        let reply = store.call(&key, acquire(1, None)).await.unwrap();
        let Reply::Granted { token } = reply else { panic!("{reply:?}") };
        renewals.push((key, renew(1, token)));
    }
    let renewed = async || {
        for reply in store.call_all(renewals.clone()).await {
            assert!(matches!(reply, Ok(Reply::Renewed { .. })), "{reply:?}");
        }
    };
    renewed().await;
    let moving = Move::begin(&cluster);
    let records = elections.iter().map(|name| format!("{{tenure}}:leader:{name}"));
    for key in records.chain([super::support::PAST.to_owned()]) {
        moving.key(&key);
    }
    if is_redirected_by_ask {
        renewed().await;
    }
    let owner = cluster.node(moving.to);
    moving.end();
    if !is_redirected_by_ask {
        renewed().await;
    }
    let Raw::BulkString(info) = owner.command(&["INFO", "server"]).unwrap() else { panic!() };
    let info = String::from_utf8(info).unwrap();
    let id = info.lines().find_map(|line| line.strip_prefix("run_id:")).unwrap();
    let by = owner.command(&["HGET", super::support::PAST, "identity"]).unwrap();
    let Raw::BulkString(by) = by else { panic!("{by:?}") };
    let by = String::from_utf8(by).unwrap();
    assert!(
        by.starts_with(id),
        "{by} is in the past, and not {id}: later candidates would have to watch"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewals_compare_a_slots_new_owner() {
    compares_a_new_owner(false, &["job"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewals_compare_an_owner_to_be() {
    compares_a_new_owner(true, &["job"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewals_in_one_call_compare_a_slots_new_owner() {
    compares_a_new_owner(false, &["job", "other"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewals_in_one_call_compare_an_owner_to_be() {
    compares_a_new_owner(true, &["job", "other"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_is_moved_costs_no_lead() {
    let cluster = RedisCluster::start(3, 0).unwrap();
    let ports = cluster.ports();
    let lasting = Config::builder(Duration::from_secs(15)).renew_interval(Duration::from_secs(1));
    let lasting = lasting.build().unwrap();
    let one = candidate(&ports, "one", lasting);
    let first = soon(one.elected()).await.unwrap();
    let two = candidate(&ports, "two", lasting);
    let (watch, fallen) = (Watch::over(&[&one, &two]), falls(&one));
    let moving = Move::begin(&cluster);
    for key in [RECORD, super::support::PAST] {
        moving.key(key);
    }
    moving.end();
    tokio::time::sleep(lasting.ttl() + Duration::from_secs(3)).await;
    assert!(first.is_current(), "{:?}", fallen.lock().unwrap());
    soon(one.stop()).await.unwrap();
    let next = soon(two.elected()).await.unwrap();
    assert!(next.token() > first.token());
    watch.nobody_overlapped();
}

fn array(elements: &[String]) -> String {
    format!("*{}\r\n{}", elements.len(), elements.concat())
}

fn text(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// A node that answers each call with a redirection, and knows these primaries; the first has all
/// slots.
async fn node_that_sends_on(to: u16, listed: Arc<Mutex<Vec<u16>>>, knows_it: bool) -> Fake {
    Fake::start(Duration::ZERO, move |words| {
        let listed = listed.lock().unwrap().clone();
        let owner = array(&[text("127.0.0.1"), format!(":{}\r\n", listed[0])]);
        let range = array(&[":0\r\n".into(), ":16383\r\n".into(), owner]);
        let known = listed.iter().copied().chain(knows_it.then_some(to));
        let nodes = known.map(|port| format!("id 127.0.0.1:{port}@1 master - 0 0 1 connected\n"));
        let subcommand = words.get(1).map_or("", |word| &**word);
        match (&*words[0], subcommand) {
            ("HELLO", _) => HELLO.to_owned(),
            ("CLUSTER", "KEYSLOT") => ":1\r\n".to_owned(),
            ("CLUSTER", "SLOTS") => array(&[range]),
            ("CLUSTER", "NODES") => text(&nodes.collect::<String>()),
            ("EVALSHA", _) => format!("-ASK 1 127.0.0.1:{to}\r\n"),
            _ => "+OK\r\n".to_owned(),
        }
    })
    .await
}

/// It accepts connections, and says nothing, as a network that has no such address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_address_is_told_with_its_node() {
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    // As the keeper of the slot, and as the node to which the slot is being moved.
    for is_moved_to in [false, true] {
        let listed = Arc::<Mutex<Vec<u16>>>::default();
        let node = node_that_sends_on(port, Arc::clone(&listed), true).await;
        *listed.lock().unwrap() = vec![if is_moved_to { node.port } else { port }];
        let config = by(&[node.port]).connect_timeout(Duration::from_secs(3));
        let error = call(&store(config), Request::Observe).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
        let told = format!("127.0.0.1:{port}, as most of the nodes 127.0.0.1:{} name", node.port);
        assert!(error.to_string().contains(&told), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_node_alone_sends_nobody_anywhere() {
    // Whether more than half of the primaries know the node that requests are redirected to.
    for (second_knows_it, connections) in [(false, 0), (true, 1)] {
        let heard = Arc::<Mutex<Vec<Vec<String>>>>::default();
        let (zero, time) = (":0\r\n".to_owned(), ":1000\r\n".to_owned());
        let vacant = array(&[array(&[text("at"), zero.clone(), time, text(""), zero])]);
        let commands = Arc::clone(&heard);
        let elsewhere = Fake::start(Duration::ZERO, move |words| {
            commands.lock().unwrap().push(words.to_vec());
            match &*words[0] {
                "HELLO" => HELLO.to_owned(),
                "ASKING" => "+OK\r\n".to_owned(),
                _ => vacant.clone(),
            }
        })
        .await;
        let listed = Arc::<Mutex<Vec<u16>>>::default();
        let node = |knows_it| node_that_sends_on(elsewhere.port, Arc::clone(&listed), knows_it);
        let nodes = [node(true).await, node(second_knows_it).await, node(false).await];
        let ports = nodes.each_ref().map(|node| node.port);
        *listed.lock().unwrap() = ports.to_vec();
        let config = by(&ports).credentials(Credentials::new("app", Secret::new("correct-horse")));
        let asked = call(&store(config), Request::Observe).await;
        assert_eq!(elsewhere.connections(), connections, "{asked:?}");
        if second_knows_it {
            assert!(matches!(asked, Ok(Reply::At(shown)) if shown.incumbent().is_none()));
        } else {
            assert_eq!(asked.unwrap_err().kind(), StoreErrorKind::NoLeader);
            assert_eq!(*heard.lock().unwrap(), [[""; 0]; 0]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_and_a_single_server_differ() {
    let cluster = RedisCluster::start(3, 0).unwrap();
    let other = (cluster.owner(RECORD, 0).unwrap() + 1) % 3;
    let alone = store(local(cluster.ports()[other]));
    let error = call(&alone, acquire(1, None)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Refused);
    assert!(error.to_string().ends_with("a node of a cluster needs redis+cluster://"), "{error}");
    let single = server();
    let error = call(&store(by(&[single.port()])), acquire(1, None)).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Refused);
    assert!(error.to_string().contains("cluster support disabled"), "{error}");
}

/// A store of its own for a row of the conformance run, on one of the nodes.
pub(crate) fn place(cluster: &Arc<RedisCluster>, prefix: &str) -> Place {
    let prefix = prefix.to_owned();
    Place::of(Arc::clone(cluster), move |cluster| {
        let config = by(&cluster.ports()).prefix(&prefix).unwrap();
        store(config.trust_empty_store(false))
    })
    .slowed(|cluster, is_slow| (0..3).for_each(|number| slow(cluster.node(number), is_slow)))
    .skipping(&NEED_A_RESTART)
    .place()
}
