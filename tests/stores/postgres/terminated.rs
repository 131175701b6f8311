//! Sessions that an administrator terminates, of elections with and without advisory locks.

use std::time::Duration;

use tenure::store::AnyStore;
use tenure::{Candidate, Config};
use tenure_servers::PostgresServer;

use super::advisory::{self, holders, terminate_holders};
use super::support::{
    TTL, Watch, at, falls, one_leads, renewed, server, soon, start, terminate_all,
};

/// A store at a port, and how its sessions are terminated.
struct Sessions {
    connect: fn(u16) -> AnyStore,
    terminate: fn(&PostgresServer),
    /// How many sessions hold an advisory lock while there is a leader.
    holders: usize,
}

const PLAIN: Sessions =
    Sessions { connect: |port| AnyStore::new(at(port)), terminate: terminate_all, holders: 0 };

/// Those that hold a lock.
const ADVISORY: Sessions = Sessions {
    connect: |port| AnyStore::new(advisory::at(port)),
    terminate: terminate_holders,
    holders: 1,
};

impl Sessions {
    fn candidate(&self, server: &PostgresServer, name: &str, config: Config) -> Candidate {
        start((self.connect)(server.port()), name, config).0
    }
}

async fn costs_nothing(sessions: Sessions) {
    let server = server();
    // Room for a machine that is slow to connect.
    let config = Config::builder(TTL).renew_interval(Duration::from_secs(2)).build().unwrap();
    let one = sessions.candidate(&server, "one", config);
    let fallen = falls(&one);
    soon(one.elected()).await.unwrap();
    let two = sessions.candidate(&server, "two", config);
    let watch = Watch::over(&[&one, &two]);
    let mut events = one.events();
    for _ in 0..3 {
        (sessions.terminate)(&server);
        renewed(&mut events).await;
        // That renewal may be one of before.
        soon(async {
            while holders(&server).len() != sessions.holders {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
    assert!(one.is_leader() && !two.is_leader());
    assert_eq!(*fallen.lock().unwrap(), []);
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminated_session_costs_nothing() {
    costs_nothing(PLAIN).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminated_session_with_a_lock_costs_nothing() {
    costs_nothing(ADVISORY).await;
}

async fn never_make_two_leaders(sessions: Sessions) {
    let server = server();
    let config = Config::builder(Duration::from_secs(3)).build().unwrap();
    let one = sessions.candidate(&server, "one", config);
    let two = sessions.candidate(&server, "two", config);
    let watch = Watch::over(&[&one, &two]);
    for pause in (1..=30_u64).chain([200, 300, 500, 800, 1_300]) {
        tokio::time::sleep(Duration::from_millis(pause * 3 / 2)).await;
        let terminate = if pause % 2 == 0 { terminate_all } else { sessions.terminate };
        terminate(&server);
    }
    one_leads([&one, &two], None).await;
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_terminated_repeatedly_never_make_two_leaders() {
    never_make_two_leaders(PLAIN).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_terminated_repeatedly_never_make_two_leaders() {
    never_make_two_leaders(ADVISORY).await;
}
