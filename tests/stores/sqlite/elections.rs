//! Elections over a file.

use std::time::{Duration, Instant};

use tenure::store::sqlite::{Sqlite, SqliteError};
use tenure::{Config, Elections, Event, StepDownReason};

use super::support::{Folder, Watch, config, event, soon, start, why};

fn quick() -> Config {
    Config::builder(Duration::from_secs(3)).build().unwrap()
}

/// Leases of a minute, and a look every 200 ms: whoever takes over within seconds has not waited for
/// an end.
fn patient() -> Config {
    Config::builder(Duration::from_secs(60)).poll_bound(Duration::from_millis(200)).build().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_hand_over_within_the_poll_bound() {
    let folder = Folder::new();
    let (one, _) = start(folder.store(), "one", patient());
    let mut token = soon(one.elected()).await.unwrap().token();
    let (two, mut events) = start(folder.store(), "two", patient());
    let known = event(&mut events, |event| match event {
        Event::IncumbentChanged { token } => Some(*token),
        _ => None,
    });
    assert_eq!(known.await, token);
    let watch = Watch::over(&[&one, &two]);
    for (leader, other) in [(&one, &two), (&two, &one), (&one, &two)] {
        let led = leader.tenure().expect("leads");
        soon(leader.resign()).await.unwrap();
        let resigned = Instant::now();
        assert!(!leader.is_leader() && !led.is_current());
        let next = soon(other.elected()).await.unwrap();
        assert!(next.token() > token);
        // Ten times too generous.
        assert!(resigned.elapsed() < 10 * patient().poll_bound(), "{:?}", resigned.elapsed());
        token = next.token();
    }
    let incumbent = soon(one.incumbent()).await.unwrap().unwrap();
    assert_eq!((incumbent.token, &*incumbent.name), (token, "two"));
    watch.nobody_overlapped();
}

/// Whoever is woken by nobody looks more often by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_was_told_no_poll_bound_does_not_wait_for_a_whole_lease() {
    let folder = Folder::new();
    let config = Config::builder(Duration::from_secs(60)).build().unwrap();
    let (one, _) = start(folder.store(), "one", config);
    soon(one.elected()).await.unwrap();
    let (two, mut events) = start(folder.store(), "two", config);
    event(&mut events, |event| matches!(event, Event::IncumbentChanged { .. }).then_some(())).await;
    soon(one.stop()).await.unwrap();
    let stopped = Instant::now();
    soon(two.elected()).await.unwrap();
    let bound = 10 * config.without_hints().poll_bound();
    assert!(stopped.elapsed() < bound, "{:?}", stopped.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_loses_the_lead_without_a_fault() {
    let folder = Folder::new();
    let (one, mut events) = start(folder.store(), "one", quick());
    soon(one.elected()).await.unwrap();
    let (two, _) = start(folder.store(), "two", quick());
    let watch = Watch::over(&[&one, &two]);
    tokio::time::sleep(quick().ttl() * 3).await;
    assert!(one.is_leader() && !two.is_leader());
    soon(one.stop()).await.unwrap();
    let ends = event(&mut events, |event| match event {
        Event::SteppedDown { reason, .. } => Some(*reason),
        _ => None,
    });
    assert_eq!(ends.await, StepDownReason::Resigned, "the first end is the last");
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_deleted_under_its_leader_never_makes_two() {
    let folder = Folder::new();
    let (one, _) = start(folder.store(), "one", quick());
    let first = soon(one.elected()).await.unwrap();
    folder.delete();
    // Its file is a new one, and knows nothing of the first leader.
    let (two, mut events) = start(folder.distrustful(), "two", quick());
    let watch = Watch::over(&[&one, &two]);
    let wait = event(&mut events, |event| match event {
        Event::Quarantined { remaining } => Some(*remaining),
        _ => None,
    });
    assert!(wait.await > quick().ttl() / 2);
    soon(first.ended()).await;
    let next = soon(two.elected()).await.unwrap();
    assert!(next.token() > first.token());
    watch.nobody_overlapped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_candidate_that_starts_before_its_folder_leads_once_it_appears() {
    let folder = Folder::new();
    let inner = folder.folder.path().join("data");
    let store = Sqlite::new(config(&inner.join("elections.db")).trust_empty_store(true));
    let (candidate, mut events) = start(store, "early", quick());
    let error = event(&mut events, |event| match event {
        Event::StoreUnavailable { error } => Some(error.clone()),
        _ => None,
    })
    .await;
    assert!(matches!(why(&error), SqliteError::NoFolder { .. }), "{error}");
    std::fs::create_dir(&inner).unwrap();
    soon(candidate.elected()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_elections_share_what_one_needs() {
    let folder = Folder::new();
    let elections = Elections::new(folder.store());
    let config = Config::builder(Duration::from_secs(60)).build().unwrap();
    let all: Vec<_> = (0..100)
        .map(|i| elections.candidate(format!("shard:{i}")).config(config).start().unwrap())
        .collect();
    for candidate in &all {
        soon(candidate.elected()).await.unwrap();
    }
    let (first, rest) = all.split_first().unwrap();
    soon(first.stop()).await.unwrap();
    assert!(!first.is_leader() && rest.iter().all(tenure::Candidate::is_leader));
}
