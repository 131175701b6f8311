//! Work that is silent gives the lead up.

use std::sync::Arc;
use std::time::Duration;

use tenure::{Role, StepDownReason, Tenure};
use tokio::sync::Notify;

use super::process::{HOLD_OFF, Process, TICK, reason};
use super::support::soon;

const BOUND: Duration = Duration::from_secs(5);

async fn leading() -> (Process, Tenure) {
    let process = Process::new();
    let tenure = soon(process.candidate.elected()).await.unwrap();
    (process, tenure)
}

#[tokio::test]
async fn signs_of_life_keep_the_lead() {
    let (leading, tenure) = leading().await;
    let watchdog = tenure.watchdog(BOUND);
    for _ in 0..20 {
        leading.advance(BOUND.saturating_sub(TICK)).await;
        watchdog.alive();
    }
    assert!(tenure.is_current());
}

/// The bound counts from the last one, however soon it comes after the one before it.
#[tokio::test]
async fn each_sign_of_life_counts() {
    let (leading, tenure) = leading().await;
    let watchdog = tenure.watchdog(BOUND);
    for pause in [BOUND / 2, BOUND / 4, TICK] {
        leading.advance(pause).await;
        watchdog.alive();
    }
    leading.advance(BOUND.saturating_sub(TICK)).await;
    assert!(tenure.is_current(), "1 ns is left");
    leading.advance(TICK).await;
    assert!(!tenure.is_current());
}

#[tokio::test]
async fn silent_work_gives_the_lead_up() {
    let (leading, tenure) = leading().await;
    let mut events = Box::pin(leading.candidate.events());
    let candidate = leading.candidate.clone();
    let (begun, cleaned_up) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, may_end) = (Arc::clone(&begun), Arc::clone(&cleaned_up));
    let work = tokio::spawn(async move {
        let work = async |tenure: Tenure| {
            let _watchdog = tenure.watchdog(BOUND);
            begins.notify_one();
            tenure.cancellation_token().cancelled().await;
            may_end.notified().await;
        };
        candidate.run_while_leader(work).await
    });
    soon(begun.notified()).await;
    leading.advance(BOUND.saturating_sub(TICK)).await;
    assert!(tenure.is_current(), "not yet");
    leading.advance(TICK).await;
    assert_eq!(reason(&mut events).await, StepDownReason::Unresponsive);
    assert!(!tenure.is_current() && !leading.candidate.is_leader());

    let incumbent = soon(leading.candidate.incumbent()).await.unwrap();
    assert_eq!(incumbent.unwrap().token, tenure.token(), "its work still runs");
    let second = leading.other();
    cleaned_up.notify_one();
    soon(second.elected()).await.unwrap();
    soon(second.stop()).await.unwrap();

    leading.advance(HOLD_OFF.saturating_sub(TICK)).await;
    assert_eq!(leading.candidate.health().role, Role::HoldingOff);
    assert!(soon(leading.candidate.incumbent()).await.unwrap().is_none());
    leading.clock.advance(TICK);
    let next = soon(leading.candidate.elected()).await.unwrap();
    assert!(next.token() > tenure.token());
    soon(begun.notified()).await;
    assert!(!work.is_finished(), "the work runs again");
    work.abort();
}

#[tokio::test]
async fn dropped_watchdogs_watch_nothing() {
    let (leading, tenure) = leading().await;
    drop(tenure.watchdog(BOUND));
    let watchdog = tenure.watchdog(BOUND);
    leading.advance(BOUND / 2).await;
    drop(watchdog);
    for _ in 0..4 {
        leading.advance(BOUND).await;
    }
    assert!(tenure.is_current());
}

#[tokio::test]
async fn the_first_overdue_watchdog_ends_the_tenure() {
    let (leading, tenure) = leading().await;
    let mut events = Box::pin(leading.candidate.events());
    let lively = tenure.watchdog(BOUND);
    let ended = tenure.watchdog(BOUND * 2);
    let _silent = tenure.watchdog(BOUND * 3);
    leading.advance(BOUND.saturating_sub(TICK)).await;
    lively.alive();
    drop(ended);
    for _ in 0..4 {
        leading.advance(BOUND / 2).await;
        lively.alive();
    }
    assert!(tenure.is_current(), "the silent one has 1 ns left");
    leading.advance(TICK).await;
    assert_eq!(reason(&mut events).await, StepDownReason::Unresponsive);
    assert!(!tenure.is_current());
}

#[tokio::test]
async fn watchdogs_of_ended_tenures_do_nothing() {
    let (leading, tenure) = leading().await;
    let watchdog = tenure.watchdog(BOUND);
    soon(leading.candidate.resign()).await.unwrap();
    leading.advance(HOLD_OFF).await;
    let next = soon(leading.candidate.elected()).await.unwrap();
    let late = tenure.watchdog(Duration::ZERO);
    leading.advance(BOUND * 2).await;
    assert!(next.is_current());
    drop((watchdog, late));
}
