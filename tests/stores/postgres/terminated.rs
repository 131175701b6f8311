//! Sessions that an administrator terminates.

use std::time::Duration;

use tenure::Config;

use super::support::{
    TTL, Watch, at, candidate, falls, one_leads, renewed, server, soon, start, terminate_all,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminated_session_costs_nothing() {
    let server = server();
    // Room for a machine that is slow to connect.
    let config = Config::builder(TTL).renew_interval(Duration::from_secs(2)).build().unwrap();
    let (one, mut events) = start(at(server.port()), "one", config);
    let fallen = falls(&one);
    soon(one.elected()).await.unwrap();
    let two = candidate(server.port(), "two", config);
    let watch = Watch::over(&[&one, &two]);
    for _ in 0..3 {
        terminate_all(&server);
        renewed(&mut events).await;
        // That renewal may be one of before.
        renewed(&mut events).await;
    }
    assert!(one.is_leader() && !two.is_leader());
    assert_eq!(*fallen.lock().unwrap(), []);
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_terminated_repeatedly_never_make_two_leaders() {
    let server = server();
    let config = Config::builder(Duration::from_secs(3)).build().unwrap();
    let one = candidate(server.port(), "one", config);
    let two = candidate(server.port(), "two", config);
    let watch = Watch::over(&[&one, &two]);
    for pause in (1..=30_u64).chain([200, 300, 500, 800, 1_300]) {
        tokio::time::sleep(Duration::from_millis(pause * 3 / 2)).await;
        terminate_all(&server);
    }
    one_leads([&one, &two], None).await;
    watch.nobody_overlapped();
}
