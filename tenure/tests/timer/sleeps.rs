//! Single sleeps: when they end, whom they wake.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use tenure::Instant;
use tenure::runtime::{Runtime, TokioRuntime};

use super::support::{
    HOUR, MOMENT, alone, current_thread, multi_thread, poll_once, sleep, soon, timerfds,
};

#[test]
fn no_sleep_ends_before_its_deadline() {
    let _alone = alone();
    for runtime in [current_thread(), multi_thread()] {
        let sleeps: Vec<_> = (0..1_000)
            .map(|index: u64| {
                let deadline = TokioRuntime.now() + Duration::from_micros(index * 7_919 % 50_000);
                runtime.spawn(async move {
                    TokioRuntime.sleep_until(deadline).await;
                    assert!(TokioRuntime.now() >= deadline);
                })
            })
            .collect();
        for asleep in sleeps {
            runtime.block_on(soon(asleep)).unwrap();
        }
    }
}

#[test]
fn the_past_is_over_at_once() {
    let _alone = alone();
    current_thread().block_on(async {
        for deadline in [Instant::ORIGIN, TokioRuntime.now()] {
            assert_eq!(TokioRuntime.sleep_until(deadline).now_or_never(), Some(()));
        }
    });
}

#[test]
fn the_far_future_never_comes() {
    let _alone = alone();
    current_thread().block_on(async {
        let mut never = TokioRuntime.sleep_until(Instant::FAR_FUTURE);
        let mut late = TokioRuntime.sleep_until(Instant::from_nanos(u64::MAX - 1));
        assert!(!poll_once(&mut never).await && !poll_once(&mut late).await);
        soon(sleep(MOMENT)).await;
        assert!(!poll_once(&mut never).await && !poll_once(&mut late).await);
    });
}

#[test]
fn an_earlier_sleep_ends_earlier() {
    let _alone = alone();
    current_thread().block_on(async {
        let late = tokio::spawn(sleep(HOUR));
        tokio::task::yield_now().await;
        soon(sleep(MOMENT)).await;
        assert!(!late.is_finished());
    });
}

#[test]
fn dropped_sleeps_disturb_no_other() {
    let _alone = alone();
    current_thread().block_on(async {
        let mut kept = sleep(MOMENT);
        poll_once(&mut kept).await;
        for index in 0..10_000 {
            let mut dropped = sleep(Duration::from_micros(100 + index));
            poll_once(&mut dropped).await;
        }
        soon(kept).await;
        assert_eq!(timerfds(), 1);
    });
}

/// The first sleep of a runtime, polled when tokio lets its task make no more progress for now.
#[test]
fn a_sleep_in_a_busy_task_ends() {
    let _alone = alone();
    let runtime = multi_thread();
    // Outside of a scheduler, tokio wakes such a task at once.
    runtime.handle().block_on(soon(async {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        for _ in 0..1_000 {
            sender.send(()).unwrap();
        }
        while receiver.recv().now_or_never().is_some() {}
        assert!(!receiver.is_empty(), "its budget is used up");
        sleep(MOMENT).await;
    }));
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn the_last_waker_is_woken() {
    let _alone = alone();
    current_thread().block_on(async {
        let [first, last] = [Arc::new(Count::default()), Arc::new(Count::default())];
        // A new sleep, in case this thread was paused until the last one had ended.
        let asleep = loop {
            let mut asleep = sleep(MOMENT);
            let are_pending = [&first, &last].map(|count| {
                let waker = Waker::from(Arc::clone(count));
                asleep.poll_unpin(&mut Context::from_waker(&waker)).is_pending()
            });
            if are_pending == [true, true] {
                break asleep;
            }
        };
        soon(sleep(MOMENT * 2)).await;
        assert_eq!((first.0.load(Ordering::SeqCst), last.0.load(Ordering::SeqCst)), (0, 1));
        assert_eq!(asleep.now_or_never(), Some(()));
    });
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker's bug");
    }
}

#[test]
fn a_panicking_waker_spares_the_others() {
    let _alone = alone();
    for runtime in [current_thread(), multi_thread()] {
        runtime.block_on(async {
            let waker = Waker::from(Arc::new(Panics));
            let deadline = TokioRuntime.now() + MOMENT;
            let mut panics = TokioRuntime.sleep_until(deadline);
            // The sleep is pending, unless this thread was paused for that long.
            let _ = panics.poll_unpin(&mut Context::from_waker(&waker));
            soon(TokioRuntime.sleep_until(deadline)).await;
            soon(sleep(MOMENT)).await;
        });
    }
}
