//! Several threads, in every order of their steps.
//!
//! Each step is taken as sequentially consistent. For one atomic number that is all that can happen: all threads agree
//! on the order of its values. (loom, which knows weaker memory too, leaves orders out here: of a load it does not see that
//! another thread's read-modify-write conflicts with it, if that thread has loaded the number in between.)

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::thread;
use tenure::Instant;

use crate::explored::deadline::Deadline;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Executes all interleavings; there must be several, or nothing was explored.
fn explore(model: impl Fn() + Send + Sync + 'static) {
    let explored = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&explored);
    let check = move || {
        counted.fetch_add(1, Relaxed);
        model();
    };
    shuttle::check_dfs(check, None);
    assert!(explored.load(Relaxed) > 3, "{explored:?} interleavings");
}

#[test]
fn a_renewal_never_reopens_a_closed_deadline() {
    explore(|| {
        let deadline = Arc::new(Deadline::until(at(10)));
        let driver = thread::spawn({
            let deadline = Arc::clone(&deadline);
            move || deadline.extend(at(20))
        });
        deadline.close();
        assert!(!deadline.holds(|| at(5)), "closed by this very thread");
        driver.join().unwrap();
        assert!(deadline.is_closed());
    });
}

#[test]
fn a_step_down_never_reopens_a_closed_deadline() {
    explore(|| {
        let deadline = Arc::new(Deadline::until(at(10)));
        let driver = thread::spawn({
            let deadline = Arc::clone(&deadline);
            move || deadline.clear()
        });
        deadline.close();
        driver.join().unwrap();
        assert!(deadline.is_closed());
    });
}

#[test]
fn expiry_and_renewal_exclude_each_other() {
    explore(|| {
        let deadline = Arc::new(Deadline::until(at(10)));
        let driver = thread::spawn({
            let deadline = Arc::clone(&deadline);
            move || deadline.extend(at(20))
        });
        let holds = deadline.holds_or_closes(|| at(10));
        let renewed = driver.join().unwrap();
        assert_eq!(holds, renewed, "work and driver disagree about the tenure's end");
        assert_eq!(deadline.is_closed(), !renewed);
        assert_eq!(deadline.holds_or_closes(|| at(10)), holds, "and stay with their answers");
    });
}

#[test]
fn handles_that_find_the_end_agree() {
    explore(|| {
        let deadline = Arc::new(Deadline::until(at(10)));
        let find = |deadline: &Arc<Deadline>| {
            let deadline = Arc::clone(deadline);
            move || deadline.holds_or_closes(|| at(10))
        };
        let other = thread::spawn(find(&deadline));
        let driver = thread::spawn({
            let deadline = Arc::clone(&deadline);
            move || deadline.extend(at(20))
        });
        let holds = deadline.holds_or_closes(|| at(10));
        let renewed = driver.join().unwrap();
        assert_eq!((holds, other.join().unwrap()), (renewed, renewed));
    });
}

#[test]
fn a_close_that_was_heard_of_is_seen() {
    explore(|| {
        let deadline = Arc::new(Deadline::until(at(10)));
        let resigned = Arc::new(AtomicBool::new(false));
        let handle = thread::spawn({
            let (deadline, resigned) = (Arc::clone(&deadline), Arc::clone(&resigned));
            move || {
                deadline.close();
                resigned.store(true, Ordering::Release);
            }
        });
        let driver = thread::spawn({
            let deadline = Arc::clone(&deadline);
            move || deadline.extend(at(20))
        });
        if resigned.load(Ordering::Acquire) {
            assert!(!deadline.holds(|| at(5)));
        }
        handle.join().unwrap();
        driver.join().unwrap();
    });
}

#[test]
fn it_held_when_the_clock_was_read() {
    explore(|| {
        let deadline = Arc::new(Deadline::never());
        let driver = thread::spawn({
            let deadline = Arc::clone(&deadline);
            move || {
                deadline.extend(at(10));
                deadline.close();
                deadline.reopen();
                deadline.extend(at(20));
            }
        });
        let at_the_reading = std::cell::Cell::new(at(0));
        let holds = deadline.holds(|| {
            at_the_reading.set(deadline.get());
            at(5)
        });
        if holds {
            assert!(at(5) < at_the_reading.get(), "{at_the_reading:?}");
        }
        driver.join().unwrap();
    });
}
