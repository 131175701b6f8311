//! A tenure that is held: no other candidate leads before the hold is over, however the tenure
//! ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::store::contract::Wish;
use tenure::store::{Memory, Request, Store};
use tenure::{Candidate, Config, Elections, FirstAttempt, HandOverError, StoreHealth, Tenure};
use tokio::time;

use super::stuck::Paused;
use super::support::{Remote, long, quick, soon, steady};

const HOUR: Duration = Duration::from_secs(3_600);

fn start(store: &Memory, name: &str, config: Config) -> Candidate {
    Candidate::builder(store.clone(), "job").name(name).config(config).start().unwrap()
}

async fn leads(store: &Memory, config: Config) -> (Candidate, Tenure) {
    let candidate = start(store, "one", config);
    let tenure = soon(candidate.elected()).await.unwrap();
    (candidate, tenure)
}

/// Another candidate that comes now finds the lease of that tenure.
async fn is_kept(store: &Memory, tenure: &Tenure) {
    let other = start(store, "two", long());
    let FirstAttempt::Following(leader) = soon(other.first_attempt()).await.unwrap() else {
        panic!("the lease was given back")
    };
    assert_eq!(leader.token, tenure.token());
}

#[tokio::test]
async fn no_end_gives_a_held_lease_back() {
    for way in ["stop", "resign", "lost work", "no handle"] {
        let store = Memory::new();
        let (candidate, tenure) = leads(&store, long()).await;
        drop(tenure.hold(HOUR));
        match way {
            "stop" => soon(candidate.stop()).await.unwrap(),
            "resign" => soon(candidate.resign()).await.unwrap(),
            "lost work" => {
                let work = candidate.run_while_leader(async |_| std::future::pending::<()>().await);
                assert!(tokio::time::timeout(Duration::from_millis(50), work).await.is_err());
            }
            _ => drop(candidate),
        }
        soon(tenure.ended()).await;
        // Until all that follows from the end has been done.
        tokio::time::sleep(Duration::from_millis(50)).await;
        is_kept(&store, &tenure).await;
    }
}

#[tokio::test]
async fn a_hold_that_is_over_gives_the_lease_back() {
    let store = Memory::new();
    let (candidate, tenure) = leads(&store, long()).await;
    let (time, begun) = (Duration::from_millis(200), Instant::now());
    let held = tenure.hold(time);
    drop(tenure.hold(Duration::ZERO));
    soon(held).await;
    assert!(begun.elapsed() >= time && tenure.is_current());
    soon(candidate.stop()).await.unwrap();
    soon(start(&store, "two", long()).elected()).await.unwrap();
}

#[tokio::test]
async fn a_hold_ends_with_its_tenure() {
    let store = Memory::new();
    let (candidate, tenure) = leads(&store, quick()).await;
    let held = tenure.hold(HOUR);
    soon(candidate.resign()).await.unwrap();
    soon(held).await;
    // It waits for its own lease as any other does.
    let next = soon(candidate.elected()).await.unwrap();
    assert!(next.token() > tenure.token());
}

/// It hands over once the hold is over, if that is still wished for.
#[tokio::test]
async fn a_held_lead_is_not_handed_over() {
    let store = Memory::new();
    let (candidate, tenure) = leads(&store, steady()).await;
    let (time, begun) = (Duration::from_secs(2), Instant::now());
    drop(tenure.hold(time));
    let other = start(&store, "two", steady());
    let want = Request::Want { token: tenure.token(), wish: Some(Wish::Anybody) };
    store.call(candidate.key(), want).await.unwrap();
    soon(other.elected()).await.unwrap();
    assert!(begun.elapsed() >= time, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_long_hold_refuses_a_handover() {
    let store = Memory::new();
    let (candidate, tenure) = leads(&store, steady()).await;
    drop(tenure.hold(HOUR));
    let error = soon(candidate.hand_over(None)).await.unwrap_err();
    assert!(matches!(error, HandOverError::Held { remaining } if remaining <= HOUR), "{error}");
}

/// A leader with a held lease at a store that can be cut off, and other elections at that store, in
/// virtual time.
async fn leads_remotely() -> (Remote, Candidate, Tenure, Elections) {
    let (remote, runtime) = (Remote::default(), Paused::new());
    // Of one runtime, so that the holders' ids differ.
    let [own, other] =
        [(); 2].map(|()| Elections::with_runtime(remote.clone(), Arc::clone(&runtime) as _));
    let candidate = own.candidate("job").config(steady()).start().unwrap();
    let tenure = soon(candidate.elected()).await.unwrap();
    (remote, candidate, tenure, other)
}

/// A release that the hold forbids is not made up for once the store is back.
#[tokio::test(start_paused = true)]
async fn an_outage_gives_no_held_lease_back() {
    for way in ["stop", "resign"] {
        let (remote, candidate, tenure, other) = leads_remotely().await;
        drop(tenure.hold(HOUR));
        remote.cut();
        soon(async {
            while !matches!(candidate.health().store, StoreHealth::Unavailable { .. }) {
                time::sleep(Duration::from_millis(100)).await;
            }
        })
        .await;
        let ends = async {
            match way {
                "stop" => soon(candidate.stop()).await.unwrap(),
                _ => soon(candidate.resign()).await.unwrap(),
            }
        };
        let heals = async {
            time::sleep(Duration::from_secs(1)).await;
            remote.heal();
        };
        tokio::join!(ends, heals);
        // Shorter than the watch of a lease.
        time::sleep(Duration::from_secs(5)).await;
        let other = other.candidate("job").config(steady()).start().unwrap();
        let found = soon(other.first_attempt()).await.unwrap();
        let FirstAttempt::Following(leader) = found else { panic!("{way}: {found:?}") };
        assert_eq!(leader.token, tenure.token(), "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hold_outlasts_an_outage_that_its_lease_outlasts() {
    let (remote, candidate, tenure, other) = leads_remotely().await;
    let (slot, begun) = (Duration::from_secs(60), time::Instant::now());
    let held = tenure.hold(slot);
    remote.cut();
    time::sleep(Duration::from_secs(10)).await;
    remote.heal();
    time::timeout(HOUR, held).await.unwrap();
    assert!(begun.elapsed() >= slot && tenure.is_current());
    soon(candidate.stop()).await.unwrap();
    let other = other.candidate("job").config(steady()).start().unwrap();
    let found = soon(other.first_attempt()).await.unwrap();
    assert!(matches!(found, FirstAttempt::Leading(_)), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn a_longer_outage_ends_the_hold() {
    let (remote, candidate, tenure, _other) = leads_remotely().await;
    let begun = time::Instant::now();
    let held = tenure.hold(HOUR);
    remote.cut();
    time::timeout(HOUR, held).await.unwrap();
    assert!(begun.elapsed() <= steady().ttl() && !tenure.is_current());
    remote.heal();
    let next = time::timeout(HOUR, candidate.elected()).await.unwrap().unwrap();
    assert!(next.token() > tenure.token() && next.is_current());
}
