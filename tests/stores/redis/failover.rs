//! Elections at several servers, of which one keeps the record until it fails.

use std::time::Duration;

use tenure::store::AnyStore;
use tenure::{Candidate, Config};
use tenure_servers::{RedisCluster, RedisSentinels, RedisServer};

use super::support::{RECORD, Watch, leader, soon, start, tokens};

/// Servers of which one keeps the elections, and others that replace it.
pub(super) trait Replicated {
    /// The server that keeps the elections at first.
    fn first(&self) -> usize;

    fn server(&mut self, number: usize) -> &mut RedisServer;

    /// Waits until that server is replaced; returns the next one.
    fn replaced(&mut self, number: usize) -> usize;
}

impl Replicated for RedisCluster {
    fn first(&self) -> usize {
        self.owner(RECORD, 0).unwrap()
    }

    fn server(&mut self, number: usize) -> &mut RedisServer {
        self.node_mut(number)
    }

    fn replaced(&mut self, number: usize) -> usize {
        RedisCluster::replaced(self, RECORD, number).unwrap()
    }
}

impl Replicated for RedisSentinels {
    fn first(&self) -> usize {
        0
    }

    fn server(&mut self, number: usize) -> &mut RedisServer {
        self.server_mut(number)
    }

    fn replaced(&mut self, number: usize) -> usize {
        RedisSentinels::replaced(self, number).unwrap()
    }
}

/// Three candidates at a server that fails: it is replaced, one of them leads at the next server,
/// and the lead can be handed over there.
pub(super) async fn survives(
    mut servers: impl Replicated,
    candidate: impl Fn(&str) -> Candidate,
    fail: impl FnOnce(&mut RedisServer),
    returns: impl AsyncFnOnce(&mut RedisServer),
) {
    let old = servers.first();
    let all = ["one", "two", "three"].map(candidate);
    let all = all.each_ref();
    let (watch, tokens) = (Watch::over(&all), tokens(&all));
    let (_, before) = leader(&all).await;
    fail(servers.server(old));
    let next = servers.replaced(old);
    let record = ["HGET", RECORD, "number"];
    let mark = servers.server(next).command(&record).unwrap();
    // One leads at the next server: its record of the lease has changed.
    soon(async {
        while servers.server(next).command(&record).unwrap() == mark {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    returns(servers.server(old)).await;
    let (led, token) = leader(&all).await;
    assert!(token >= before, "{token:?} after {before:?}");
    soon(led.stop()).await.unwrap();
    let others: Vec<_> = all.iter().copied().filter(|one| !std::ptr::eq(*one, led)).collect();
    assert!(leader(&others).await.1 > token);
    watch.nobody_overlapped();
    let tokens = tokens.lock().unwrap();
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}

/// Leases last a minute: a takeover within seconds has not waited for the end of one.
pub(super) async fn hands_over_at_once(one: AnyStore, two: AnyStore) {
    let patient = Config::builder(Duration::from_secs(60)).build().unwrap();
    let one = start(one, "one", patient).0;
    let first = soon(one.elected()).await.unwrap();
    let two = start(two, "two", patient).0;
    soon(one.resign()).await.unwrap();
    assert!(soon(two.elected()).await.unwrap().token() > first.token());
    assert!(!one.is_leader());
}
