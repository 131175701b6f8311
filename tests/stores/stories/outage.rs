//! A server that is paused, killed or replaced, and connections that are cut.

use std::time::{Duration, Instant};

use tenure::StepDownReason;

use super::TestServer;
use crate::stores::support::{Watch, falls, one_leads, renewed, soon, start, steps_down, watching};

async fn a_long_server_pause_costs_the_lead(mut server: TestServer) {
    let config = server.quick;
    let one = server.candidate("one", config);
    let first = soon(one.elected()).await.unwrap();
    let two = server.candidate("two", config);
    let (watch, fallen) = (Watch::over(&[&one, &two]), falls(&one));
    server.process().pause();
    soon(first.ended()).await;
    assert!(!one.is_leader());
    // The leases end during the pause; then the server carries out all requests that have queued.
    tokio::time::sleep(config.ttl()).await;
    assert!(!one.is_leader() && !two.is_leader());
    server.process().resume();
    one_leads([&one, &two], Some(first.token())).await;
    assert_eq!(*fallen.lock().unwrap(), [StepDownReason::Expired]);
    tokio::time::sleep(config.ttl() * 2).await;
    one_leads([&one, &two], Some(first.token())).await;
    watch.nobody_overlapped();
}

async fn a_short_server_pause_costs_nothing(mut server: TestServer) {
    let config = server.steady;
    let one = server.candidate("one", config);
    let fallen = falls(&one);
    soon(one.elected()).await.unwrap();
    let mut events = one.events();
    for _ in 0..2 {
        renewed(&mut events).await;
        server.process().pause();
        // Longer than the request timeout, shorter than the claim's validity.
        tokio::time::sleep(config.renew_interval() + config.request_timeout() * 3 / 2).await;
        server.process().resume();
        assert!(one.is_leader());
    }
    renewed(&mut events).await;
    assert_eq!(*fallen.lock().unwrap(), []);
}
story!(a_short_server_pause_costs_nothing);

async fn a_cut_connection_costs_nothing(server: TestServer) {
    let proxy = server.proxy().await;
    let one = server.candidate_at(proxy.port(), "one", server.steady);
    let fallen = falls(&one);
    soon(one.elected()).await.unwrap();
    let mut events = one.events();
    for _ in 0..5 {
        proxy.cut();
        renewed(&mut events).await;
    }
    assert!(one.is_leader());
    assert_eq!(*fallen.lock().unwrap(), []);
}
story!(a_cut_connection_costs_nothing);

async fn connections_cut_repeatedly_never_make_two_leaders(server: TestServer) {
    let proxy = server.proxy().await;
    let one = server.candidate_at(proxy.port(), "one", server.quick);
    let two = server.candidate_at(proxy.port(), "two", server.quick);
    let watch = Watch::over(&[&one, &two]);
    for pause in (1..=40_u64).chain([200, 300, 500, 800, 1_300]) {
        tokio::time::sleep(Duration::from_millis(pause * 3 / 2)).await;
        proxy.cut();
    }
    one_leads([&one, &two], None).await;
    watch.nobody_overlapped();
}
story!(connections_cut_repeatedly_never_make_two_leaders);

async fn an_empty_server_makes_its_first_leader_wait(mut server: TestServer) {
    let config = server.quick;
    let is_long = |wait| assert!(wait > config.ttl() / 2, "{wait:?}");
    let (one, mut events) = start(server.quarantining_store(), "one", config);
    is_long(watching(&mut events).await);
    let first = soon(one.elected()).await.unwrap();
    let (two, mut two_events) = start(server.quarantining_store(), "two", config);
    let (watch, fallen) = (Watch::over(&[&one, &two]), falls(&one));
    server.process().restart_empty();
    // The lease is gone with the data: the next renewal says so unless the claim ends before it,
    // and the next grant has to wait.
    let (wait, waiting) = tokio::select! {
        wait = watching(&mut events) => (wait, &one),
        wait = watching(&mut two_events) => (wait, &two),
    };
    is_long(wait);
    assert!(!waiting.is_leader());
    one_leads([&one, &two], Some(first.token())).await;
    let [reason] = fallen.lock().unwrap()[..] else { panic!("{fallen:?}") };
    let is_expected = matches!(reason, StepDownReason::Superseded | StepDownReason::Expired);
    assert!(is_expected, "{reason:?}");
    watch.nobody_overlapped();
}

async fn an_outage_longer_than_the_lease(mut server: TestServer) {
    let config = server.quick;
    let (one, mut events) = start(server.store(), "one", config);
    let first = soon(one.elected()).await.unwrap();
    let two = server.candidate("two", config);
    let watch = Watch::over(&[&one, &two]);
    server.process().kill();
    assert_eq!(steps_down(&mut events).await, StepDownReason::Expired);
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.process().restart();
    let restarted = Instant::now();
    let second = one_leads([&one, &two], Some(first.token())).await;
    let waited = restarted.elapsed();
    let waits = !server.restarts_quarantine() || waited > config.ttl() / 2;
    assert!(waits, "led {waited:?} after the restart");
    watch.nobody_overlapped();
    // Candidates that trust an empty server: it may elect the other one at once, while the leader's
    // claim lasts.
    server.process().restart_empty();
    one_leads([&one, &two], Some(second.token())).await;
}

stories!(
    a_long_outage: a_long_server_pause_costs_the_lead,
    an_empty_server_makes_its_first_leader_wait,
    an_outage_longer_than_the_lease
);
