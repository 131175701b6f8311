//! A replica that is promoted under a leader.

use std::time::{Duration, Instant};

use tenure::Config;
use tenure::store::postgres::Postgres;
use tenure::store::{Request, StoreErrorKind};

use super::support::{Watch, at, call, candidate, local, proxy, server, soon, start};

fn quick() -> Config {
    Config::builder(Duration::from_secs(3)).build().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promoted_replica_makes_the_next_leader_wait() {
    let mut primary = server();
    let replica = primary.replica(&[]).unwrap();
    let proxy = proxy(&primary).await;
    let one = candidate(proxy.port(), "one", quick());
    let first = soon(one.elected()).await.unwrap();
    // It knows where the next primary will be, and does not trust an empty one.
    let two = start(Postgres::new(local(replica.port())), "two", quick()).0;
    let watch = Watch::over(&[&one, &two]);
    // Before its promotion, the replica refuses.
    let refused = call(&at(replica.port()), Request::Observe).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::NotPrimary);
    assert!(!two.is_leader());
    primary.stop().unwrap();
    let promoted = Instant::now();
    replica.promote().unwrap();
    let second = soon(two.elected()).await.unwrap();
    assert!(second.token() > first.token());
    let waited = promoted.elapsed();
    assert!(waited > quick().ttl() / 2, "led {waited:?} after the promotion");
    watch.nobody_overlapped();
}
