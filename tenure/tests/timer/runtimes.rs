//! Runtimes that end, follow each other, run now and then, or wait for each other's sleeps.

use std::future::poll_fn;
use std::thread;
use std::time::{Duration, Instant};

use super::support::{
    HOUR, MOMENT, SOON, alone, block_on, current_thread, made_in, multi_thread, poll_once, sleep,
    soon,
};

#[test]
fn sleeps_do_not_delay_the_end_of_a_runtime() {
    let _alone = alone();
    for round in 0..20 {
        let runtime = if round % 2 == 0 { current_thread() } else { multi_thread() };
        runtime.block_on(soon(sleep(Duration::from_millis(1))));
        runtime.spawn(sleep(HOUR));
        let before = Instant::now();
        drop(runtime);
        assert!(before.elapsed() < SOON);
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
}

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
fn a_thread_without_a_runtime_sleeps() {
    let _alone = alone();
    let runtime = multi_thread();
    let asleep = made_in(&runtime, MOMENT);
    block_on(asleep);
    // Also if it was polled inside before.
    let mut asleep = made_in(&runtime, MOMENT);
    runtime.block_on(poll_once(&mut asleep));
    block_on(asleep);
    drop(runtime);
    block_on(sleep(MOMENT));
}
