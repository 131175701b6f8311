//! Work that ends with an error under its tenure: another process gets the lead, and the work is
//! tried again.

use std::error::Error;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tenure::store::Memory;
use tenure::{Candidate, Elections, Event, Role, StepDownReason, Stopped, Tenure};

use super::moved_clock::Clock;
use super::support::{long, soon, start, steady};

const HOLD_OFF: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_nanos(1);

async fn reason(events: &mut (impl futures_util::Stream<Item = Event> + Unpin)) -> StepDownReason {
    loop {
        if let Event::SteppedDown { reason, .. } = soon(events.next()).await.unwrap() {
            return reason;
        }
    }
}

fn without_hold_off(store: &Memory) -> Candidate {
    let builder = Candidate::builder(store.clone(), "job").config(steady());
    builder.hold_off(Duration::ZERO).start().unwrap()
}

#[tokio::test]
async fn failed_work_hands_over_and_runs_again() {
    let (clock, store) = (Clock::new(), Memory::new());
    let config = long();
    let elections = Elections::with_runtime(store.clone(), Arc::new(clock.clone()));
    let builder = elections.candidate("job").config(config).hold_off(HOLD_OFF);
    let candidate = builder.start().unwrap();
    let mut events = candidate.events();
    let (works, begun) = (candidate.clone(), Arc::new(AtomicU32::new(0)));
    let runs = Arc::clone(&begun);
    // The error need not be `Send`, though the task is.
    let task = tokio::spawn(async move {
        let work = async |tenure: Tenure| -> Result<_, Box<dyn Error>> {
            if runs.fetch_add(1, SeqCst) == 0 {
                return Err("the database is full".into());
            }
            Ok(tenure.token())
        };
        works.try_run_while_leader(work).await
    });
    assert_eq!(reason(&mut events).await, StepDownReason::WorkFailed);
    assert!(!candidate.is_leader());
    let second = Candidate::builder(store.clone(), "job").config(config).start().unwrap();
    let other = soon(second.elected()).await.unwrap().token();
    soon(second.stop()).await.unwrap();

    let settle = async || {
        for _ in 0..3 {
            soon(candidate.incumbent()).await.unwrap();
        }
    };
    settle().await;
    clock.advance(HOLD_OFF.saturating_sub(TICK));
    settle().await;
    assert_eq!(candidate.health().role, Role::HoldingOff);
    assert_eq!(begun.load(SeqCst), 1);
    clock.advance(TICK + HOLD_OFF);
    let token = soon(task).await.unwrap().unwrap();
    assert!(token > other);
    assert!(candidate.is_leader(), "work that is done does not cost the lead");
}

#[tokio::test]
async fn a_tenure_is_tried_once() {
    // Of a lease that lasts however slow the machine is.
    let (candidate, driver) =
        Candidate::builder(Memory::new(), "job").config(long()).build().unwrap();
    let begun = AtomicU32::new(0);
    let work = async |_| {
        begun.fetch_add(1, SeqCst);
        Err::<(), _>("no")
    };
    let mut working = Box::pin(candidate.try_run_while_leader(work));
    let mut driver = Box::pin(driver.run());
    for _ in 0..10 {
        assert!(driver.as_mut().now_or_never().is_none());
    }
    assert!(candidate.is_leader());
    // The driver does not learn of the failure meanwhile.
    for _ in 0..10 {
        assert!(working.as_mut().now_or_never().is_none());
    }
    assert_eq!(begun.load(SeqCst), 1);
    assert!(driver.as_mut().now_or_never().is_none());
    assert!(!candidate.is_leader());
}

#[tokio::test]
async fn errors_do_not_end_a_program() {
    let candidate = without_hold_off(&Memory::new());
    let begun = AtomicU32::new(0);
    let work = async |_| match begun.fetch_add(1, SeqCst) {
        0 | 1 => Err("not yet"),
        _ => Ok(7),
    };
    assert_eq!(soon(candidate.try_run_until(pending(), work)).await, Ok(Some(7)));
    assert_eq!(begun.load(SeqCst), 3);
    assert!(matches!(soon(candidate.elected()).await, Err(Stopped)));
}

#[tokio::test]
async fn a_shutdown_ends_failing_work() {
    let candidate = start(&Memory::new(), "only");
    let begun = AtomicU32::new(0);
    let work = async |_| {
        begun.fetch_add(1, SeqCst);
        Err::<(), _>("never")
    };
    let shutdown = tokio::time::sleep(Duration::from_millis(50));
    assert_eq!(soon(candidate.try_run_until(shutdown, work)).await, Ok(None));
    assert!(begun.load(SeqCst) >= 1);
    assert!(matches!(soon(candidate.elected()).await, Err(Stopped)));
}

/// It would wait for other work otherwise.
#[tokio::test]
async fn a_candidate_that_needs_no_work_returns_after_failed_work() {
    let builder = Candidate::builder(Memory::new(), "job").config(steady());
    let candidate = builder.hold_off(Duration::ZERO).keep_lead_without_work(true).start().unwrap();
    let mut events = candidate.events();
    let works = candidate.clone();
    let work = async |_| Err::<(), _>("no");
    let task = tokio::spawn(async move { works.try_run_while_leader(work).await });
    assert_eq!(reason(&mut events).await, StepDownReason::WorkFailed);
    task.abort();
    let _ = task.await;
    soon(candidate.elected()).await.unwrap();
}

/// A fence refuses work whose tenure is over; that is no failure.
#[tokio::test]
async fn an_error_after_the_tenure_is_no_failure() {
    let candidate = without_hold_off(&Memory::new());
    let mut events = candidate.events();
    let begun = AtomicU32::new(0);
    let work = async |tenure: Tenure| {
        if begun.fetch_add(1, SeqCst) == 0 {
            let _ = candidate.resign().now_or_never();
            tenure.ended().await;
            Err("refused")
        } else {
            Ok(())
        }
    };
    soon(candidate.try_run_while_leader(work)).await.unwrap();
    assert_eq!(reason(&mut events).await, StepDownReason::Resigned);
}
