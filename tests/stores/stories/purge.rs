//! The deletion of the records of long-ended elections: old records alone are deleted, and no candidate notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tenure::Token;
use tenure::store::{AnyStore, Key, Memory, Profile, Reply, Request, Store};

use super::TestServer;
use crate::sqlite::support::Folder;
use crate::support::{falls, holder, release, renew_for, soon};

/// A lease that a busy machine renews in time, in whole seconds for etcd.
const SPELL: Duration = Duration::from_secs(2);
/// Far above all tokens that are granted.
const AHEAD: u64 = 1_000_000_000_000;

/// An acquire whose settings bind others no longer than its lease.
fn acquire(number: u128, seen: Option<Token>, ttl: Duration) -> Request {
    let profile = Profile::new("worker", "").unwrap();
    Request::Acquire { holder: holder(number), seen, ttl, quarantine: ttl, profile }
}

async fn ask(store: &AnyStore, key: &str, request: Request) -> Reply {
    soon(store.call(&Key::new(key).unwrap(), request)).await.unwrap()
}

/// Acquires as holder 1, and expects a grant that need not wait.
async fn granted(store: &AnyStore, key: &str, seen: Option<Token>, ttl: Duration) -> Token {
    match ask(store, key, acquire(1, seen, ttl)).await {
        Reply::Granted { token, wait: Duration::ZERO } => token,
        other => panic!("granted without a wait, and not {other:?}"),
    }
}

async fn purged(store: &AnyStore) -> u64 {
    soon(store.purge(Duration::ZERO)).await.unwrap()
}

/// For any store that has just begun, and trusts that.
pub(crate) async fn old_records_alone_are_deleted(store: AnyStore) {
    let began = Instant::now();
    let expired = granted(&store, "expired", None, SPELL).await;
    let released = granted(&store, "released", None, SPELL).await;
    assert_eq!(ask(&store, "released", release(1, released)).await, Reply::Released);
    let live = granted(&store, "live", None, SPELL).await;
    assert_eq!(purged(&store).await, 0);
    let mut deleted = 0;
    while deleted < 2 {
        tokio::time::sleep(SPELL / 8).await;
        assert_eq!(ask(&store, "live", renew_for(1, live, SPELL)).await, Reply::Renewed);
        deleted += soon(store.purge(Duration::ZERO)).await.unwrap();
        assert!(deleted <= 2);
    }
    // Its lease, and the time for which its settings bind, which etcd counts in seconds from a mark.
    let least = if store.traits().name == "etcd" { SPELL * 3 / 2 } else { SPELL * 2 };
    assert!(began.elapsed() >= least, "{:?}", began.elapsed());
    let recent = granted(&store, "recent", None, SPELL).await;
    assert_eq!(ask(&store, "recent", release(1, recent)).await, Reply::Released);
    assert_eq!(purged(&store).await, 0);
    let stale = ask(&store, "recent", acquire(2, None, SPELL)).await;
    assert_eq!(stale, Reply::Stale { last: recent });
    // A candidate that knows a purged token proves no loss, and gets a higher one, as one does that knows none.
    assert!(granted(&store, "expired", Some(expired), SPELL).await > expired);
    assert!(granted(&store, "released", None, SPELL).await > released.max(expired));
    // The history is there: a token above all that were purged proves a loss.
    let ahead = Token::new(recent.get() + AHEAD);
    match ask(&store, "new", acquire(1, ahead, SPELL)).await {
        Reply::Granted { token, wait } => assert!(Some(token) > ahead && !wait.is_zero()),
        other => panic!("granted, and not {other:?}"),
    }
}

async fn old_records_are_deleted(server: TestServer) {
    old_records_alone_are_deleted(server.store()).await;
}
story!(old_records_are_deleted);

#[tokio::test]
async fn old_records_in_memory_are_deleted() {
    old_records_alone_are_deleted(AnyStore::new(Memory::new())).await;
}

#[tokio::test]
async fn old_records_in_a_file_are_deleted() {
    let folder = Folder::new();
    old_records_alone_are_deleted(AnyStore::new(folder.store())).await;
}

const RIVALS: u64 = 8;

/// Leases are acquired again at about the time when their records are deleted.
async fn tokens_rise_beside(store: AnyStore) {
    let ttl = store.traits().least_ttl;
    // etcd counts in seconds, and looks for ended leases twice a second.
    let (rounds, spread) = if ttl > Duration::from_secs(1) { (3, 1_500) } else { (25, 20) };
    let purger = store.clone();
    let deleted = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&deleted);
    let purging = tokio::spawn(async move {
        loop {
            count.fetch_add(purged(&purger).await, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let rival = |number: u64| {
        let store = &store;
        async move {
            let key = format!("rival-{number}");
            let mut last = None;
            for round in 0..rounds {
                let token = granted(store, &key, last, ttl).await;
                assert!(last < Some(token));
                last = Some(token);
                // Some come before their records are deleted, and some after that.
                let late = Duration::from_millis((number * 7 + round * 3) % 20 * spread / 20);
                let early = (ttl * 2).saturating_sub(Duration::from_millis(10));
                tokio::time::sleep(early + late).await;
            }
        }
    };
    soon(join_all((0..RIVALS).map(rival))).await;
    assert!(!purging.is_finished(), "no purge has failed");
    assert!(deleted.load(Ordering::Relaxed) > 0);
    purging.abort();
}

async fn tokens_rise_while_records_are_deleted(server: TestServer) {
    tokens_rise_beside(server.store()).await;
}
story!(tokens_rise_while_records_are_deleted);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_rise_while_rows_of_a_file_are_deleted() {
    let folder = Folder::new();
    tokens_rise_beside(AnyStore::new(folder.store())).await;
}

const OLD: usize = 600;

async fn purges_cost_no_lead_and_no_connection(server: TestServer) {
    let proxy = server.proxy().await;
    let store = server.store_at(proxy.port());
    let ttl = store.traits().least_ttl;
    for number in 0..OLD {
        granted(&store, &format!("old-{number}"), None, ttl).await;
    }
    let leader = crate::support::start(store.clone(), "one", server.steady).0;
    soon(leader.elected()).await.unwrap();
    let (fallen, connections) = (falls(&leader), proxy.connections());
    // Each is given up a little later than the one before.
    for millis in 0..20 {
        let within = Duration::from_millis(millis);
        let _given_up = tokio::time::timeout(within, store.purge(Duration::ZERO)).await;
    }
    // The leader's TTL counts for all of them.
    let last = format!("old-{}", OLD - 1);
    soon(async {
        while let Reply::Stale { .. } = ask(&store, &last, acquire(2, None, ttl)).await {
            tokio::time::sleep(Duration::from_millis(200)).await;
            store.purge(Duration::ZERO).await.unwrap();
        }
    })
    .await;
    assert!(leader.is_leader());
    assert_eq!(*fallen.lock().unwrap(), []);
    assert_eq!(proxy.connections(), connections);
    soon(leader.stop()).await.unwrap();
}
story!(purges_cost_no_lead_and_no_connection);
