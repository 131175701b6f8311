//! A leader that can't reach its store any longer, while others can.

use std::task::Poll;
use std::time::{Duration, Instant};

use tenure::{Config, StepDownReason};
use tenure_servers::{Flow, Proxy, RedisServer};

use super::support::{Client, Watch, falls, server, soon};

/// Room for a loaded machine to run what is due.
const SLACK: Duration = Duration::from_secs(1);

fn quick() -> Config {
    Config::builder(Duration::from_secs(3)).build().unwrap()
}

async fn proxy(server: &RedisServer) -> Proxy {
    Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap()
}

/// Waits until the candidate no longer leads, and tells how long that took.
async fn until_it_stops_leading(candidate: &tenure::Candidate) -> Duration {
    let began = Instant::now();
    soon(async {
        while candidate.is_leader() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    began.elapsed()
}

/// A leader behind a proxy loses what `flow` says; a standby that is not takes over; then it heals.
async fn is_replaced(client: Client, isolate: impl Fn(&Proxy)) {
    let server = server();
    let proxy = proxy(&server).await;
    let config = quick();
    let leader = client.candidate(proxy.port(), "leader", config);
    let first = soon(leader.elected()).await.unwrap();
    let standby = client.candidate(server.port(), "standby", config);
    let watch = Watch::over(&[&leader, &standby]);
    let (leader_falls, standby_falls) = (falls(&leader), falls(&standby));

    isolate(&proxy);
    let led_on = until_it_stops_leading(&leader).await;
    assert!(led_on <= config.validity() + SLACK, "led on for {led_on:?}");
    assert!(!first.is_current());
    let second = soon(standby.elected()).await.unwrap();
    assert!(second.token() > first.token());
    assert_eq!(*leader_falls.lock().unwrap(), [StepDownReason::Expired]);

    // What was lost stays lost, so the old connections are of no use.
    proxy.cut();
    proxy.set(Flow::Forward);
    tokio::time::sleep(config.ttl() * 2).await;
    assert!(second.is_current() && !leader.is_leader(), "the lead has not moved again");
    assert_eq!(*standby_falls.lock().unwrap(), []);
    assert_eq!(leader_falls.lock().unwrap().len(), 1);
    soon(standby.stop()).await.unwrap();
    soon(leader.elected()).await.expect("the first can lead again");
    watch.nobody_overlapped();
}

over_both_clients! {
    async fn a_leader_in_a_black_hole_is_replaced(client: Client) {
        is_replaced(client, |proxy| proxy.set(Flow::BlackHole)).await;
    }

    async fn a_leader_that_hears_no_replies_is_replaced(client: Client) {
        // Its renewals arrive and extend the lease, as long as it believes in them.
        is_replaced(client, |proxy| proxy.set_replies(Flow::BlackHole)).await;
    }

    async fn requests_held_back_for_long_do_no_harm(client: Client) {
        // Released into the new tenure when the proxy heals: they are cut only after it.
        let server = server();
        let proxy = proxy(&server).await;
        let leader = client.candidate(proxy.port(), "leader", quick());
        let first = soon(leader.elected()).await.unwrap();
        let standby = client.candidate(server.port(), "standby", quick());
        let watch = Watch::over(&[&leader, &standby]);
        proxy.set_requests(Flow::Hold);
        let second = soon(standby.elected()).await.unwrap();
        proxy.set_requests(Flow::Forward);
        tokio::time::sleep(quick().ttl() * 2).await;
        assert!(second.is_current() && second.token() > first.token());
        watch.nobody_overlapped();
    }

    async fn stopping_into_a_black_hole_ends_the_claim_at_once_and_itself_in_time(client: Client) {
        let server = server();
        let proxy = proxy(&server).await;
        let leader = client.candidate(proxy.port(), "leader", quick());
        let tenure = soon(leader.elected()).await.unwrap();
        proxy.set(Flow::BlackHole);
        let began = Instant::now();
        let mut stop = Box::pin(leader.stop());
        assert_eq!(futures_util::poll!(stop.as_mut()), Poll::Pending);
        assert!(!leader.is_leader() && !tenure.is_current(), "over before the first reply");
        assert_eq!(soon(stop).await, Ok(()));
        let took = began.elapsed();
        assert!(took <= quick().explain().longest_stop + SLACK, "{took:?}");
        assert!(!leader.is_leader());
    }

    async fn resigning_into_a_black_hole_ends_in_time_and_is_tried_again(client: Client) {
        let server = server();
        let proxy = proxy(&server).await;
        let leader = client.candidate(proxy.port(), "leader", quick());
        let first = soon(leader.elected()).await.unwrap();
        proxy.set(Flow::BlackHole);
        let began = Instant::now();
        soon(leader.resign()).await.unwrap();
        assert!(began.elapsed() <= quick().explain().longest_stop + SLACK);
        assert!(!leader.is_leader());
        proxy.cut();
        proxy.set(Flow::Forward);
        assert!(soon(leader.elected()).await.unwrap().token() > first.token());
    }

    async fn a_standby_in_a_black_hole_stops_in_time(client: Client) {
        let server = server();
        let proxy = proxy(&server).await;
        proxy.set(Flow::BlackHole);
        let standby = client.candidate(proxy.port(), "standby", quick());
        tokio::time::sleep(Duration::from_millis(100)).await;
        let began = Instant::now();
        soon(standby.stop()).await.unwrap();
        assert!(began.elapsed() <= quick().explain().longest_stop + SLACK);
    }
}
