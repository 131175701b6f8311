//! A leader that can't reach its cluster any longer, while others can.

use std::time::{Duration, Instant};

use tenure::Event;
use tenure::StepDownReason;
use tenure_servers::{EtcdServer, Flow, Proxy};

use super::support::{Watch, at, event, quick, server, soon, start};

/// Room for a loaded machine to run what is due.
const SLACK: Duration = Duration::from_secs(1);

async fn proxy(server: &EtcdServer) -> Proxy {
    Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap()
}

/// A leader behind a proxy loses what `flow` says; a standby that is not takes over; then it heals.
async fn is_replaced(isolate: impl Fn(&Proxy)) {
    let server = server();
    let proxy = proxy(&server).await;
    let (leader, mut events) = start(at(&[proxy.port()]), "leader", quick());
    let first = soon(leader.elected()).await.unwrap();
    let standby = start(at(&[server.port()]), "standby", quick()).0;
    let watch = Watch::over(&[&leader, &standby]);

    isolate(&proxy);
    let reason = event(&mut events, |event| match event {
        Event::SteppedDown { reason, .. } => Some(*reason),
        _ => None,
    })
    .await;
    assert_eq!(reason, StepDownReason::Expired);
    assert!(!first.is_current());
    let second = soon(standby.elected()).await.unwrap();
    assert!(second.token() > first.token());

    // What was lost stays lost, so the old connections are of no use.
    proxy.cut();
    proxy.set(Flow::Forward);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(second.is_current() && !leader.is_leader(), "the lead has not moved again");
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
    is_replaced(|proxy| proxy.set_replies(Flow::BlackHole)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_held_back_for_long_do_no_harm() {
    // Let go into the next tenure, on the same connection.
    let server = server();
    let proxy = proxy(&server).await;
    let leader = start(at(&[proxy.port()]), "leader", quick()).0;
    let first = soon(leader.elected()).await.unwrap();
    let standby = start(at(&[server.port()]), "standby", quick()).0;
    let watch = Watch::over(&[&leader, &standby]);
    proxy.set_requests(Flow::Hold);
    let second = soon(standby.elected()).await.unwrap();
    proxy.set_requests(Flow::Forward);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(second.is_current() && second.token() > first.token());
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_into_a_black_hole_ends_in_time() {
    let server = server();
    let proxy = proxy(&server).await;
    let leader = start(at(&[proxy.port()]), "leader", quick()).0;
    let tenure = soon(leader.elected()).await.unwrap();
    proxy.set(Flow::BlackHole);
    let began = Instant::now();
    let mut stop = Box::pin(leader.stop());
    assert!(futures_util::poll!(stop.as_mut()).is_pending());
    assert!(!leader.is_leader() && !tenure.is_current(), "over before the first reply");
    soon(stop).await.unwrap();
    let took = began.elapsed();
    assert!(took <= quick().explain().longest_stop + SLACK, "{took:?}");
}
