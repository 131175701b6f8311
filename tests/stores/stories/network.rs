//! Networks with round trips of 300 ms, and callers that give up.

use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::AnyStore;
use tenure::store::redis::Redis;
use tenure::{Candidate, Config, Event};
use tenure_servers::{Flow, PostgresServer, Proxy};

use super::{TestServer, proxy};
use crate::stores::support::{Watch, learns_of_leader, soon, start};

/// One way. Requests and their replies take twice that.
const SLOW: Duration = Duration::from_millis(150);

async fn slow_proxy(port: u16, one_way: Duration) -> Proxy {
    let proxy = proxy(port).await;
    proxy.set(Flow::Delay(one_way));
    proxy
}

/// At the preset with the shortest request timeout, 500 ms.
async fn leads(port: u16, store: impl Fn(u16) -> AnyStore) {
    let proxy = slow_proxy(port, SLOW).await;
    let (candidate, _) = start(store(proxy.port()), "far away", Config::fast_failover());
    let before = soon(candidate.elected()).await.unwrap();
    proxy.cut();
    // The lead may outlive the cut, if the next connection comes in time. Then it is renewed over
    // that one.
    tokio::time::sleep(Config::fast_failover().ttl()).await;
    let after = soon(candidate.elected()).await.unwrap();
    assert!(after.token() >= before.token());
    soon(candidate.stop()).await.unwrap();
}

async fn a_candidate_leads_on_a_slow_network(server: TestServer) {
    leads(server.port(), |port| server.store_at(port)).await;
}
// Not on etcd: its requests take up to three round trips, for which the preset's request timeout is
// too short. `etcd::slow` has the round trips at which its presets lead.
story!(a_candidate_leads_on_a_slow_network: redis_rs, fred, postgres, kubernetes, mysql);

/// Requests take one round trip: of two, each would be more than the request timeout.
async fn waits(port: u16, store: impl Fn(u16) -> AnyStore) {
    let proxy = slow_proxy(port, SLOW).await;
    // The timeout is the preset's, and the lease outlasts a pause of the machine.
    let config = Config::builder(Duration::from_secs(15))
        .renew_interval(Duration::from_secs(1))
        .request_timeout(Config::fast_failover().request_timeout())
        .build()
        .unwrap();
    let (one, _) = start(store(proxy.port()), "one", config);
    let first = soon(one.elected()).await.unwrap();
    let (two, mut events) = start(store(proxy.port()), "two", config);
    // Connecting takes longer than a request may.
    learns_of_leader(&mut events).await;
    // It asks again whenever the lease would have ended without the renewals meanwhile.
    tokio::time::sleep(config.ttl() * 3 / 2).await;
    assert!(first.is_current() && !two.is_leader());
    soon(one.stop()).await.unwrap();
    assert!(soon(two.elected()).await.unwrap().token() > first.token());
    let mut lost = Vec::new();
    loop {
        match soon(events.next()).await.unwrap() {
            Event::Elected(_) => break,
            Event::StoreUnavailable { error } => lost.push(error),
            _ => {}
        }
    }
    // A machine that is busy, or pauses, may lose a few of more than twenty. If they took two round
    // trips, each would be lost.
    assert!(lost.len() < 6, "requests were lost: {lost:?}");
    soon(two.stop()).await.unwrap();
}

async fn a_waiting_candidate_loses_no_request(server: TestServer) {
    waits(server.port(), |port| server.store_at(port)).await;
}
// Not on etcd, for the same reason.
story!(a_waiting_candidate_loses_no_request: redis_rs, fred, postgres);

/// Looks that are dropped before their answer, as those of a web client that disconnects, beside a
/// leader.
async fn dropped_looks_cost_no_lead(server: TestServer) {
    let proxy = slow_proxy(server.port(), Duration::from_millis(10)).await;
    let config = server.steady;
    let candidate = server.candidate_at(proxy.port(), "leader", config);
    let tenure = soon(candidate.elected()).await.unwrap();
    let (dropped, looks) = soon(drop_looks(&candidate, config.ttl())).await;
    assert!(dropped > looks / 2, "{dropped} of {looks} looks were dropped before their answer");
    assert!(tenure.is_current(), "renewed beside them");
    soon(candidate.stop()).await.unwrap();
}
story!(dropped_looks_cost_no_lead);

