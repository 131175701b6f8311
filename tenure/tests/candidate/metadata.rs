//! Metadata that are replaced.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tenure::store::{
    Key, Memory, Profile, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits,
};
use tenure::{Candidate, Config, Elections};

use super::support::{quick, soon, steady};

/// A store in memory that counts the profiles it was told, and fails as it is told to.
#[derive(Clone, Default)]
struct Told {
    store: Memory,
    versions: Arc<Mutex<Vec<u64>>>,
    /// The next describes' ends; the others are carried out.
    ends: Arc<Mutex<VecDeque<End>>>,
    /// The number of next renewals that fail.
    failing_renewals: Arc<AtomicU32>,
}

#[derive(Clone, Copy)]
enum End {
    Fails(StoreErrorKind),
    LosesReply,
}

impl Store for Told {
    fn traits(&self) -> StoreTraits {
        self.store.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        if let Request::Renew { .. } = request {
            let fewer = |left: u32| left.checked_sub(1);
            if self.failing_renewals.fetch_update(SeqCst, SeqCst, fewer).is_ok() {
                return Err(StoreError::new(StoreErrorKind::Disconnected, "as the test wants it"));
            }
        }
        let Request::Describe { version, .. } = request else {
            return self.store.call(key, request).await;
        };
        self.versions.lock().unwrap().push(version);
        let end = self.ends.lock().unwrap().pop_front();
        match end {
            None => self.store.call(key, request).await,
            Some(End::Fails(kind)) => Err(StoreError::new(kind, "as the test wants it")),
            Some(End::LosesReply) => {
                self.store.call(key, request).await?;
                std::future::pending().await
            }
        }
    }
}

impl Told {
    fn candidate(&self) -> Candidate {
        self.candidate_of(steady())
    }

    fn candidate_of(&self, config: Config) -> Candidate {
        Candidate::builder(self.clone(), "job").metadata("first").config(config).start().unwrap()
    }

    fn versions(&self) -> Vec<u64> {
        self.versions.lock().unwrap().clone()
    }

    fn ends(&self, ends: &[End]) {
        self.ends.lock().unwrap().extend(ends);
    }

