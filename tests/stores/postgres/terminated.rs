//! Sessions that an administrator terminates, or whose client vanishes.

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

/// The timers of the keepalives of the server's ends of its connections, as the kernel lists them,
/// in hundredths of a second.
fn keepalives(port: u16) -> Vec<u64> {
    let lists = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let ends = lists.lines().skip(1).filter_map(|line| {
        // sl  local_address rem_address  st tx_queue:rx_queue tr:tm->when
        let words: Vec<_> = line.split_whitespace().collect();
        let [_, local, _, "01", _, timer, ..] = words[..] else { return None };
        let (kind, left) = timer.split_once(':')?;
        let is_the_servers = local.ends_with(&format!(":{port:04X}"));
        (is_the_servers && kind == "02").then(|| u64::from_str_radix(left, 16).unwrap())
    });
    ends.collect()
}

/// A client that vanishes half way through a request leaves its row locked until the server
/// notices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_vanishes_is_noticed_within_seconds() {
    let server = server();
    let one = candidate(server.port(), "one", Config::builder(TTL).build().unwrap());
    soon(one.elected()).await.unwrap();
    // While a request is under way, another timer is set.
    let noticed = async {
        while !keepalives(server.port()).iter().any(|left| *left <= 1_000) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon(noticed).await;
}