/// The number of looks that were dropped, and of all: a thread that wakes late may find the answer
/// there.
async fn drop_looks(candidate: &Candidate, lasting: Duration) -> (u32, u32) {
    let (mut dropped, mut looks) = (0, 0);
    let end = tokio::time::Instant::now() + lasting;
    while tokio::time::Instant::now() < end {
        let look = tokio::time::timeout(Duration::from_millis(5), candidate.incumbent());
        dropped += u32::from(look.await.is_err());
        looks += 1;
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    (dropped, looks)
}

/// A runtime that soon ends is the first to need a connection; the driver runs in another one.
async fn connections_outlive_the_runtime_that_asked(server: TestServer) {
    // Renewed often, and no request is given up on a busy machine.
    let config = Config::builder(Duration::from_secs(30))
        .renew_interval(Duration::from_secs(1))
        .request_timeout(Duration::from_secs(5));
    let builder = Candidate::builder(server.store(), "job").config(config.build().unwrap());
    let (candidate, driver) = builder.build().unwrap();
    let mut events = candidate.events();
    let asker = candidate.clone();
    let look = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(asker.incumbent())
    });
    // The look waits in the driver's queue, and is the first request that the driver takes.
    tokio::time::sleep(Duration::from_millis(100)).await;
    tokio::spawn(driver.run());
    soon(tokio::task::spawn_blocking(|| look.join().unwrap())).await.unwrap().unwrap();
    let tenure = soon(candidate.elected()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert!(tenure.is_current());
    soon(candidate.stop()).await.unwrap();
    let mut renewals = 0;
    while let Some(event) = soon(events.next()).await {
        assert!(!matches!(event, Event::StoreUnavailable { .. }), "{event:?}");
        renewals += u32::from(matches!(event, Event::Renewed(_)));
    }
    assert!(renewals > 0, "renewed over the connection");
}
story!(connections_outlive_the_runtime_that_asked);

/// A firewall that resets connections, and a server's machine that loses power: the client is told
/// at once, or never.
async fn connections_that_end_badly_are_replaced(server: TestServer) {
    let proxy = server.proxy().await;
    let one = server.candidate_at(proxy.port(), "behind the proxy", server.quick);
    soon(one.elected()).await.unwrap();
    let rival = server.candidate("rival", server.quick);
    let watch = Watch::over(&[&one, &rival]);
    for end in [Proxy::reset, Proxy::half_open] {
        let before = proxy.connections();
        end(&proxy);
        soon(async {
            while proxy.connections() == before || one.incumbent().await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        // The lead is kept, or the rival has taken over.
        soon(async {
            while !one.is_leader() && !rival.is_leader() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }
    watch.nobody_overlapped();
    for candidate in [one, rival] {
        soon(candidate.stop()).await.unwrap();
    }
}
story!(connections_that_end_badly_are_replaced);

/// With more round trips before the first request, also of the connection after the cut.
mod encrypted {
    use super::*;
    use crate::stores::{postgres, redis};

    fn redis() -> (redis::tls::Encrypted, impl Fn(u16) -> AnyStore) {
        let (server, tls) = redis::tls::encrypted();
        let config = move |port| redis::support::local(port).tls(tls.clone());
        let store = move |port| AnyStore::new(Redis::new(config(port).trust_empty_store(true)));
        (server, store)
    }

    fn postgres() -> (PostgresServer, impl Fn(u16) -> AnyStore) {
        let (server, store) = postgres::tls::with_password();
        (server, move |port| AnyStore::new(store(port)))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn redis_leads_on_a_slow_network() {
        let (server, store) = redis();
        leads(server.port(), store).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres_leads_on_a_slow_network() {
        let (server, store) = postgres();
        leads(server.port(), store).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn redis_loses_no_request_of_waiting_candidates() {
        let (server, store) = redis();
        waits(server.port(), store).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres_loses_no_request_of_waiting_candidates() {
        let (server, store) = postgres();
        waits(server.port(), store).await;
    }
}