    /// Waits until that is what others are told of the leader.
    async fn shows(&self, wanted: &str) {
        soon(async {
            let key = Key::new("job").unwrap();
            loop {
                match self.store.call(&key, Request::Observe).await.unwrap() {
                    Reply::At(shown)
                        if shown
                            .incumbent()
                            .is_some_and(|one| one.metadata == wanted.as_bytes()) =>
                    {
                        return;
                    }
                    _ => tokio::time::sleep(Duration::from_millis(2)).await,
                }
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_leader_tells_each_change_once() {
    let store = Told::default();
    let candidate = store.candidate_of(steady());
    soon(candidate.elected()).await.unwrap();
    store.shows("first").await;
    for (number, metadata) in (1..).zip(["second", "", "third"]) {
        candidate.set_metadata(metadata).unwrap();
        store.shows(metadata).await;
        assert_eq!(store.versions().last(), Some(&number));
    }
    tokio::time::sleep(steady().renew_interval() * 3).await;
    assert_eq!(store.versions(), [1, 2, 3]);
    assert!(candidate.is_leader());
}

#[tokio::test]
async fn many_changes_are_one_request_at_a_time() {
    let store = Told::default();
    let candidate = store.candidate();
    soon(candidate.elected()).await.unwrap();
    for number in 0..=1_000 {
        candidate.set_metadata(format!("{number}")).unwrap();
    }
    store.shows("1000").await;
    assert!(store.versions().len() <= 2, "{:?}", store.versions());
}

#[tokio::test]
async fn a_change_each_moment_is_one_request_in_the_least_retry_time() {
    let store = Told::default();
    let candidate = store.candidate();
    soon(candidate.elected()).await.unwrap();
    let began = Instant::now();
    let mut number = 0;
    // A pause of the machine is no time in which something is told.
    soon(async {
        while began.elapsed() < Duration::from_millis(500) || store.versions().len() < 2 {
            number += 1;
            candidate.set_metadata(format!("{number}")).unwrap();
            tokio::task::yield_now().await;
        }
    })
    .await;
    store.shows(&number.to_string()).await;
    let most = began.elapsed().as_nanos() / steady().retry().0.as_nanos() + 2;
    let told = store.versions().len();
    assert!(told > 1 && u128::try_from(told).unwrap() <= most, "{told} of at most {most}");
}

/// A driver that has nothing left but to tell what nobody leads by any more.
#[tokio::test]
async fn what_waits_to_be_told_keeps_no_driver() {
    let store = Told::default();
    let elections = Elections::new(store.clone());
    let candidate = |number: usize| elections.candidate(format!("job-{number}")).config(quick());
    let (first, driver) = candidate(0).build().unwrap();
    let others = (1..1_000).map(|number| candidate(number).start().unwrap());
    let candidates: Vec<_> = std::iter::once(first).chain(others).collect();
    let driving = tokio::spawn(driver.run());
    for candidate in &candidates {
        soon(candidate.elected()).await.unwrap();
    }
    store.ends(&[End::LosesReply; 1_000]);
    for candidate in &candidates {
        candidate.set_metadata("new").unwrap();
    }
    drop((candidates, elections));
    soon(driving).await.unwrap();
}

#[tokio::test]
async fn what_fails_is_told_again_after_a_renewal() {
    let store = Told::default();
    let candidate = store.candidate_of(steady());
    soon(candidate.elected()).await.unwrap();
    let ends = [End::Fails(StoreErrorKind::Full), End::LosesReply, End::LosesReply];
    store.ends(&ends);
    candidate.set_metadata("second").unwrap();
    store.shows("second").await;
    soon(async {
        while store.versions().len() < 4 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    tokio::time::sleep(steady().renew_interval() * 2).await;
    assert_eq!(store.versions(), [1; 4]);
    assert!(candidate.is_leader());
}

/// A server that has failed may have lost what it had recorded.
#[tokio::test]
async fn a_failed_renewal_repeats_the_change() {
    let store = Told::default();
    let candidate = store.candidate_of(steady());
    soon(candidate.elected()).await.unwrap();
    candidate.set_metadata("second").unwrap();
    store.shows("second").await;
    for repeated in 1..=2 {
        store.failing_renewals.store(1, SeqCst);
        soon(async {
            while store.versions().len() <= repeated {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        // Once for each failure.
        tokio::time::sleep(steady().renew_interval() * 2).await;
        assert_eq!(store.versions(), vec![1; repeated + 1]);
    }
    assert!(candidate.is_leader());
}

#[tokio::test]
async fn a_store_that_replaces_none_is_told_once() {
    let store = Told::default();
    let candidate = store.candidate_of(steady());
    soon(candidate.elected()).await.unwrap();
    store.ends(&[End::Fails(StoreErrorKind::Unsupported)]);
    candidate.set_metadata("second").unwrap();
    tokio::time::sleep(steady().renew_interval() * 3).await;
    assert_eq!(store.versions(), [1]);
    // Its next acquire tells it all the same.
    soon(candidate.resign()).await.unwrap();
    store.shows("second").await;
    tokio::time::sleep(steady().renew_interval() * 2).await;
    assert_eq!(store.versions(), [1]);
}

#[tokio::test]
async fn each_later_tenure_has_the_present_ones() {
    let store = Told::default();
    let candidate = store.candidate();
    candidate.set_metadata("before it leads").unwrap();
    let first = soon(candidate.elected()).await.unwrap();
    store.shows("before it leads").await;
    soon(candidate.resign()).await.unwrap();
    let second = soon(candidate.elected()).await.unwrap();
    assert!(second.token() > first.token());
    store.shows("before it leads").await;
    candidate.set_metadata("after that").unwrap();
    store.shows("after that").await;
}

#[tokio::test]
async fn a_follower_changes_nothing_until_it_leads() {
    let store = Told::default();
    let leader = store.candidate();
    soon(leader.elected()).await.unwrap();
    let follower = store.candidate();
    follower.set_metadata("the follower's").unwrap();
    leader.set_metadata("the leader's").unwrap();
    store.shows("the leader's").await;
    assert_eq!(store.versions(), [1]);
    soon(leader.stop()).await.unwrap();
    store.shows("the follower's").await;
}

#[tokio::test]
async fn too_many_bytes_change_nothing() {
    let store = Told::default();
    let candidate = store.candidate();
    soon(candidate.elected()).await.unwrap();
    let error = candidate.set_metadata(vec![0; Profile::METADATA_MOST + 1]).unwrap_err();
    assert_eq!(error.to_string(), "metadata has 4097 bytes; it must have 0 to 4096");
    candidate.set_metadata(vec![b'x'; Profile::METADATA_MOST]).unwrap();
    store.shows(&"x".repeat(Profile::METADATA_MOST)).await;
    assert_eq!(store.versions(), [1]);
}

#[tokio::test]
async fn a_driver_that_is_gone_is_no_error() {
    let store = Told::default();
    let (candidate, driver) = Candidate::builder(store, "job").config(quick()).build().unwrap();
    drop(driver);
    candidate.set_metadata("for nobody").unwrap();
}

#[tokio::test]
async fn an_observer_sees_the_change() {
    use futures_util::StreamExt;

    let store = Told::default();
    let candidate = store.candidate();
    soon(candidate.elected()).await.unwrap();
    let mut leaders = candidate.observe();
    let seen = soon(leaders.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(seen.metadata, "first");
    candidate.set_metadata("second").unwrap();
    let seen = soon(leaders.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(seen.metadata, "second");
}
