//! Handles on threads outside of any tokio runtime, and drivers that a refused candidate must not
//! cost.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tenure::store::{Memory, StoreErrorKind};
use tenure::{Candidate, Config, Elections, FirstAttempt, StartError, StopError, Stopped};

use super::support::{long, soon, start, steady};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits on this thread, which has no runtime.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let (mut future, waker) = (pin!(future), Waker::from(Arc::new(Unpark(thread::current()))));
    loop {
        if let std::task::Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker))
        {
            return done;
        }
        thread::park_timeout(Duration::from_secs(20));
    }
}

#[test]
fn all_handles_work_outside_of_a_runtime() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().worker_threads(1).build().unwrap();
    // No lead is lost on a slow machine.
    let candidate = runtime.block_on(async {
        let builder = Candidate::builder(Memory::new(), "job").config(long());
        builder.hold_off(Duration::from_millis(10)).start().unwrap()
    });
    block_on(async {
        let tenure = candidate.elected().await.unwrap();
        assert!(matches!(candidate.first_attempt().await, Ok(FirstAttempt::Leading(_))));
        let mut inbox = tenure.inbox();
        let held = candidate.incumbent().await.unwrap().unwrap();
        assert_eq!(held.token, tenure.token());
        candidate.notify_leader("wake", "up").await.unwrap();
        assert_eq!(inbox.next().await.unwrap().channel(), "wake");
        let mut leaders = candidate.observe();
        assert!(matches!(leaders.next().await, Some(Ok(Some(_)))));
        let watchdog = tenure.watchdog(Duration::from_secs(600));
        assert_eq!(candidate.run_while_leader(async |_| 7).await, Ok(7));
        let fails = candidate.run_if_leader(async |tenure| tenure.ended().await);
        assert!(fails.now_or_never().is_none());
        candidate.resign().await.unwrap();
        tenure.ended().await;
        assert!(inbox.next().await.is_none());
        drop(watchdog);
        let work = async |tenure: tenure::Tenure| tenure.cancellation_token().cancelled().await;
        let asked = candidate.elected().map(drop);
        assert_eq!(
            candidate
                .try_run_until(asked, async |tenure| {
                    work(tenure).await;
                    Ok::<_, &str>(())
                })
                .await,
            Ok(None)
        );
        candidate.stop().await.unwrap();
        while leaders.next().await.is_some() {}
    });
}

#[test]
fn nothing_outside_waits_for_a_driver_that_is_gone() {
    let config = Config::builder(Duration::from_secs(2)).drain_bound(Duration::from_millis(100));
    let config = config.build().unwrap();
    let built = || Candidate::builder(Memory::new(), "job").config(config).build().unwrap();
    let (candidate, driver) = built();
    drop(driver);
    assert_eq!(block_on(candidate.stop()), Err(StopError::DriverGone));
    assert_eq!(block_on(candidate.resign()), Err(StopError::DriverGone));
    assert!(block_on(candidate.incumbent()).is_err());
    assert!(matches!(block_on(candidate.elected()), Err(Stopped)));
    let mut leaders = candidate.observe();
    while block_on(leaders.next()).is_some() {}

    // Nor for one that is not polled.
    let (candidate, _driver) = built();
    let error = block_on(candidate.incumbent()).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Timeout);
    assert_eq!(block_on(candidate.stop()), Err(StopError::StillRunning));
}

#[test]
fn what_needs_a_runtime_says_so() {
    let start = Candidate::builder(Memory::new(), "job").start();
    assert!(matches!(start, Err(StartError::NoRuntime(_))));
    let elections = Elections::new(Memory::new());
    assert!(matches!(elections.observe("job"), Err(StartError::NoRuntime(_))));
    let signal = tenure::shutdown_signal().map(drop).unwrap_err();
    assert!(signal.to_string().starts_with("no tokio runtime here"), "{signal}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _inside = runtime.enter();
    let signal = tenure::shutdown_signal().map(drop).unwrap_err();
    assert!(signal.to_string().starts_with("this tokio runtime has no I/O"), "{signal}");
}

#[tokio::test]
async fn a_resignation_after_a_stop_is_done() {
    let candidate = start(&Memory::new(), "only");
    soon(candidate.elected()).await.unwrap();
    soon(candidate.stop()).await.unwrap();
    assert_eq!(soon(candidate.resign()).await, Ok(()));
    // Also if the stop is still under way.
    let candidate = start(&Memory::new(), "only");
    soon(candidate.elected()).await.unwrap();
    let (stopped, resigned) =
        soon(async { tokio::join!(candidate.stop(), candidate.resign()) }).await;
    assert_eq!((stopped, resigned), (Ok(()), Ok(())));
}

#[tokio::test]
async fn a_refused_candidate_costs_no_driver() {
    let elections = Elections::new(Memory::new());
    let refused = elections.candidate("").config(steady()).build();
    assert!(matches!(refused.map(drop), Err(StartError::Limit(_))));
    let refused = elections.candidate("job").name("x".repeat(1_000)).build();
    assert!(matches!(refused.map(drop), Err(StartError::Limit(_))));
    let (candidate, driver) = elections.candidate("job").config(steady()).build().unwrap();
    tokio::spawn(driver.run());
    soon(candidate.elected()).await.unwrap();
    // Nor one that starts.
    assert!(elections.candidate("").start().is_err());
    assert!(soon(elections.candidate("other").start().unwrap().elected()).await.is_ok());
}
