//! Networks with long round trips, and servers that answer late.

use std::time::{Duration, Instant};

use tenure::Config;
use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure::store::{Reply, Request, Store};
use tenure_servers::{EtcdServer, Flow, Proxy};

use super::support::{
    RENEWED, Watch, acquire, answered, at, call, granted, job, release, renew, server, soon, start,
};

/// One way of a round trip of 60 ms. From 40 ms on `fast_failover` never led, and `normal` from 250
/// ms on.
const FAR: Duration = Duration::from_millis(30);

async fn proxy(server: &EtcdServer) -> Proxy {
    Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap()
}

/// At etcd's own settings, from a cold start, and again after the connection was cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_presets_lead_over_long_round_trips() {
    let server = EtcdServer::start().unwrap();
    for (config, one_way) in [(Config::fast_failover(), FAR), (Config::normal(), FAR * 5)] {
        let proxy = proxy(&server).await;
        proxy.set(Flow::Delay(one_way));
        let etcd = EtcdConfig::new("127.0.0.1", proxy.port()).trust_empty_store(true);
        let (far, _) = start(Etcd::new(etcd), "far", config);
        let mut tries = 0;
        let (near, watch) = loop {
            let tenure = soon(far.elected()).await.unwrap();
            let near = EtcdConfig::new("127.0.0.1", server.port()).trust_empty_store(true);
            let (near, _) = start(Etcd::new(near), "near", config);
            let watch = Watch::over(&[&far, &near]);
            tokio::time::sleep(Duration::from_secs(4)).await;
            if tenure.is_current() {
                break (near, watch);
            }
            // A machine that pauses for a second costs the lead; then the next tenure must last.
            tries += 1;
            assert!(tries < 10, "it renews at round trips of {:?}", one_way * 2);
            soon(near.stop()).await.unwrap();
            watch.nobody_overlapped();
        };
        proxy.cut();
        tokio::time::sleep(Duration::from_secs(4)).await;
        soon(near.stop()).await.unwrap();
        soon(far.elected()).await.expect("it leads still or again");
        soon(far.stop()).await.unwrap();
        watch.nobody_overlapped();
    }
}

/// The number of round trips of a request, measured by a long delay.
async fn round_trips(proxy: &Proxy, store: &Etcd, request: Request) -> (Reply, u128) {
    let apart = Duration::from_millis(300);
    proxy.set_requests(Flow::Delay(apart));
    let began = Instant::now();
    let reply = call(store, request).await.unwrap();
    let took = began.elapsed();
    proxy.set_requests(Flow::Forward);
    (reply, took.as_millis() / apart.as_millis())
}

/// A slow machine, and one that pauses, adds to requests; so the quickest of several tries counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_take_no_more_round_trips_than_declared() {
    let server = server();
    let proxy = proxy(&server).await;
    let store = at(&[proxy.port()]);
    let mut token = granted(&store, acquire(1, None)).await;
    call(&store, release(1, token)).await.unwrap();
    let most = u128::from(store.traits().round_trips);
    let mut least = [u128::MAX; 4];
    for tries in 0..10 {
        if tries >= 3 && least.iter().all(|trips| *trips <= most) {
            break;
        }
        let (first, anew) = round_trips(&proxy, &store, acquire(2, Some(token))).await;
        // The same once more, as after a reply that was lost: its token stays.
        let (second, again) = round_trips(&proxy, &store, acquire(2, None)).await;
        assert_eq!(first, second);
        let Reply::Granted { token: next, .. } = first else { panic!("{first:?}") };
        token = next;
        let (reply, renewal) = round_trips(&proxy, &store, renew(2, token)).await;
        assert_eq!(reply, RENEWED);
        let (reply, ending) = round_trips(&proxy, &store, release(2, token)).await;
        assert_eq!(reply, Reply::Released);
        let now = [anew, again, renewal, ending];
        least = std::array::from_fn(|which| least[which].min(now[which]));
    }
    assert!(least.iter().all(|trips| *trips <= most), "{least:?}");
}

/// A request that is given up at every step of its way does not cost others their connection, as
/// long as the server answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_answers_keeps_its_connection() {
    let server = server();
    let proxy = proxy(&server).await;
    let store = at(&[proxy.port()]);
    let token = granted(&store, acquire(1, None)).await;
    proxy.set_requests(Flow::Delay(Duration::from_secs(1)));
    // No new connection can be opened from now on.
    proxy.refuse(true);
    let mut undisturbed = 0;
    for _ in 0..30 {
        if undisturbed == 3 {
            break;
        }
        let late = Duration::from_millis(1_500);
        let key = job();
        let began = Instant::now();
        // One of its two round trips.
        let given_up = tokio::time::timeout(late, store.call(&key, Request::Observe)).await;
        if began.elapsed() > late + Duration::from_millis(300) {
            // A pause of the machine is a silence of the server, which may cost the connection.
            proxy.refuse(false);
            assert_eq!(answered(&store, renew(1, token)).await, RENEWED);
            proxy.refuse(true);
            continue;
        }
        assert!(given_up.is_err(), "{given_up:?}");
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
        undisturbed += 1;
    }
    assert_eq!(undisturbed, 3, "the machine pauses without end");
    // A silent server loses its connection.
    proxy.set_replies(Flow::BlackHole);
    for _ in 0..2 {
        let key = job();
        let late = Duration::from_millis(500);
        let silent = tokio::time::timeout(late, store.call(&key, Request::Observe)).await;
        assert!(silent.is_err() || silent.is_ok_and(|reply| reply.is_err()));
    }
    proxy.cut();
    proxy.set(Flow::Forward);
    proxy.refuse(false);
    assert_eq!(answered(&store, renew(1, token)).await, RENEWED);
}
