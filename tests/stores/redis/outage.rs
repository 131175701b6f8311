//! The server itself stands still, goes away and comes back.

use std::time::Duration;

use tenure::{Config, Event, StepDownReason};
use tenure_servers::Proxy;

use super::support::{Client, Watch, event, falls, local, server, soon, start};

fn quick() -> Config {
    Config::builder(Duration::from_secs(3)).build().unwrap()
}

over_both_clients! {
    async fn a_server_that_stands_still_for_too_long_costs_the_lead(client: Client) {
        let server = server();
        let one = client.candidate(server.port(), "one", quick());
        let first = soon(one.elected()).await.unwrap();
        let two = client.candidate(server.port(), "two", quick());
        let (watch, fallen) = (Watch::over(&[&one, &two]), falls(&one));
        server.pause().unwrap();
        soon(first.ended()).await;
        assert!(!one.is_leader());
        // The leases end while the server sleeps; then it acts on all that has queued.
        tokio::time::sleep(quick().ttl()).await;
        assert!(!one.is_leader() && !two.is_leader());
        server.resume().unwrap();
        let next = soon(async {
            tokio::select! {
                next = one.elected() => next,
                next = two.elected() => next,
            }
        });
        assert!(next.await.unwrap().token() > first.token());
        assert_eq!(*fallen.lock().unwrap(), [StepDownReason::Expired]);
        tokio::time::sleep(quick().ttl() * 2).await;
        assert!(one.is_leader() != two.is_leader(), "it has settled");
        watch.nobody_overlapped();
    }

    async fn a_server_that_stands_still_for_a_moment_costs_nothing(client: Client) {
        let server = server();
        let config = Config::builder(Duration::from_secs(6)).build().unwrap();
        let one = client.candidate(server.port(), "one", config);
        let fallen = falls(&one);
        soon(one.elected()).await.unwrap();
        let mut events = one.events();
        for _ in 0..2 {
            event(&mut events, |event| matches!(event, Event::Renewed(_)).then_some(())).await;
            server.pause().unwrap();
            // Longer than a request is waited for, shorter than what a claim outlasts.
            tokio::time::sleep(config.renew_interval() + config.request_timeout() * 3 / 2).await;
            server.resume().unwrap();
            assert!(one.is_leader());
        }
        event(&mut events, |event| matches!(event, Event::Renewed(_)).then_some(())).await;
        assert_eq!(*fallen.lock().unwrap(), []);
    }

    async fn a_cut_connection_costs_nothing(client: Client) {
        let server = server();
        let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap();
        let one = client.candidate(proxy.port(), "one", quick());
        let fallen = falls(&one);
        soon(one.elected()).await.unwrap();
        let mut events = one.events();
        for _ in 0..5 {
            proxy.cut();
            event(&mut events, |event| matches!(event, Event::Renewed(_)).then_some(())).await;
        }
        assert!(one.is_leader());
        assert_eq!(*fallen.lock().unwrap(), []);
    }

    async fn connections_that_are_cut_all_the_time_never_make_two_leaders(client: Client) {
        let server = server();
        let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into()).await.unwrap();
        let one = client.candidate(proxy.port(), "one", quick());
        let two = client.candidate(proxy.port(), "two", quick());
        let watch = Watch::over(&[&one, &two]);
        for pause in (1..=40_u64).chain([200, 300, 500, 800, 1_300]) {
            tokio::time::sleep(Duration::from_millis(pause * 3 / 2)).await;
            proxy.cut();
        }
        soon(async {
            while !one.is_leader() && !two.is_leader() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        watch.nobody_overlapped();
    }

    async fn a_server_that_restarts_empty_makes_the_next_leader_wait(client: Client) {
        let mut server = server();
        let store = client.store(local(server.port()));
        let (one, mut events) = start(store, "one", quick());
        let quarantined = |event: &Event| match event {
            Event::Quarantined { remaining } => Some(*remaining),
            _ => None,
        };
        let wait = event(&mut events, quarantined).await;
        assert!(wait > quick().ttl() / 2, "{wait:?}");
        let first = soon(one.elected()).await.unwrap();
        let fallen = falls(&one);
        server.restart().unwrap();
        // Its lease is gone with the data: the next renewal says so, and the new grant has to wait.
        let wait = event(&mut events, quarantined).await;
        assert!(wait > quick().ttl() / 2, "{wait:?}");
        assert_eq!(*fallen.lock().unwrap(), [StepDownReason::Superseded]);
        assert!(!one.is_leader());
        assert!(soon(one.elected()).await.unwrap().token() > first.token());
    }

    async fn a_server_that_is_gone_for_longer_than_the_lease(client: Client) {
        let mut server = server();
        let one = client.candidate(server.port(), "one", quick());
        let first = soon(one.elected()).await.unwrap();
        let mut events = one.events();
        server.kill().unwrap();
        let reason = event(&mut events, |event| match event {
            Event::SteppedDown { reason, .. } => Some(*reason),
            _ => None,
        });
        assert_eq!(reason.await, StepDownReason::Expired);
        tokio::time::sleep(Duration::from_millis(500)).await;
        server.restart().unwrap();
        assert!(soon(one.elected()).await.unwrap().token() > first.token());
    }
}
