//! Elections whose sessions end, whose server crashes, and whose network swallows everything.

use std::time::{Duration, Instant};

use tenure::{Config, Event, StepDownReason};
use tenure_servers::Flow;

use super::{LOCK, OldProgram, at, candidate, holders, steps_down, terminate_holders};
use crate::postgres::support::{Watch, event, falls, proxy, server, soon, start};

fn quick() -> Config {
    Config::builder(Duration::from_secs(3)).build().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminated_session_costs_nothing_if_nobody_takes_the_lock() {
    let server = server();
    // Room for a machine that is slow to connect.
    let config = Config::builder(Duration::from_secs(6)).build().unwrap();
    let one = candidate(server.port(), "one", config);
    let fallen = falls(&one);
    soon(one.elected()).await.unwrap();
    let two = candidate(server.port(), "two", config);
    let watch = Watch::over(&[&one, &two]);
    let mut events = one.events();
    for _ in 0..3 {
        terminate_holders(&server);
        event(&mut events, |event| matches!(event, Event::Renewed(_)).then_some(())).await;
        assert_eq!(holders(&server).len(), 1);
    }
    assert!(one.is_leader() && !two.is_leader());
    assert_eq!(*fallen.lock().unwrap(), []);
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_are_terminated_all_the_time_never_make_two_leaders() {
    let server = server();
    let one = candidate(server.port(), "one", quick());
    let two = candidate(server.port(), "two", quick());
    let watch = Watch::over(&[&one, &two]);
    let all =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tenure'";
    for pause in (1..=30_u64).chain([200, 300, 500, 800, 1_300]) {
        tokio::time::sleep(Duration::from_millis(pause * 3 / 2)).await;
        if pause % 2 == 0 {
            server.sql(all).unwrap();
        } else {
            terminate_holders(&server);
        }
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
async fn a_crash_of_the_server_frees_all_locks_and_makes_the_next_leader_wait() {
    let mut server = server();
    let (one, mut events) = start(at(server.port()), "one", quick());
    let first = soon(one.elected()).await.unwrap();
    let two = candidate(server.port(), "two", quick());
    let watch = Watch::over(&[&one, &two]);
    // Long enough for the leader to notice by its clock, and then not.
    for stays_away in [true, false] {
        server.stop().unwrap();
        if stays_away {
            assert_eq!(steps_down(&mut events).await, StepDownReason::Expired);
        }
        server.restart().unwrap();
        let restarted = Instant::now();
        let next = soon(async {
            tokio::select! {
                next = one.elected() => next,
                next = two.elected() => next,
            }
        });
        assert!(next.await.unwrap().token() >= first.token());
        let waited = restarted.elapsed();
        assert!(!stays_away || waited > quick().ttl() / 2, "led {waited:?} after the restart");
    }
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_in_a_black_hole_leads_no_more_when_its_lock_is_free() {
    let server = server();
    let proxy = proxy(&server).await;
    let leader = candidate(proxy.port(), "leader", quick());
    let first = soon(leader.elected()).await.unwrap();
    let fallen = falls(&leader);
    let standby = candidate(server.port(), "standby", quick());
    let watch = Watch::over(&[&leader, &standby]);
    proxy.set(Flow::BlackHole);
    // The proxy keeps the connection to the server open: only the server can end the session.
    let second = soon(standby.elected()).await.unwrap();
    assert!(second.token() > first.token());
    assert_eq!(*fallen.lock().unwrap(), [StepDownReason::Expired]);
    proxy.cut();
    proxy.set(Flow::Forward);
    soon(standby.stop()).await.unwrap();
    soon(leader.elected()).await.unwrap();
    watch.nobody_overlapped();

    let old = OldProgram::start(&server).await;
    proxy.set(Flow::BlackHole);
    old.waits_for(format!("({LOCK})")).await;
    assert!(!leader.is_leader(), "the lock outlives the claim");
}
