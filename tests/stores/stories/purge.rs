//! The deletion of the records of long-ended elections: old records alone are deleted, and no
//! candidate notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tenure::Token;
use tenure::store::{AnyStore, Key, Memory, Reply, Request, Store, StoreError, StoreErrorKind};

use super::TestServer;
use crate::stores::sqlite::support::Folder;
use crate::stores::support::{RENEWED, acquire_with, falls, look, release, renew, soon};
use tenure_servers::Flow;

/// A lease that a busy machine renews in time, in whole seconds for etcd.
const SPELL: Duration = Duration::from_secs(2);
/// Far above all tokens that are granted.
const AHEAD: u64 = 1_000_000_000_000;

/// An acquire whose settings bind others no longer than its lease.
fn acquire(number: u128, seen: Option<Token>, ttl: Duration) -> Request {
    acquire_with(number, seen, ttl, ttl)
}

async fn ask(store: &AnyStore, key: &str, request: Request) -> Reply {
    let key = Key::new(key).unwrap();
    soon(answered(|| store.call(&key, request.clone()))).await
}

/// The answer. PostgreSQL does nothing at all if the row stays locked for long, as by a purge that
/// gets no processor.
async fn answered<T, F>(mut asks: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, StoreError>>,
{
    loop {
        match asks().await {
            Err(error) if error.kind() == StoreErrorKind::Locked => {}
            answer => return answer.unwrap(),
        }
    }
}

/// Acquires as holder 1 a lease that nobody holds. A candidate that does not know the highest token
/// that was purged is told it, and asks again.
async fn granted(store: &AnyStore, key: &str, mut seen: Option<Token>, ttl: Duration) -> Token {
    loop {
        match ask(store, key, acquire(1, seen, ttl)).await {
            Reply::Granted { token } => return token,
            Reply::Not(shown) if shown.sight.past.is_none() && seen < shown.sight.last => {
                seen = shown.sight.last;
            }
            other => panic!("granted, or told of a token, and not {other:?}"),
        }
    }
}

/// The highest token of the election that the store knows.
async fn known(store: &AnyStore, key: &str) -> Option<Token> {
    match ask(store, key, look(None)).await {
        Reply::At(shown) => shown.sight.last,
        other => panic!("an answer to a look, and not {other:?}"),
    }
}

async fn purged(store: &AnyStore) -> u64 {
    soon(answered(|| store.purge(Duration::ZERO))).await
}

/// For any store that has just begun, and trusts that.
pub(crate) async fn old_records_alone_are_deleted(store: AnyStore) {
    let began = Instant::now();
    let abandoned = granted(&store, "abandoned", None, SPELL).await;
    let released = granted(&store, "released", None, SPELL).await;
    assert_eq!(ask(&store, "released", release(1, released)).await, Reply::Released);
    // Where the server ends leases, no renewal may come too late.
    let of_live = if store.traits().ends_leases { SPELL * 30 } else { SPELL };
    let live = granted(&store, "live", None, of_live).await;
    assert_eq!(soon(store.purge(SPELL * 100)).await.unwrap(), 0, "none is that old");
    // What was not given back is watched first.
    let mut deleted = purged(&store).await;
    assert_eq!(deleted, 1);
    while deleted < 2 {
        tokio::time::sleep(SPELL / 8).await;
        assert_eq!(ask(&store, "live", renew(1, live)).await, RENEWED);
        deleted += purged(&store).await;
        assert!(deleted <= 2);
    }
    assert!(began.elapsed() >= SPELL, "{:?}", began.elapsed());
    // A candidate that knows a purged token proves no loss, and gets a higher one, as one does that
    // knows none.
    assert!(granted(&store, "abandoned", Some(abandoned), SPELL).await > abandoned);
    assert!(granted(&store, "released", None, SPELL).await > released.max(abandoned));
    // The past is there: a token above all that were purged proves a loss.
    let ahead = Token::new(live.get() + AHEAD);
    match ask(&store, "new", acquire(1, ahead, SPELL)).await {
        Reply::Not(shown) => assert!(shown.sight.past.is_some(), "{shown:?}"),
        other => panic!("nothing is granted, and not {other:?}"),
    }
}

async fn old_records_are_deleted(server: TestServer) {
    old_records_alone_are_deleted(server.store()).await;
}
story!(old_records_are_deleted: redis_rs, fred, postgres, etcd, mysql);

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

/// Leases are given back and acquired again at about the time when their records are deleted:
/// nobody gets a lower token, and the highest one is known at each moment.
async fn tokens_rise_beside(store: AnyStore, purger: AnyStore) {
    let ttl = store.traits().least_ttl;
    // Only a candidate trusts an empty store.
    granted(&store, "first", None, ttl).await;
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
            for round in 0..25 {
                let token = granted(store, &key, last, ttl).await;
                assert!(last < Some(token));
                last = Some(token);
                // After a pause of the machine, the lease may have been watched and deleted.
                let released = ask(store, &key, release(1, token)).await;
                assert!(matches!(released, Reply::Released | Reply::NotHeld), "{released:?}");
                // Some come before their records are deleted, and some after that.
                tokio::time::sleep(Duration::from_millis((number * 7 + round * 3) % 20)).await;
                let known = known(store, &key).await;
                assert!(known >= Some(token), "{known:?} is known, and {token:?} was granted");
            }
        }
    };
    soon(join_all((0..RIVALS).map(rival))).await;
    assert!(!purging.is_finished(), "no purge has failed");
    // A transaction of etcd deletes nothing if one of its records has changed meanwhile.
    soon(async {
        while deleted.load(Ordering::Relaxed) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    purging.abort();
}

/// The purge's reading is out of date when it deletes.
async fn tokens_rise_while_records_are_deleted(server: TestServer) {
    let proxy = server.proxy().await;
    proxy.set_requests(Flow::Delay(Duration::from_millis(5)));
    tokens_rise_beside(server.store(), server.store_at(proxy.port())).await;
}
story!(tokens_rise_while_records_are_deleted: redis_rs, fred, postgres, etcd, mysql);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_rise_while_rows_of_a_file_are_deleted() {
    let folder = Folder::new();
    tokens_rise_beside(AnyStore::new(folder.store()), AnyStore::new(folder.store())).await;
}

/// The time of a purge's request to the server.
const TRIP: Duration = Duration::from_millis(300);

/// A lease that was watched for long enough is renewed between two requests of the purge: before
/// the one that would delete it, at one of these times. A renewal that was answered is kept.
async fn a_renewal_during_a_purge_is_kept(server: TestServer) {
    let ttl = Duration::from_millis(100);
    let proxy = server.proxy().await;
    let (store, purger) = (server.store(), server.store_at(proxy.port()));
    let mut renewals = 0;
    // On a machine that is too busy, all of them come after the deletion.
    while renewals == 0 {
        for half_trips in [3, 5, 7] {
            let key = format!("live-{half_trips}");
            let token = granted(&store, &key, None, ttl).await;
            purged(&purger).await;
            tokio::time::sleep(ttl * 2).await;
            proxy.set_requests(Flow::Delay(TRIP));
            let renewed = async {
                tokio::time::sleep(TRIP * half_trips / 2).await;
                ask(&store, &key, renew(1, token)).await
            };
            let (_, renewed) = tokio::join!(purged(&purger), renewed);
            proxy.set_requests(Flow::Forward);
            if renewed == RENEWED {
                renewals += 1;
                let next = ask(&store, &key, renew(1, token)).await;
                assert_eq!(next, RENEWED, "after {half_trips} halves");
            }
        }
    }
}
story!(a_renewal_during_a_purge_is_kept: redis_rs, postgres, mysql);

const OLD: usize = 600;

async fn purges_cost_no_lead_and_no_connection(server: TestServer) {
    let proxy = server.proxy().await;
    let store = server.store_at(proxy.port());
    let ttl = store.traits().least_ttl;
    for number in 0..OLD {
        granted(&store, &format!("old-{number}"), None, ttl).await;
    }
    let leader = crate::stores::support::start(store.clone(), "one", server.steady).0;
    soon(leader.elected()).await.unwrap();
    let (fallen, connections) = (falls(&leader), proxy.connections());
    // Each is given up a little later than the one before.
    for millis in 0..20 {
        let within = Duration::from_millis(millis);
        let _given_up = tokio::time::timeout(within, store.purge(Duration::ZERO)).await;
    }
    let last = format!("old-{}", OLD - 1);
    soon(async {
        while let Reply::At(shown) = ask(&store, &last, Request::Observe).await
            && shown.sight.record.is_some()
        {
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
story!(purges_cost_no_lead_and_no_connection: redis_rs, fred, postgres, etcd, mysql);
