//! Work that is silent gives the lead up.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::Memory;
use tenure::{Candidate, Config, Elections, Event, Role, StepDownReason, Tenure};
use tokio::sync::Notify;

use super::moved_clock::Clock;
use super::support::soon;

const BOUND: Duration = Duration::from_secs(5);
const HOLD_OFF: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_nanos(1);

/// Longer than any test: a successor within the test's bound shows a release.
fn long() -> Config {
    Config::builder(Duration::from_secs(60)).build().unwrap()
}

/// A leader with a clock that the test moves.
struct Leading {
    clock: Clock,
    store: Memory,
    candidate: Candidate,
    tenure: Tenure,
}

impl Leading {
    async fn new() -> Self {
        let (clock, store) = (Clock::new(), Memory::new());
        let elections = Elections::with_runtime(store.clone(), Arc::new(clock.clone()));
        let builder = elections.candidate("job").config(long()).hold_off(HOLD_OFF);
        let candidate = builder.start().unwrap();
        let tenure = soon(candidate.elected()).await.unwrap();
        Self { clock, store, candidate, tenure }
    }

    /// Moves the clock, until the driver has done what is due.
    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.settle().await;
    }

    async fn settle(&self) {
        // The driver carries a question out after its commands, and then looks at its timers.
        for _ in 0..3 {
            soon(self.candidate.incumbent()).await.unwrap();
        }
    }

    fn successor(&self) -> Candidate {
        let builder = Candidate::builder(self.store.clone(), "job").name("second");
        builder.config(long()).start().unwrap()
    }
}

/// The reason of the next end of a tenure.
async fn reason(events: &mut (impl futures_util::Stream<Item = Event> + Unpin)) -> StepDownReason {
    loop {
        if let Event::SteppedDown { reason, .. } = soon(events.next()).await.unwrap() {
            return reason;
        }
    }
}

#[tokio::test]
async fn signs_of_life_keep_the_lead() {
    let leading = Leading::new().await;
    let watchdog = leading.tenure.watchdog(BOUND);
    for _ in 0..20 {
        leading.advance(BOUND.saturating_sub(TICK)).await;
        watchdog.alive();
    }
    assert!(leading.tenure.is_current());
}

/// The bound counts from the last one, however soon it comes after the one before it.
#[tokio::test]
async fn each_sign_of_life_counts() {
    let leading = Leading::new().await;
    let watchdog = leading.tenure.watchdog(BOUND);
    for pause in [BOUND / 2, BOUND / 4, TICK] {
        leading.advance(pause).await;
        watchdog.alive();
    }
    leading.advance(BOUND.saturating_sub(TICK)).await;
    assert!(leading.tenure.is_current(), "1 ns is left");
    leading.advance(TICK).await;
    assert!(!leading.tenure.is_current());
}

#[tokio::test]
async fn silent_work_gives_the_lead_up() {
    let leading = Leading::new().await;
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
    assert!(leading.tenure.is_current(), "not yet");
    leading.advance(TICK).await;
    assert_eq!(reason(&mut events).await, StepDownReason::Unresponsive);
    assert!(!leading.tenure.is_current() && !leading.candidate.is_leader());

    let incumbent = soon(leading.candidate.incumbent()).await.unwrap();
    assert_eq!(incumbent.unwrap().token, leading.tenure.token(), "its work still runs");
    let second = leading.successor();
    cleaned_up.notify_one();
    soon(second.elected()).await.unwrap();
    soon(second.stop()).await.unwrap();

    leading.advance(HOLD_OFF.saturating_sub(TICK)).await;
    assert_eq!(leading.candidate.health().role, Role::HoldingOff);
    assert!(soon(leading.candidate.incumbent()).await.unwrap().is_none());
    leading.clock.advance(TICK);
    let next = soon(leading.candidate.elected()).await.unwrap();
    assert!(next.token() > leading.tenure.token());
    soon(begun.notified()).await;
    assert!(!work.is_finished(), "the work runs again");
    work.abort();
}

#[tokio::test]
async fn dropped_watchdogs_watch_nothing() {
    let leading = Leading::new().await;
    drop(leading.tenure.watchdog(BOUND));
    let watchdog = leading.tenure.watchdog(BOUND);
    leading.advance(BOUND / 2).await;
    drop(watchdog);
    for _ in 0..4 {
        leading.advance(BOUND).await;
    }
    assert!(leading.tenure.is_current());
}

#[tokio::test]
async fn the_first_overdue_watchdog_ends_the_tenure() {
    let leading = Leading::new().await;
    let mut events = Box::pin(leading.candidate.events());
    let lively = leading.tenure.watchdog(BOUND);
    let ended = leading.tenure.watchdog(BOUND * 2);
    let _silent = leading.tenure.watchdog(BOUND * 3);
    leading.advance(BOUND.saturating_sub(TICK)).await;
    lively.alive();
    drop(ended);
    for _ in 0..4 {
        leading.advance(BOUND / 2).await;
        lively.alive();
    }
    assert!(leading.tenure.is_current(), "the silent one has 1 ns left");
    leading.advance(TICK).await;
    assert_eq!(reason(&mut events).await, StepDownReason::Unresponsive);
    assert!(!leading.tenure.is_current());
}

#[tokio::test]
async fn watchdogs_of_ended_tenures_do_nothing() {
    let leading = Leading::new().await;
    let watchdog = leading.tenure.watchdog(BOUND);
    soon(leading.candidate.resign()).await.unwrap();
    leading.advance(HOLD_OFF).await;
    let next = soon(leading.candidate.elected()).await.unwrap();
    let late = leading.tenure.watchdog(Duration::ZERO);
    leading.advance(BOUND * 2).await;
    assert!(next.is_current());
    drop((watchdog, late));
}
