//! Services of different shapes that must write only while they lead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use futures_util::StreamExt;
use tenure::testing::World;
use tenure::{Candidate, Event, Tenure};
use tokio::time::sleep;

use super::support::{SECOND, ttl};

type Pages = Arc<AtomicU32>;

/// Cuts a service off from its store, and back.
async fn check(service: impl FnOnce(Candidate, Pages)) {
    let world = World::new().unwrap();
    let process = world.process();
    let pages = Pages::default();
    service(process.candidate("pages").start().unwrap(), Arc::clone(&pages));
    let written = || pages.load(Ordering::SeqCst);
    world.advance(10 * SECOND).await;
    assert!((9..=10).contains(&written()), "{}", written());
    process.cut();
    world.advance(ttl()).await;
    let before = written();
    assert!(before > 10, "a lease outlives its last renewal");
    world.advance(60 * SECOND).await;
    assert_eq!(written(), before, "no page without the lead");
    process.heal();
    world.advance(ttl()).await;
    assert!(written() > before);
}

/// Leader-only work.
fn at_work(candidate: Candidate, pages: Pages) {
    tokio::spawn(async move {
        let work = async |tenure: Tenure| {
            while tenure.is_current() {
                sleep(SECOND).await;
                pages.fetch_add(1, Ordering::SeqCst);
            }
        };
        candidate.run_while_leader(work).await
    });
}

/// A timer that asks whether the candidate leads.
fn asking(candidate: Candidate, pages: Pages) {
    tokio::spawn(async move {
        loop {
            sleep(SECOND).await;
            if candidate.is_leader() {
                pages.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
}

/// Writes while the flag is up.
fn write_while(flag: Arc<AtomicBool>, pages: Pages) {
    tokio::spawn(async move {
        loop {
            sleep(SECOND).await;
            if flag.load(Ordering::SeqCst) {
                pages.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
}

/// A flag that callbacks raise and lower.
fn called_back(candidate: Candidate, pages: Pages) {
    let leads = Arc::new(AtomicBool::new(false));
    let (raise, lower) = (Arc::clone(&leads), Arc::clone(&leads));
    candidate.on_elected(move |_| {
        raise.store(true, Ordering::SeqCst);
        async {}
    });
    candidate.on_stepped_down(move |_, _| {
        lower.store(false, Ordering::SeqCst);
        async {}
    });
    write_while(leads, pages);
    tokio::spawn(async move {
        std::future::pending::<()>().await;
        drop(candidate);
    });
}

/// The same from events.
fn listening(candidate: Candidate, pages: Pages) {
    let leads = Arc::new(AtomicBool::new(false));
    write_while(Arc::clone(&leads), pages);
    // Before the driver runs, so that no event is missed.
    let mut events = candidate.events();
    tokio::spawn(async move {
        while let Some(event) = events.next().await {
            match event {
                Event::Elected(_) => leads.store(true, Ordering::SeqCst),
                Event::SteppedDown { .. } => leads.store(false, Ordering::SeqCst),
                _ => {}
            }
        }
        drop(candidate);
    });
}

#[tokio::test]
async fn leader_only_work_ends_with_the_lead() {
    check(at_work).await;
}

#[tokio::test(start_paused = true)]
async fn work_in_a_paused_runtime_ends_with_the_lead() {
    check(at_work).await;
}

#[tokio::test]
async fn a_check_before_each_write_ends_with_the_lead() {
    check(asking).await;
}

#[tokio::test]
async fn callbacks_tell_of_the_lost_lead() {
    check(called_back).await;
}

#[tokio::test]
async fn events_tell_of_the_lost_lead() {
    check(listening).await;
}
