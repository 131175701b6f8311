//! Programs that know the lock alone and programs of tenure, while one of them leads.

use std::time::Duration;

use tenure::store::postgres::{AdvisoryConfig, LockNumber, PostgresAdvisory};
use tenure::store::{Key, Reply, Store};
use tenure::{Config, StepDownReason};
use tenure_servers::Flow;

use super::{LOCK, OldProgram, at, candidate, config, holders, terminate_holders};
use crate::postgres::support::{
    self, TTL, acquire, call, granted, held, local, proxy, release, renew, server, soon, start,
    steps_down,
};

/// Leases of a minute: a takeover within seconds has not waited for the end of one. A candidate that has resigned
/// stays out for a renewal interval.
fn patient() -> Config {
    let minute = Config::builder(Duration::from_secs(60));
    minute.renew_interval(Duration::from_secs(2)).build().unwrap()
}

fn quick() -> Config {
    Config::builder(Duration::from_secs(3)).build().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_and_new_programs_exclude_each_other() {
    let server = server();
    let old = OldProgram::start(&server).await;
    let locks: [(LockNumber, [&str; 3]); 3] = [
        (LOCK.into(), ["pg_try_advisory_lock", "pg_advisory_unlock", ""]),
        ((-1, 7).into(), ["pg_try_advisory_lock", "pg_advisory_unlock", ""]),
        // A shared lock excludes others as well.
        (i64::MIN.into(), ["pg_try_advisory_lock_shared", "pg_advisory_unlock_shared", "_shared"]),
    ];
    for (lock, [takes, gives_up, kind]) in locks {
        let key = format!("job{lock}");
        assert!(old.call(&format!("{takes}{lock}")).await);
        let config = AdvisoryConfig::new(local(server.port()).trust_empty_store(true));
        let store = PostgresAdvisory::new(config.lock(&key, lock).unwrap());
        let elections = tenure::Elections::new(store);
        let one = elections.candidate(&key).name("new").config(patient()).start().unwrap();
        // The incumbent's name is that of its session.
        let incumbent = soon(async {
            loop {
                if let Some(incumbent) = one.incumbent().await.unwrap() {
                    return incumbent;
                }
            }
        });
        let name = incumbent.await.name;
        assert!(name.starts_with("session ") && name.ends_with(" of test"), "{name}");
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        assert!(!one.is_leader(), "{lock}");
        assert!(old.call(&format!("{gives_up}{lock}")).await);
        let tenure = soon(one.elected()).await.unwrap();
        assert!(
            tenure.is_current() && !old.call(&format!("{takes}{lock}")).await,
            "{lock} is taken"
        );
        let (stopped, ()) = tokio::join!(one.stop(), old.waits_for(format!("{kind}{lock}")));
        stopped.unwrap();
        assert!(old.call(&format!("{gives_up}{lock}")).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_taken_by_another_supersedes_the_leader() {
    let server = server();
    let old = OldProgram::start(&server).await;
    // Long leases, so that it is the renewal which ends the lead.
    let second = Duration::from_secs(1);
    let config = Config::builder(TTL).renew_interval(second).poll_bound(second).build().unwrap();
    let (one, mut events) = start(at(server.port()), "one", config);
    let first = soon(one.elected()).await.unwrap();
    let waits = old.waits_for(format!("({LOCK})"));
    let ends = async {
        // A waiting session has it before the leader can take it back.
        let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
        soon(async {
            while server.sql(waiting).unwrap() != "1" {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        terminate_holders(&server);
    };
    tokio::join!(waits, ends);
    assert_eq!(steps_down(&mut events).await, StepDownReason::Superseded);
    // Without the lease, it asks for the lock each second.
    server.sql("UPDATE tenure.leases SET lease_end = 1").unwrap();
    tokio::time::sleep(second * 3).await;
    assert!(!one.is_leader());
    assert!(old.call(&format!("pg_advisory_unlock({LOCK})")).await);
    assert!(soon(one.elected()).await.unwrap().token() > first.token());
}

/// Only the server can end its session: the proxy keeps the connection to the server open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_black_holes_locks_outlive_claims() {
    let server = server();
    let proxy = proxy(&server).await;
    let leader = candidate(proxy.port(), "leader", quick());
    soon(leader.elected()).await.unwrap();
    let old = OldProgram::start(&server).await;
    proxy.set(Flow::BlackHole);
    old.waits_for(format!("({LOCK})")).await;
    assert!(!leader.is_leader());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_nobody_took_is_taken_back() {
    let server = server();
    let store = at(server.port());
    let (token, _) = granted(&store, acquire(1, None)).await;
    let before = holders(&server);
    terminate_holders(&server);
    assert_eq!(support::answered(&store, renew(1, token)).await, Reply::Renewed);
    let after = holders(&server);
    assert_eq!((before.len(), after.len()), (1, 1));
    assert_ne!(before, after);
    // So does a repeated acquire.
    terminate_holders(&server);
    let again = support::answered(&store, acquire(1, None)).await;
    assert!(matches!(again, Reply::Granted { token: same, .. } if same == token), "{again:?}");
    assert_eq!(holders(&server).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn elections_with_one_lock_exclude_each_other() {
    let server = server();
    let other = Key::new("other").unwrap();
    let same_lock = config(server.port()).number("other").unwrap();
    // In one session, as if two names collided; and in two.
    let here = config(server.port()).lock("job", same_lock).unwrap();
    let here = PostgresAdvisory::new(here);
    for (there, is_here) in [(here.clone(), true), (at(server.port()), false)] {
        let (token, _) = granted(&here, acquire(1, None)).await;
        let reply = soon(there.call(&other, acquire(2, None))).await;
        let Reply::Held(incumbent) = reply.unwrap() else { panic!("held") };
        assert!(incumbent.name.contains(" of tenure"), "{}", incumbent.name);
        assert_eq!(incumbent.name.ends_with(" for the election job"), is_here);
        assert_eq!(call(&here, release(1, token)).await.unwrap(), Reply::Released);
        let seen = Some(incumbent.token);
        let reply = soon(there.call(&other, acquire(2, seen))).await;
        let Reply::Granted { token: second, .. } = reply.unwrap() else { panic!("granted") };
        assert!(second > incumbent.token);
        assert_eq!(held(&here, acquire(3, Some(token))).await.remaining, Duration::from_secs(1));
        let reply = soon(there.call(&other, release(2, second))).await;
        assert_eq!(reply.unwrap(), Reply::Released);
        server.sql("TRUNCATE tenure.leases").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn candidates_with_and_without_locks_exclude_each_other() {
    let server = server();
    let plain = support::candidate(server.port(), "plain", patient());
    let first = soon(plain.elected()).await.unwrap();
    let (locked, mut events) = start(at(server.port()), "locked", patient());
    support::learns_of_leader(&mut events).await;
    assert_eq!(soon(locked.incumbent()).await.unwrap().unwrap().name, "plain");
    // They hand over to each other, at once.
    soon(plain.resign()).await.unwrap();
    let second = soon(locked.elected()).await.unwrap();
    assert!(second.token() > first.token());
    soon(locked.stop()).await.unwrap();
    assert!(soon(plain.elected()).await.unwrap().token() > second.token());
}
