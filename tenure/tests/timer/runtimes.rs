//! Runtimes that end, follow each other, run now and then, or wait for each other's sleeps.

use std::future::poll_fn;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{
    HOUR, MOMENT, SOON, alone, block_on, current_thread, made_in, multi_thread, poll_once, sleep,
    soon, timerfds,
};

#[test]
fn an_ended_runtime_closes_its_descriptor() {
    let _alone = alone();
    for round in 0..20 {
        let runtime = if round % 2 == 0 { current_thread() } else { multi_thread() };
        runtime.block_on(soon(sleep(Duration::from_millis(1))));
        runtime.spawn(sleep(HOUR));
        assert_eq!(timerfds(), 1);
        let before = Instant::now();
        drop(runtime);
        assert_eq!(timerfds(), 0);
        assert!(before.elapsed() < SOON, "sleeps don't delay the end");
    }
}

#[test]
fn sleeps_advance_only_within_block_on() {
    let _alone = alone();
    let runtime = current_thread();
    let (mut short, mut long) = (made_in(&runtime, MOMENT * 3), made_in(&runtime, HOUR));
    runtime.block_on(poll_once(&mut short));
    assert!(!runtime.block_on(poll_once(&mut long)));
    runtime.block_on(soon(sleep(MOMENT)));
    // It and the short one expire while the runtime does not run.
    let spawned = runtime.spawn(sleep(MOMENT));
    assert!(!runtime.block_on(poll_once(&mut long)));
    thread::sleep(MOMENT * 4);
    runtime.block_on(soon(spawned)).unwrap();
    runtime.block_on(soon(short));
    runtime.block_on(soon(sleep(MOMENT)));
    assert_eq!(timerfds(), 1);
}

#[test]
fn a_sleep_moves_to_another_runtime() {
    let _alone = alone();
    let (first, second) = (current_thread(), current_thread());
    let (mut asleep, mut long) = (made_in(&first, MOMENT), made_in(&first, HOUR));
    first.block_on(poll_once(&mut asleep));
    assert!(!first.block_on(poll_once(&mut long)));
    // The first does not run meanwhile.
    assert!(!second.block_on(poll_once(&mut long)));
    second.block_on(soon(asleep));
    assert_eq!(timerfds(), 2);
}

/// The end of the runtime on whose timer a sleep waits wakes the sleep.
#[test]
fn a_sleep_outlives_its_runtime() {
    let _alone = alone();
    let (first, second) = (multi_thread(), multi_thread());
    let mut asleep = sleep(MOMENT * 5);
    let (polled, is_registered) = std::sync::mpsc::channel();
    let handle = first.handle().clone();
    let woken = second.spawn(poll_fn(move |context| {
        // Only the first time, it is polled as if in the first runtime.
        let first = polled.send(()).is_ok().then(|| handle.enter());
        let poll = asleep.as_mut().poll(context);
        drop(first);
        poll
    }));
    is_registered.recv().unwrap();
    drop(is_registered);
    thread::sleep(MOMENT);
    drop(first);
    second.block_on(soon(woken)).unwrap();
}

#[test]
fn a_thread_outside_waits_for_its_runtime() {
    let _alone = alone();
    let runtime = multi_thread();
    let asleep = made_in(&runtime, MOMENT);
    block_on(asleep);
    // Also if it was polled inside before.
    let mut asleep = made_in(&runtime, MOMENT);
    runtime.block_on(poll_once(&mut asleep));
    block_on(asleep);
}
