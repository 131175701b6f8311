//! A story of every store whose server may restart under a leader: the handovers that come long after it.

use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::AnyStore;
use tenure::{Config, Event};

use crate::support::{event, falls, soon, start};

/// Long enough for a server that starts slowly: the leader must keep its lead.
const TTL: Duration = Duration::from_secs(8);

async fn a_handover_long_after_a_restart_waits_for_nothing(
    connect: impl Fn() -> AnyStore,
    restart: impl FnOnce(),
) {
    let config = Config::builder(TTL).build().unwrap();
    let (one, _) = start(connect(), "one", config);
    let first = soon(one.elected()).await.unwrap();
    let fallen = falls(&one);
    restart();
    let mut events = one.events();
    // The first of them may have been answered before the restart.
    for _ in 0..2 {
        event(&mut events, |event| matches!(event, Event::Renewed(_)).then_some(())).await;
    }
    // The renewal began the history one TTL ahead, and a quarantine is one more.
    tokio::time::sleep(2 * TTL).await;
    let (two, mut events) = start(connect(), "two", config);
    event(&mut events, |event| matches!(event, Event::IncumbentChanged { .. }).then_some(())).await;
    assert_eq!(*fallen.lock().unwrap(), [], "the restart was not under a leader");
    soon(one.stop()).await.unwrap();
    let second = soon(two.elected()).await.unwrap();
    assert!(second.token() > first.token());
    loop {
        match soon(events.next()).await.unwrap() {
            Event::Elected(_) => break,
            Event::Quarantined { remaining } => panic!("{remaining:?} were left to wait"),
            _ => {}
        }
    }
    soon(two.stop()).await.unwrap();
}

macro_rules! servers {
    ($($name:ident => ($server:expr, $store:expr);)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let mut server = $server;
            let (port, store) = (server.port(), $store);
            let restart = || server.restart().unwrap();
            a_handover_long_after_a_restart_waits_for_nothing(|| store(port), restart).await;
        }
    )*};
}

servers! {
    redis => (crate::redis::rows::keeping(), |port| crate::redis::support::Client::RedisRs.at(port));
    fred => (crate::redis::rows::keeping(), |port| crate::redis::support::Client::Fred.at(port));
    postgres => (
        crate::postgres::support::server(),
        |port| AnyStore::new(crate::postgres::support::at(port))
    );
    postgres_under_advisory_locks => (
        crate::postgres::support::server(),
        |port| AnyStore::new(crate::postgres::advisory::at(port))
    );
}
