//! The driver and the handle on a memory store, in real time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::Memory;
use tenure::{Candidate, Config, Elections, Event, StartError, StepDownReason, StopError, Stopped};

use super::support::{soon, start, steady};

#[tokio::test]
async fn one_leads_and_hands_over() {
    let store = Memory::new();
    let first = start(&store, "first");
    let tenure = soon(first.elected()).await.unwrap();
    assert!(first.is_leader() && tenure.is_current());
    let second = start(&store, "second");
    assert_eq!(soon(second.incumbent()).await.unwrap().unwrap().name, "first");
    assert!(!second.is_leader());

    soon(first.stop()).await.unwrap();
    assert!(!first.is_leader() && !tenure.is_current());
    let next = soon(second.elected()).await.unwrap();
    assert!(next.token() > tenure.token());
    assert!(matches!(soon(first.elected()).await, Err(Stopped)));
    soon(first.stop()).await.expect("may be called again");
}

#[tokio::test]
async fn a_resigned_leader_returns_after_its_hold_off() {
    let store = Memory::new();
    let only = Candidate::builder(store, "job")
        .config(steady())
        .hold_off(Duration::from_millis(50))
        .start()
        .unwrap();
    let before = soon(only.elected()).await.unwrap();
    soon(only.resign()).await.unwrap();
    assert!(!before.is_current());
    let after = soon(only.elected()).await.unwrap();
    assert!(after.token() > before.token());
}

#[tokio::test]
async fn work_ends_before_the_lease_is_released() {
    let store = Memory::new();
    let config = steady().to_builder().drain_bound(Duration::from_secs(5)).build().unwrap();
    let first = Candidate::builder(store.clone(), "job").config(config).start().unwrap();
    let ended = Arc::new(AtomicBool::new(false));
    let work = {
        let (first, ended) = (first.clone(), Arc::clone(&ended));
        tokio::spawn(async move {
            first
                .run_while_leader(async |tenure| {
                    tenure.cancellation_token().cancelled().await;
                    // It takes a while to flush.
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    ended.store(true, Ordering::SeqCst);
                    std::future::pending::<()>().await;
                })
                .await
        })
    };
    soon(first.elected()).await.unwrap();
    // The work never ends: it is dropped at the drain bound, and then the lease is handed back.
    soon(first.stop()).await.unwrap();
    assert!(ended.load(Ordering::SeqCst));
    let second = start(&store, "second");
    soon(second.elected()).await.unwrap();
    assert_eq!(soon(work).await.unwrap(), Err(Stopped));
}

#[tokio::test]
async fn blocking_work_makes_stop_fail() {
    let store = Memory::new();
    let config = Config::builder(Duration::from_secs(2))
        .drain_bound(Duration::from_millis(100))
        .build()
        .unwrap();
    let first = Candidate::builder(store.clone(), "job").config(config).start().unwrap();
    let (entered, blocked) = tokio::sync::oneshot::channel();
    let release = Arc::new(AtomicBool::new(false));
    let thread = {
        let (first, release) = (first.clone(), Arc::clone(&release));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let mut entered = Some(entered);
            runtime.unwrap().block_on(first.run_while_leader(|_| {
                let (entered, release) = (entered.take(), Arc::clone(&release));
                async move {
                    entered.map(|entered| entered.send(()));
                    while !release.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            }))
        })
    };
    soon(blocked).await.unwrap();
    assert_eq!(soon(first.stop()).await, Err(StopError::StillRunning));
    assert!(!first.is_leader());
    release.store(true, Ordering::SeqCst);
    // The driver runs on this thread, and must report that the candidate has stopped.
    let ended = soon(tokio::task::spawn_blocking(|| thread.join().unwrap())).await.unwrap();
    assert_eq!(ended, Err(Stopped), "the work ended after its tenure");
}

#[tokio::test]
async fn events_pair_up_and_callbacks_run() {
    let store = Memory::new();
    let candidate = start(&store, "only");
    let mut events = candidate.events();
    let (gained, lost) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    {
        let (gained, lost) = (Arc::clone(&gained), Arc::clone(&lost));
        candidate.on_elected(move |_| {
            gained.fetch_add(1, Ordering::SeqCst);
            async { panic!("a callback's bug is not the election's") }
        });
        candidate.on_stepped_down(move |tenure, reason| {
            assert!(!tenure.is_current());
            assert_eq!(reason, StepDownReason::Resigned);
            lost.fetch_add(1, Ordering::SeqCst);
            async {}
        });
    }
    soon(candidate.elected()).await.unwrap();
    soon(candidate.stop()).await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = soon(events.next()).await {
        let over = matches!(event, Event::SteppedDown { .. });
        seen.push(event);
        if over {
            break;
        }
    }
    assert!(matches!(seen.first(), Some(Event::Elected(_))), "{seen:?}");
    assert_eq!(gained.load(Ordering::SeqCst), 1);
    assert_eq!(lost.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn dropping_the_last_handle_hands_over() {
    let store = Memory::new();
    let first = start(&store, "first");
    soon(first.elected()).await.unwrap();
    let clone = first.clone();
    drop(first);
    assert!(clone.is_leader(), "a clone is still a candidate");
    drop(clone);
    let second = start(&store, "second");
    soon(second.elected()).await.unwrap();
}

#[tokio::test]
async fn elections_share_a_driver_and_are_independent() {
    let elections = Elections::new(Memory::new());
    let all: Vec<_> = (0..50)
        .map(|i| elections.candidate(format!("shard:{i}")).config(steady()).start().unwrap())
        .collect();
    for candidate in &all {
        soon(candidate.elected()).await.unwrap();
    }
    soon(all[7].stop()).await.unwrap();
    assert!(all.iter().enumerate().all(|(i, candidate)| candidate.is_leader() == (i != 7)));
}

#[test]
fn start_outside_a_runtime_is_an_error() {
    let error = Candidate::builder(Memory::new(), "job").start().unwrap_err();
    assert!(matches!(error, StartError::NoRuntime(_)), "{error}");
}

#[tokio::test]
async fn errors_name_the_limits() {
    let empty = Candidate::builder(Memory::new(), "").start().unwrap_err();
    assert_eq!(empty.to_string(), "key has 0 bytes; it must have 1 to 512");
    let long = Candidate::builder(Memory::new(), "k".repeat(513)).start().unwrap_err();
    assert_eq!(long.to_string(), "key has 513 bytes; it must have 1 to 512");
    let name = Candidate::builder(Memory::new(), "k").name("n".repeat(129)).start().unwrap_err();
    assert_eq!(name.to_string(), "candidate name has 129 bytes; it must have 1 to 128");
    let metadata = Candidate::builder(Memory::new(), "k").metadata(vec![0; 4097]).start();
    let metadata = metadata.unwrap_err().to_string();
    assert_eq!(metadata, "metadata has 4097 bytes; it must have 0 to 4096");
}

#[tokio::test]
async fn a_caller_may_run_the_driver() {
    let (candidate, driver) =
        Candidate::builder(Memory::new(), "job").config(steady()).build().unwrap();
    let driving = tokio::spawn(driver.run());
    soon(candidate.elected()).await.unwrap();
    driving.abort();
    let _ = driving.await;
    assert_eq!(soon(candidate.stop()).await, Err(StopError::DriverGone));
    assert!(!candidate.is_leader());
}
