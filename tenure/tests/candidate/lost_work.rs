//! Candidates whose offered work is lost leave the election: a leader without work would be a
//! zombie.

use std::future::pending;
use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};
use tenure::store::Memory;
use tenure::{Candidate, Event, Role, StepDownReason, Tenure};
use tokio::sync::Notify;

use super::process::{HOLD_OFF, Process, TICK, long, reason};
use super::support::soon;

/// A candidate that waits while the other one leads.
async fn waiting(keeps_lead: bool) -> (Process, Candidate) {
    let store = Memory::new();
    let leader = Candidate::builder(store.clone(), "job").config(long()).start().unwrap();
    soon(leader.elected()).await.unwrap();
    (Process::of(&store, keeps_lead), leader)
}

impl Process {
    /// Work that ends with its tenure, and so is never done.
    fn offer(&self) -> impl Future<Output = ()> + Unpin + use<> {
        let work = async |tenure: Tenure| tenure.ended().await;
        Box::pin(self.candidate.run_while_leader(work).map(drop))
    }

    /// It stays out of the election, though the lease is vacant and its hold-off over.
    async fn is_out(&self) {
        for _ in 0..10 {
            self.advance(HOLD_OFF).await;
        }
        assert_eq!(self.candidate.health().role, Role::HoldingOff);
        assert!(soon(self.candidate.incumbent()).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn work_dropped_while_it_waits_is_not_led_for() {
    let (process, leader) = waiting(false).await;
    process.settle().await;
    let mut offer = process.offer();
    assert!(offer.poll_unpin(&mut noop()).is_pending());
    drop(offer);
    process.settle().await;
    soon(leader.stop()).await.unwrap();
    process.is_out().await;
    // It had given nothing up, so it does not hold off.
    let token = process.candidate.run_while_leader(async |tenure| tenure.token());
    soon(token).await.unwrap();
}

fn noop() -> std::task::Context<'static> {
    std::task::Context::from_waker(std::task::Waker::noop())
}

#[tokio::test]
async fn a_panic_while_work_waits_is_a_loss() {
    let (process, leader) = waiting(false).await;
    let candidate = process.candidate.clone();
    let task = tokio::spawn(async move {
        tokio::select! {
            biased;
            _ = candidate.run_while_leader(|_| pending::<()>()) => {}
            () = tokio::task::yield_now() => panic!("beside the work"),
        }
    });
    assert!(soon(task).await.unwrap_err().is_panic());
    process.settle().await;
    soon(leader.stop()).await.unwrap();
    process.is_out().await;
}

#[tokio::test]
async fn work_dropped_before_it_has_begun_resigns() {
    let process = Process::new();
    let mut events = process.candidate.events();
    let mut offer = process.offer();
    assert!(offer.poll_unpin(&mut noop()).is_pending());
    // The candidate leads, and the offer is not polled.
    let tenure = soon(process.candidate.elected()).await.unwrap();
    drop(offer);
    assert_eq!(reason(&mut events).await, StepDownReason::WorkLost);
    assert!(!tenure.is_current());
    soon(process.other().elected()).await.unwrap();
}

/// Work that resigns, then drains until the test lets it end.
async fn resigned(process: &Process, end: Arc<Notify>) -> impl Future<Output = ()> + Unpin + use<> {
    let (candidate, begun) = (process.candidate.clone(), Arc::new(Notify::new()));
    let (resigns, begins) = (candidate.clone(), Arc::clone(&begun));
    let work = move |tenure: Tenure| {
        let (resigns, begins, end) = (resigns.clone(), Arc::clone(&begins), Arc::clone(&end));
        async move {
            let _ = resigns.resign().now_or_never();
            begins.notify_one();
            tenure.ended().await;
            end.notified().await;
        }
    };
    let mut offer = Box::pin(candidate.run_while_leader(work).map(drop));
    tokio::select! {
        biased;
        () = &mut offer => unreachable!("it ends after its tenure"),
        () = soon(begun.notified()) => {}
    }
    process.settle().await;
    offer
}

#[tokio::test]
async fn work_dropped_after_its_tenure_is_not_led_for() {
    let process = Process::new();
    let offer = resigned(&process, Arc::default()).await;
    assert!(!process.candidate.is_leader());
    drop(offer);
    process.is_out().await;
}

#[tokio::test]
async fn work_dropped_between_tenures_is_not_led_for() {
    let process = Process::new();
    let end = Arc::<Notify>::default();
    let mut offer = resigned(&process, Arc::clone(&end)).await;
    end.notify_one();
    assert!(offer.poll_unpin(&mut noop()).is_pending(), "it waits for the next tenure");
    process.settle().await;
    drop(offer);
    process.settle().await;
    assert!(process.candidate.incumbent().await.unwrap().is_none(), "the lease was handed back");
    // Work that is offered again does not end the hold-off.
    let mut offer = process.offer();
    assert!(offer.poll_unpin(&mut noop()).is_pending());
    process.advance(HOLD_OFF.saturating_sub(TICK)).await;
    assert_eq!(process.candidate.health().role, Role::HoldingOff);
    process.clock.advance(TICK);
    let tenure = soon(process.candidate.elected()).await.unwrap();
    drop(offer);
    soon(tenure.ended()).await;
    process.is_out().await;
}

/// Other candidates lead meanwhile, also if work is offered again at once.
async fn holds_off(process: &Process, tenure: &Tenure) {
    // Until the tenure is over: work that is offered before that begins under it, and would have to
    // end first.
    process.settle().await;
    let mut again = process.offer();
    assert!(again.poll_unpin(&mut noop()).is_pending());
    soon(async {
        while process.candidate.incumbent().await.unwrap().is_some() {
            process.settle().await;
        }
    })
    .await;
    assert!(!tenure.is_current(), "the lease was handed back");
    process.advance(HOLD_OFF.saturating_sub(TICK)).await;
    assert_eq!(process.candidate.health().role, Role::HoldingOff);
    process.clock.advance(TICK);
    let next = soon(process.candidate.elected()).await.unwrap();
    assert!(next.token() > tenure.token());
}

#[tokio::test]
async fn dropped_work_holds_off() {
    let process = Process::new();
    let mut offer = process.offer();
    assert!(offer.poll_unpin(&mut noop()).is_pending());
    let tenure = soon(process.candidate.elected()).await.unwrap();
    assert!(offer.poll_unpin(&mut noop()).is_pending(), "it works");
    drop(offer);
    holds_off(&process, &tenure).await;
}

#[tokio::test]
async fn work_that_panics_holds_off() {
    let process = Process::new();
    let candidate = process.candidate.clone();
    let panics = async move {
        let work = |_| async { panic!("on purpose") };
        candidate.run_while_leader(work).await
    };
    let mut events = process.candidate.events();
    assert!(soon(tokio::spawn(panics)).await.unwrap_err().is_panic());
    let tenure = loop {
        if let Event::Elected(tenure) = soon(events.next()).await.unwrap() {
            break tenure;
        }
    };
    holds_off(&process, &tenure).await;
}

#[tokio::test]
async fn the_last_of_several_offers_decides() {
    let (process, leader) = waiting(false).await;
    let mut offers = [process.offer(), process.offer(), process.offer()];
    for offer in &mut offers {
        assert!(offer.poll_unpin(&mut noop()).is_pending());
    }
    let [waiting, mut failing, mut last] = offers;
    drop(waiting);
    process.settle().await;
    soon(leader.stop()).await.unwrap();
    process.clock.advance(long().ttl());
    let tenure = soon(process.candidate.elected()).await.unwrap();
    // Both work now, and the loss of one ends the tenure: another process would do both.
    assert!(failing.poll_unpin(&mut noop()).is_pending());
    assert!(last.poll_unpin(&mut noop()).is_pending());
    drop(failing);
    process.settle().await;
    assert!(!tenure.is_current());
    assert!(last.poll_unpin(&mut noop()).is_pending());
    process.settle().await;
    process.clock.advance(HOLD_OFF);
    soon(process.candidate.elected()).await.expect("other work is still offered");
    drop(last);
    process.settle().await;
    process.is_out().await;
}

#[tokio::test]
async fn all_losses_are_ignored_on_request() {
    let (process, leader) = waiting(true).await;
    let mut offer = process.offer();
    assert!(offer.poll_unpin(&mut noop()).is_pending());
    drop(offer);
    process.settle().await;
    soon(leader.stop()).await.unwrap();
    process.clock.advance(long().ttl());
    soon(process.candidate.elected()).await.unwrap();
}

/// A runtime that ends drops the work and the driver, in any order.
#[test]
fn work_may_be_dropped_with_its_runtime() {
    for _ in 0..20 {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build();
        let runtime = runtime.unwrap();
        let candidate = runtime.block_on(async {
            let candidate =
                Candidate::builder(Memory::new(), "job").config(long()).start().unwrap();
            let begun = Arc::new(Notify::new());
            for _ in 0..3 {
                let (works, begins) = (candidate.clone(), Arc::clone(&begun));
                tokio::spawn(async move {
                    let work = |_| {
                        begins.notify_one();
                        pending::<()>()
                    };
                    works.run_while_leader(work).await
                });
            }
            soon(begun.notified()).await;
            candidate
        });
        drop(runtime);
        assert!(!candidate.is_leader());
        assert_eq!(candidate.health().role, Role::DriverGone);
    }
}
