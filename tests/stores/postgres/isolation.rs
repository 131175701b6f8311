//! A leader that can't reach its store any longer, while others can.

use std::time::{Duration, Instant};

use tenure::{Config, StepDownReason};
use tenure_servers::{Flow, Proxy};

use super::support::{Watch, candidate, falls, proxy, server, soon};

/// Room for a loaded machine to run what is due.
const SLACK: Duration = Duration::from_secs(1);

fn quick() -> Config {
    Config::builder(Duration::from_secs(3)).build().unwrap()
}

/// A leader behind a proxy loses what `isolate` takes; a standby that is not takes over; then it heals.
async fn is_replaced(isolate: impl Fn(&Proxy)) {
    let server = server();
    let proxy = proxy(&server).await;
    let leader = candidate(proxy.port(), "leader", quick());
    let first = soon(leader.elected()).await.unwrap();
    let standby = candidate(server.port(), "standby", quick());
    let watch = Watch::over(&[&leader, &standby]);
    let (leader_falls, standby_falls) = (falls(&leader), falls(&standby));

    isolate(&proxy);
    let began = Instant::now();
    soon(first.ended()).await;
    let led_on = began.elapsed();
    assert!(led_on <= quick().validity() + SLACK, "led on for {led_on:?}");
    let second = soon(standby.elected()).await.unwrap();
    assert!(second.token() > first.token());
    assert_eq!(*leader_falls.lock().unwrap(), [StepDownReason::Expired]);

    // What was lost stays lost, so the old connections are of no use.
    proxy.cut();
    proxy.set(Flow::Forward);
    tokio::time::sleep(quick().ttl() * 2).await;
    assert!(second.is_current() && !leader.is_leader(), "the lead has not moved again");
    assert_eq!(*standby_falls.lock().unwrap(), []);
    soon(standby.stop()).await.unwrap();
    soon(leader.elected()).await.expect("the first can lead again");
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_in_a_black_hole_is_replaced() {
    is_replaced(|proxy| proxy.set(Flow::BlackHole)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_hears_no_replies_is_replaced() {
    // Its renewals arrive and extend the lease, as long as it believes in them.
    is_replaced(|proxy| proxy.set_replies(Flow::BlackHole)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_held_back_for_long_do_no_harm() {
    let server = server();
    let proxy = proxy(&server).await;
    let leader = candidate(proxy.port(), "leader", quick());
    let first = soon(leader.elected()).await.unwrap();
    let standby = candidate(server.port(), "standby", quick());
    let watch = Watch::over(&[&leader, &standby]);
    proxy.set_requests(Flow::Hold);
    let second = soon(standby.elected()).await.unwrap();
    // Into the new tenure.
    proxy.set_requests(Flow::Forward);
    tokio::time::sleep(quick().ttl() * 2).await;
    assert!(second.is_current() && second.token() > first.token());
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_a_black_hole_is_reached_again_once_it_heals() {
    let server = server();
    let proxy = proxy(&server).await;
    let one = candidate(proxy.port(), "one", quick());
    soon(one.elected()).await.unwrap();
    proxy.set(Flow::BlackHole);
    tokio::time::sleep(quick().ttl()).await;
    assert!(!one.is_leader());
    // The old connections stay open, and silent for ever.
    proxy.set(Flow::Forward);
    soon(one.elected()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_into_a_black_hole_ends_in_time() {
    let server = server();
    let proxy = proxy(&server).await;
    let leader = candidate(proxy.port(), "leader", quick());
    let tenure = soon(leader.elected()).await.unwrap();
    proxy.set(Flow::BlackHole);
    let began = Instant::now();
    assert_eq!(soon(leader.stop()).await, Ok(()));
    assert!(!tenure.is_current());
    let took = began.elapsed();
    assert!(took <= quick().explain().longest_stop + SLACK, "{took:?}");
}
