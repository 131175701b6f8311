//! Elections at a server that does its part, and at one that stands still, goes away or is replaced.

use std::time::Duration;

use tenure::store::postgres::Postgres;
use tenure::store::{Request, StoreErrorKind};
use tenure::{Config, Elections, Event, StepDownReason};
use tenure_servers::PostgresServer;

use super::support::{
    Watch, at, call, candidate, event, falls, local, proxy, server, soon, start, unix_micros,
};

fn quick() -> Config {
    Config::builder(Duration::from_secs(3)).build().unwrap()
}

fn terminate(server: &PostgresServer) {
    server
        .sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tenure'",
        )
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_candidate_that_starts_before_its_server_leads_once_it_appears() {
    let mut server = server();
    server.stop().unwrap();
    let (candidate, mut events) = start(at(server.port()), "early", quick());
    let error = event(&mut events, |event| match event {
        Event::StoreUnavailable { error } => Some(error.clone()),
        _ => None,
    })
    .await;
    assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
    assert!(!candidate.is_leader());
    server.restart().unwrap();
    event(&mut events, |event| matches!(event, Event::StoreRecovered).then_some(())).await;
    soon(candidate.elected()).await.unwrap();
    assert_eq!(soon(candidate.incumbent()).await.unwrap().unwrap().name, "early");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_hand_over_at_once() {
    let server = server();
    // Leases of a minute: whoever takes over within seconds has not waited for an end.
    let patient = Config::builder(Duration::from_secs(60)).build().unwrap();
    let one = candidate(server.port(), "one", patient);
    let first = soon(one.elected()).await.unwrap();
    assert!(first.token().get() <= unix_micros());
    let (two, mut events) = start(at(server.port()), "two", patient);
    event(&mut events, |event| matches!(event, Event::IncumbentChanged { .. }).then_some(())).await;
    let watch = Watch::over(&[&one, &two]);
    soon(one.resign()).await.unwrap();
    assert!(!one.is_leader() && !first.is_current());
    let second = soon(two.elected()).await.unwrap();
    assert!(second.token() > first.token());
    let three = candidate(server.port(), "three", patient);
    let incumbent = soon(three.incumbent()).await.unwrap().unwrap();
    assert_eq!((incumbent.token, &*incumbent.name), (second.token(), "two"));
    soon(two.stop()).await.unwrap();
    // The one that resigned first still holds off.
    assert!(soon(three.elected()).await.unwrap().token() > second.token());
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_loses_the_lead_without_a_fault() {
    let server = server();
    let one = candidate(server.port(), "one", quick());
    soon(one.elected()).await.unwrap();
    let two = candidate(server.port(), "two", quick());
    let (fallen, watch) = (falls(&one), Watch::over(&[&one, &two]));
    tokio::time::sleep(quick().ttl() * 3).await;
    assert!(one.is_leader() && !two.is_leader());
    assert_eq!(*fallen.lock().unwrap(), []);
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_elections_share_two_connections() {
    let server = server();
    let elections = Elections::new(at(server.port()));
    let config = Config::builder(Duration::from_secs(30)).build().unwrap();
    let all: Vec<_> = (0..100)
        .map(|i| elections.candidate(format!("shard:{i}")).config(config).start().unwrap())
        .collect();
    for candidate in &all {
        soon(candidate.elected()).await.unwrap();
    }
    let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tenure'";
    assert_eq!(server.sql(count).unwrap(), "2");
    let leaders = server.sql("SELECT count(*) FROM tenure.leases_leaders").unwrap();
    assert_eq!(leaders, "100");
    let (first, rest) = all.split_first().unwrap();
    soon(first.stop()).await.unwrap();
    assert!(!first.is_leader() && rest.iter().all(tenure::Candidate::is_leader));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminated_backend_costs_nothing() {
    let server = server();
    // Room for a machine that is slow to connect.
    let config = Config::builder(Duration::from_secs(6)).build().unwrap();
    let one = candidate(server.port(), "one", config);
    let fallen = falls(&one);
    soon(one.elected()).await.unwrap();
    let mut events = one.events();
    for _ in 0..3 {
        terminate(&server);
        event(&mut events, |event| matches!(event, Event::Renewed(_)).then_some(())).await;
    }
    assert!(one.is_leader());
    assert_eq!(*fallen.lock().unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backends_that_are_terminated_all_the_time_never_make_two_leaders() {
    let server = server();
    let one = candidate(server.port(), "one", quick());
    let two = candidate(server.port(), "two", quick());
    let watch = Watch::over(&[&one, &two]);
    for pause in (1..=30_u64).chain([200, 300, 500, 800, 1_300]) {
        tokio::time::sleep(Duration::from_millis(pause * 3 / 2)).await;
        terminate(&server);
    }
    soon(async {
        while !one.is_leader() && !two.is_leader() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_of_the_server_under_a_leader_makes_the_next_one_wait() {
    let mut server = server();
    let (one, mut events) = start(at(server.port()), "one", quick());
    let first = soon(one.elected()).await.unwrap();
    let two = candidate(server.port(), "two", quick());
    let watch = Watch::over(&[&one, &two]);
    server.stop().unwrap();
    let reason = event(&mut events, |event| match event {
        Event::SteppedDown { reason, .. } => Some(*reason),
        _ => None,
    });
    assert_eq!(reason.await, StepDownReason::Expired);
    server.restart().unwrap();
    let restarted = std::time::Instant::now();
    let next = soon(async {
        tokio::select! {
            next = one.elected() => next,
            next = two.elected() => next,
        }
    });
    assert!(next.await.unwrap().token() > first.token());
    let waited = restarted.elapsed();
    assert!(waited > quick().ttl() / 2, "led {waited:?} after the restart");
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_that_is_quick_enough_costs_nothing() {
    let mut server = server();
    let config = Config::builder(Duration::from_secs(15)).build().unwrap();
    let one = candidate(server.port(), "one", config);
    soon(one.elected()).await.unwrap();
    let (fallen, mut events) = (falls(&one), one.events());
    server.restart().unwrap();
    event(&mut events, |event| matches!(event, Event::Renewed(_)).then_some(())).await;
    assert_eq!(*fallen.lock().unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stands_still_for_too_long_costs_the_lead() {
    let server = server();
    let one = candidate(server.port(), "one", quick());
    let first = soon(one.elected()).await.unwrap();
    let two = candidate(server.port(), "two", quick());
    let (watch, fallen) = (Watch::over(&[&one, &two]), falls(&one));
    server.pause().unwrap();
    soon(first.ended()).await;
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
    tokio::time::sleep(quick().ttl()).await;
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promoted_replica_makes_the_next_leader_wait_and_grants_a_higher_token() {
    let mut primary = server();
    let replica = primary.replica(&[]).unwrap();
    let proxy = proxy(&primary).await;
    let one = candidate(proxy.port(), "one", quick());
    let first = soon(one.elected()).await.unwrap();
    // A candidate that knows where the primary will be, and does not take for whole what has not got there.
    let two = start(Postgres::new(local(replica.port())), "two", quick()).0;
    let watch = Watch::over(&[&one, &two]);
    // As long as it is none, it refuses.
    let refused = call(&at(replica.port()), Request::Observe).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::NotPrimary);
    assert!(!two.is_leader());
    primary.stop().unwrap();
    replica.promote().unwrap();
    let promoted = std::time::Instant::now();
    let second = soon(two.elected()).await.unwrap();
    assert!(second.token() > first.token());
    let waited = promoted.elapsed();
    assert!(waited > quick().ttl() / 2, "led {waited:?} after the promotion");
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_very_first_leader_of_a_table_waits() {
    let server = server();
    let (one, mut events) = start(Postgres::new(local(server.port())), "one", quick());
    let wait = event(&mut events, |event| match event {
        Event::Quarantined { remaining } => Some(*remaining),
        _ => None,
    });
    let wait = wait.await;
    assert!(wait > quick().ttl() / 2, "{wait:?}");
    soon(one.elected()).await.unwrap();
}
