//! All futures and streams that wait end with their candidate or driver.

use futures_util::StreamExt;
use futures_util::stream::FusedStream;
use tenure::store::Memory;
use tenure::{Candidate, Event, StartError, StopError, Stopped};

use super::support::{quick, soon, start};

#[tokio::test]
async fn events_end_after_a_stop() {
    let candidate = start(&Memory::new(), "only");
    let events = candidate.events();
    soon(candidate.elected()).await.unwrap();
    soon(candidate.stop()).await.unwrap();
    let all: Vec<_> = soon(events.collect()).await;
    assert!(matches!(all.last(), Some(Event::Stopped)), "{all:?}");
    assert_eq!(soon(candidate.events().count()).await, 0, "nothing follows");
}

#[tokio::test]
async fn streams_may_be_polled_after_their_end() {
    let candidate = start(&Memory::new(), "only");
    let mut events = candidate.events();
    let mut inbox = soon(candidate.elected()).await.unwrap().inbox();
    soon(candidate.stop()).await.unwrap();
    while soon(events.next()).await.is_some() {}
    while soon(inbox.next()).await.is_some() {}
    // As a `select!` in a loop does, which waits for something else too.
    for _ in 0..2 {
        assert!(soon(events.next()).await.is_none() && events.is_terminated());
        assert!(soon(inbox.next()).await.is_none() && inbox.is_terminated());
    }
}

#[tokio::test]
async fn all_futures_end_with_the_driver() {
    let (candidate, driver) =
        Candidate::builder(Memory::new(), "job").config(quick()).build().unwrap();
    let events = candidate.events();
    let driving = tokio::spawn(driver.run());
    let tenure = soon(candidate.elected()).await.unwrap();
    let inbox = tenure.inbox();
    driving.abort();
    let _ = driving.await;
    assert!(!candidate.is_leader() && !tenure.is_current());
    assert!(matches!(soon(candidate.elected()).await, Err(Stopped)));
    assert!(!soon(events.collect::<Vec<_>>()).await.is_empty());
    assert_eq!(soon(inbox.count()).await, 0);
    assert!(
        soon(candidate.incumbent()).await.is_err(),
        "which does not mean that no candidate leads"
    );
    assert_eq!(soon(candidate.stop()).await, Err(StopError::DriverGone));
    assert!(matches!(soon(candidate.run_while_leader(async |_| ())).await, Err(Stopped)));
}

#[tokio::test]
async fn a_driver_that_never_ran_ends_its_candidates() {
    let (candidate, driver) =
        Candidate::builder(Memory::new(), "job").config(quick()).build().unwrap();
    let events = candidate.events();
    drop(driver);
    assert!(matches!(soon(candidate.elected()).await, Err(Stopped)));
    assert_eq!(soon(events.count()).await, 0);
    assert_eq!(soon(candidate.stop()).await, Err(StopError::DriverGone));
    assert!(matches!(soon(candidate.elected()).await, Err(Stopped)), "after stop() too");
}

#[test]
fn unfit_runtimes_are_refused_at_start() {
    let refused = |builder: &mut tokio::runtime::Builder| {
        let runtime = builder.build().unwrap();
        let start = async { Candidate::builder(Memory::new(), "job").start() };
        match runtime.block_on(start) {
            Err(StartError::NoRuntime(why)) => why.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let builder = tokio::runtime::Builder::new_current_thread;
    assert!(refused(&mut builder()).contains("has no timers"));
    assert!(refused(builder().enable_io()).contains("has no timers"));
    assert!(refused(builder().enable_time()).contains("has no I/O"));
}
