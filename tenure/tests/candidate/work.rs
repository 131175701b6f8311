//! Leader-only work: what counts as done, and what its loss means.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tenure::store::Memory;
use tenure::{Candidate, Event, StepDownReason, Stopped, Tenure};

use super::support::{Remote, brief, long, soon, start, steady};

async fn until_it_ends(tenure: Tenure) {
    while tenure.is_current() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn work_cut_off_runs_again() {
    let store = Remote::default();
    let candidate = Candidate::builder(store.clone(), "job").config(brief()).start().unwrap();
    let begun = AtomicU32::new(0);
    let work = async |tenure: Tenure| {
        if begun.fetch_add(1, Ordering::SeqCst) == 0 {
            store.cut();
            // It ends while it drains, like the README's work.
            until_it_ends(tenure).await;
            store.heal();
            Err("the report is half written")
        } else {
            Ok(tenure.token())
        }
    };
    let done = soon(candidate.run_while_leader(work)).await.unwrap();
    assert_eq!(done.unwrap(), candidate.tenure().unwrap().token());
    assert_eq!(begun.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn work_that_ends_late_yields_none() {
    let store = Memory::new();
    let candidate = start(&store, "only");
    soon(candidate.elected()).await.unwrap();
    assert_eq!(soon(candidate.run_if_leader(async |_| 7)).await, Some(7));
    let late = candidate.run_if_leader(async |tenure| {
        // It resigns without waiting for that: the resignation waits for the work.
        let _ = candidate.resign().now_or_never();
        until_it_ends(tenure).await;
        7
    });
    assert_eq!(soon(late).await, None);
}

/// The part of a closure before its future is work as well: the lease is not handed back while it
/// runs, and the future that it made is polled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closure_is_work_before_its_future() {
    let candidate = Candidate::builder(Memory::new(), "job").config(steady()).start().unwrap();
    let (polls, early) = (&AtomicU32::new(0), AtomicU32::new(0));
    let prepare = |_: Tenure| {
        let (resigns, (resigned, answer)) = (candidate.clone(), std::sync::mpsc::channel());
        tokio::spawn(async move {
            resigns.resign().await.unwrap();
            let _ = resigned.send(());
        });
        // A resignation that did not wait for this would have ended long before.
        let is_early = answer.recv_timeout(Duration::from_millis(500)).is_ok();
        early.fetch_add(is_early.into(), Ordering::SeqCst);
        async move { polls.fetch_add(1, Ordering::SeqCst) }
    };
    soon(candidate.elected()).await.unwrap();
    assert_eq!(soon(candidate.run_if_leader(prepare)).await, None);
    assert_eq!([polls, &early].map(|count| count.load(Ordering::SeqCst)), [1, 0]);
}

#[tokio::test]
async fn a_resignation_undoes_no_stop() {
    let candidate = Candidate::builder(Memory::new(), "job").hold_off(Duration::ZERO);
    let candidate = candidate.config(steady()).start().unwrap();
    let mut events = candidate.events();
    let work = async |tenure: Tenure| {
        // Both wait for the work.
        let _ = candidate.stop().now_or_never();
        let _ = candidate.resign().now_or_never();
        until_it_ends(tenure).await;
    };
    assert!(soon(candidate.run_while_leader(work)).await.is_err());
    soon(candidate.stop()).await.unwrap();
    let mut elected = 0;
    while let Some(event) = soon(events.next()).await {
        elected += u32::from(matches!(event, Event::Elected(_)));
    }
    assert_eq!(elected, 1);
}

#[tokio::test]
async fn work_that_stops_its_candidate_is_not_done() {
    let candidate = start(&Memory::new(), "only");
    let work = async |_: Tenure| {
        // It stops its candidate without waiting for that.
        let _ = candidate.stop().now_or_never();
    };
    assert_eq!(soon(candidate.run_while_leader(work)).await, Err(Stopped));
}

/// The reason of the next step down.
async fn stepped_down(
    events: &mut (impl futures_util::Stream<Item = Event> + Unpin),
) -> StepDownReason {
    loop {
        if let Event::SteppedDown { reason, .. } = soon(events.next()).await.unwrap() {
            return reason;
        }
    }
}

#[tokio::test]
async fn dropped_work_resigns_until_work_is_offered() {
    let store = Memory::new();
    let builder = Candidate::builder(store.clone(), "job").config(steady());
    let first = builder.hold_off(Duration::from_millis(10)).start().unwrap();
    let mut events = Box::pin(first.events());
    let tenure = soon(first.elected()).await.unwrap();
    tokio::select! {
        biased;
        _ = first.run_while_leader(|_| std::future::pending::<()>()) => unreachable!("never ends"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(stepped_down(&mut events).await, StepDownReason::WorkLost);
    assert!(!tenure.is_current() && !first.is_leader());
    // Far longer than its hold-off: without work it does not campaign.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(first.incumbent().await.unwrap().is_none());
    let second = start(&store, "second");
    soon(second.elected()).await.unwrap();
    soon(second.stop()).await.unwrap();

    let token = soon(first.run_while_leader(async |tenure| tenure.token())).await.unwrap();
    assert!(token > tenure.token());
    assert!(first.is_leader(), "work that has ended does not cost the lead");
}

#[tokio::test]
async fn panicked_work_resigns() {
    let first = start(&Memory::new(), "only");
    let mut events = Box::pin(first.events());
    let work = first.run_until(std::future::pending(), async |_| panic!("a bug of the work"));
    assert!(soon(tokio::spawn(work)).await.unwrap_err().is_panic());
    assert_eq!(stepped_down(&mut events).await, StepDownReason::WorkLost);
}

#[tokio::test]
async fn lead_is_kept_without_work_on_request() {
    let builder = Candidate::builder(Memory::new(), "job").config(steady());
    let candidate = builder.keep_lead_without_work(true).start().unwrap();
    let tenure = soon(candidate.elected()).await.unwrap();
    drop(Box::pin(candidate.run_while_leader(|_| std::future::pending::<()>())));
    let work = candidate.run_while_leader(|_| std::future::pending::<()>());
    assert!(tokio::time::timeout(Duration::from_millis(50), work).await.is_err());
    // An observation goes through the driver, after the command of the drop.
    assert!(candidate.incumbent().await.unwrap().is_some());
    assert!(tenure.is_current());
}

#[tokio::test]
async fn dropped_run_if_leader_keeps_the_lead() {
    let candidate = start(&Memory::new(), "only");
    let tenure = soon(candidate.elected()).await.unwrap();
    let work = candidate.run_if_leader(|_| std::future::pending::<()>());
    assert!(tokio::time::timeout(Duration::from_millis(50), work).await.is_err());
    assert!(candidate.incumbent().await.unwrap().is_some());
    assert!(tenure.is_current());
}

#[tokio::test]
async fn run_until_polls_the_work_to_its_end() {
    let store = Memory::new();
    // The test would fail if the stop waited for work that is not polled.
    let first = Candidate::builder(store.clone(), "job").config(long()).start().unwrap();
    let tenure = soon(first.elected()).await.unwrap();
    let tidied = AtomicU32::new(0);
    let work = async |tenure: Tenure| {
        tenure.cancellation_token().cancelled().await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        tidied.fetch_add(1, Ordering::SeqCst);
    };
    let shutdown = tokio::time::sleep(Duration::from_millis(20));
    assert_eq!(soon(first.run_until(shutdown, work)).await, Ok(None));
    assert_eq!(tidied.load(Ordering::SeqCst), 1);
    // With the same settings: other settings would contradict the record.
    let second = Candidate::builder(store, "job").config(long()).start().unwrap();
    assert!(soon(second.elected()).await.unwrap().token() > tenure.token());
}

#[tokio::test]
async fn run_until_stops_after_finished_work() {
    let first = start(&Memory::new(), "only");
    let done = soon(first.run_until(std::future::pending(), async |_| 7)).await;
    assert_eq!(done, Ok(Some(7)));
    assert!(matches!(soon(first.elected()).await, Err(Stopped)));
}

#[tokio::test]
async fn run_until_ends_when_stopped_elsewhere() {
    let first = start(&Memory::new(), "only");
    let stop = async {
        soon(first.elected()).await.unwrap();
        first.stop().await
    };
    let (ran, stopped) =
        soon(async { tokio::join!(first.run_until(std::future::pending(), until_it_ends), stop) })
            .await;
    assert_eq!((ran, stopped), (Ok(None), Ok(())));
}
