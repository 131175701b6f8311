//! A candidate that can't reach its store while others can.

use std::task::Poll;
use std::time::{Duration, Instant};

use tenure::runtime::{Runtime, TokioRuntime};
use tenure::{Candidate, Config, StepDownReason};
use tenure_servers::{Flow, Proxy};

use super::TestServer;
use crate::stores::support::{Watch, falls, soon};

/// Room for the delays and pauses of a loaded machine.
const SLACK: Duration = Duration::from_secs(5);

/// Waits until the candidate no longer leads; by that time it must not.
async fn stops_leading(candidate: &Candidate, by: tenure::Instant) {
    soon(async {
        loop {
            // Read first: a candidate that is then found to lead has led at that time or later.
            let now = TokioRuntime.now();
            if !candidate.is_leader() {
                return;
            }
            assert!(now < by, "leads at {now:?}, and not only until {by:?}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

/// A leader behind a proxy loses what `isolate` takes; a standby that is not behind it takes over;
/// then it heals.
async fn is_replaced(server: TestServer, isolate: impl Fn(&Proxy)) {
    // The standby keeps the lead through delays of a loaded machine.
    let (proxy, config) = (server.proxy().await, server.steady);
    let leader = server.candidate_at(proxy.port(), "leader", config);
    let first = soon(leader.elected()).await.unwrap();
    let standby = server.candidate("standby", config);
    let watch = Watch::over(&[&leader, &standby]);
    let (leader_falls, standby_falls) = (falls(&leader), falls(&standby));

    isolate(&proxy);
    // What it was answered, it had asked before.
    stops_leading(&leader, TokioRuntime.now() + config.validity()).await;
    assert!(!first.is_current());
    let second = soon(standby.elected()).await.unwrap();
    assert!(second.token() > first.token());
    assert_eq!(*leader_falls.lock().unwrap(), [StepDownReason::Expired]);

    // Streams with bytes missing are of no use.
    proxy.cut();
    proxy.set(Flow::Forward);
    tokio::time::sleep(config.ttl()).await;
    assert!(second.is_current() && !leader.is_leader(), "the lead has not moved again");
    assert_eq!(*standby_falls.lock().unwrap(), []);
    assert_eq!(leader_falls.lock().unwrap().len(), 1);
    soon(standby.stop()).await.unwrap();
    soon(leader.elected()).await.expect("the first can lead again");
    watch.nobody_overlapped();
}

async fn a_leader_in_a_black_hole_is_replaced(server: TestServer) {
    is_replaced(server, |proxy| proxy.set(Flow::BlackHole)).await;
}

/// Its renewals arrive and extend the lease, as long as it believes in them.
async fn a_leader_that_hears_no_replies_is_replaced(server: TestServer) {
    is_replaced(server, |proxy| proxy.set_replies(Flow::BlackHole)).await;
}

/// The requests of the old tenure arrive in the next one, on the same connection.
async fn requests_held_back_for_long_do_no_harm(server: TestServer) {
    // The standby keeps the lead through delays of a loaded machine.
    let (proxy, config) = (server.proxy().await, server.steady);
    let leader = server.candidate_at(proxy.port(), "leader", config);
    let first = soon(leader.elected()).await.unwrap();
    let standby = server.candidate("standby", config);
    let watch = Watch::over(&[&leader, &standby]);
    proxy.set_requests(Flow::Hold);
    let second = soon(standby.elected()).await.unwrap();
    proxy.set_requests(Flow::Forward);
    tokio::time::sleep(config.ttl()).await;
    assert!(second.is_current() && second.token() > first.token());
    watch.nobody_overlapped();
}

/// The old connections stay open, and silent for ever.
async fn a_store_is_reached_after_a_black_hole(server: TestServer) {
    let (proxy, config) = (server.proxy().await, server.quick);
    let candidate = server.candidate_at(proxy.port(), "candidate", config);
    soon(candidate.elected()).await.unwrap();
    proxy.set(Flow::BlackHole);
    tokio::time::sleep(config.ttl()).await;
    assert!(!candidate.is_leader());
    proxy.set(Flow::Forward);
    soon(candidate.elected()).await.unwrap();
}

stories!(
    a_cut_off_leader: a_leader_in_a_black_hole_is_replaced,
    a_leader_that_hears_no_replies_is_replaced,
    requests_held_back_for_long_do_no_harm,
    a_store_is_reached_after_a_black_hole
);

fn ends_in_time(began: Instant, config: Config) {
    let took = began.elapsed();
    assert!(took <= config.explain().longest_stop + SLACK, "{took:?}");
}

async fn stopping_into_a_black_hole_ends_in_time(server: TestServer) {
    let proxy = server.proxy().await;
    let leader = server.candidate_at(proxy.port(), "leader", server.quick);
    let tenure = soon(leader.elected()).await.unwrap();
    proxy.set(Flow::BlackHole);
    let began = Instant::now();
    let mut stop = Box::pin(leader.stop());
    assert_eq!(futures_util::poll!(stop.as_mut()), Poll::Pending);
    assert!(!leader.is_leader() && !tenure.is_current(), "over before the first reply");
    assert_eq!(soon(stop).await, Ok(()));
    ends_in_time(began, server.quick);
    assert!(!leader.is_leader());
}
story!(stopping_into_a_black_hole_ends_in_time);

async fn resigning_into_a_black_hole_ends_in_time(server: TestServer) {
    let proxy = server.proxy().await;
    let leader = server.candidate_at(proxy.port(), "leader", server.quick);
    let first = soon(leader.elected()).await.unwrap();
    proxy.set(Flow::BlackHole);
    let began = Instant::now();
    soon(leader.resign()).await.unwrap();
    ends_in_time(began, server.quick);
    assert!(!leader.is_leader());
    proxy.cut();
    proxy.set(Flow::Forward);
    assert!(soon(leader.elected()).await.unwrap().token() > first.token());
}
story!(resigning_into_a_black_hole_ends_in_time);

async fn a_standby_stops_in_a_black_hole(server: TestServer) {
    let proxy = server.proxy().await;
    proxy.set(Flow::BlackHole);
    let standby = server.candidate_at(proxy.port(), "standby", server.quick);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let began = Instant::now();
    soon(standby.stop()).await.unwrap();
    ends_in_time(began, server.quick);
}
story!(a_standby_stops_in_a_black_hole);
