//! Several threads, in every order of their steps.
//!
//! Each step is sequentially consistent here. For one atomic number that covers all executions: all
//! threads agree on the order of its values. (loom, which models weaker memory too, misses orders
//! here: it does not see that a load conflicts with another thread's read-modify-write if that
//! thread has loaded the number in between.)

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::thread;
use tenure::Instant;

use super::explored::deadline::Deadline;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Executes all interleavings. There must be several, otherwise nothing was explored.
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
        assert!(!deadline.holds(|| at(5)), "closed by this thread");
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
        assert_eq!(deadline.holds_or_closes(|| at(10)), holds, "and their answers do not change");
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
fn a_close_is_seen_by_threads_that_follow_it() {
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
fn a_deadline_that_holds_was_published_at_the_reading() {
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
