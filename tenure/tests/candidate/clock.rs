//! Pauses of a process: a clock that the tests move.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream, StreamExt};
use tenure::runtime::{Connection, Runtime, TokioRuntime};
use tenure::store::AnyStore;
use tenure::{Candidate, Elections, Event, Instant, StepDownReason, Tenure};
use tokio::sync::Notify;

use crate::support::{Remote, quick, soon};

/// Stopped until it is moved. Clones are the same clock.
#[derive(Clone, Default)]
struct Clock(Arc<Hands>);

#[derive(Default)]
struct Hands {
    nanos: AtomicU64,
    moved: Notify,
    /// A function to call after a number of readings, as if the reader were paused there.
    pause: Mutex<Option<Pause>>,
}

type Pause = (u32, Box<dyn FnOnce() + Send>);

impl Clock {
    fn new() -> Self {
        let clock = Self::default();
        clock.advance(Duration::from_secs(100));
        clock
    }

    fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_nanos()).unwrap();
        self.0.nanos.fetch_add(by, Ordering::SeqCst);
        self.0.moved.notify_waiters();
    }

    fn pause_after(&self, readings: u32, meanwhile: impl FnOnce() + Send + 'static) {
        *self.0.pause.lock().unwrap() = Some((readings, Box::new(meanwhile)));
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.0.nanos).finish()
    }
}

impl Runtime for Clock {
    fn now(&self) -> Instant {
        let now = Instant::from_nanos(self.0.nanos.load(Ordering::SeqCst));
        let mut pause = self.0.pause.lock().unwrap();
        if let Some((readings, _)) = &mut *pause {
            *readings -= 1;
        }
        let due = pause.take_if(|(readings, _)| *readings == 0);
        drop(pause);
        if let Some((_, meanwhile)) = due {
            meanwhile();
        }
        now
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        async move {
            loop {
                let moved = clock.0.moved.notified();
                if Instant::from_nanos(clock.0.nanos.load(Ordering::SeqCst)) >= deadline {
                    return;
                }
                moved.await;
            }
        }
        .boxed()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }

    fn connect(&self, _: &str, _: u16) -> BoxFuture<'static, io::Result<Connection>> {
        async { Err(io::ErrorKind::Unsupported.into()) }.boxed()
    }

    fn entropy(&self) -> io::Result<u128> {
        TokioRuntime.entropy()
    }
}

/// A leader with a clock of its own, at a store whose leases end by the host's clock.
struct Leading {
    clock: Clock,
    store: Remote,
    candidate: Candidate,
    tenure: Tenure,
}

impl Leading {
    async fn new() -> Self {
        let (clock, store) = (Clock::new(), Remote::default());
        let elections =
            Elections::with_runtime(AnyStore::new(store.clone()), Arc::new(clock.clone()));
        let candidate = elections.candidate("job").config(quick()).start().unwrap();
        let tenure = soon(candidate.elected()).await.unwrap();
        Self { clock, store, candidate, tenure }
    }

    /// Until a renewal waits for its reply.
    async fn renewal_under_way(&self) {
        self.store.cut();
        let asked = self.store.asked();
        self.clock.advance(quick().renew_interval());
        soon(async {
            while self.store.asked() == asked {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// As if the process had been paused for that time, and the reply had come meanwhile.
    fn pause(&self, time: Duration) {
        self.clock.advance(time);
        self.store.heal();
    }

    /// Longer than the claim can hold.
    fn beyond_the_claim(&self) -> Duration {
        self.tenure.remaining() + Duration::from_nanos(1)
    }
}

async fn next_of_tenure(events: impl Stream<Item = Event>) -> Event {
    let of_tenure = |event: &Event| {
        let one = matches!(event, Event::Renewed(_) | Event::SteppedDown { .. });
        std::future::ready(one)
    };
    let mut events = std::pin::pin!(events.filter(of_tenure));
    soon(events.next()).await.unwrap()
}

#[tokio::test]
async fn an_ended_tenure_is_not_handed_out() {
    let leading = Leading::new().await;
    let candidate = &leading.candidate;
    assert!(candidate.tenure().is_some());
    assert!(candidate.run_if_leader(async |_| ()).now_or_never().is_some_and(|ran| ran.is_some()));
    leading.clock.advance(leading.beyond_the_claim());
    // Its driver has not run since.
    assert!(candidate.tenure().is_none());
    assert!(candidate.elected().now_or_never().is_none());
    assert_eq!(candidate.run_if_leader(async |_| ()).now_or_never(), Some(None));
    assert!(!candidate.is_leader() && !leading.tenure.is_current());
}

#[tokio::test]
async fn a_resigned_tenure_is_not_handed_out() {
    let leading = Leading::new().await;
    assert!(leading.candidate.resign().now_or_never().is_none());
    assert!(leading.candidate.tenure().is_none());
    assert!(leading.candidate.elected().now_or_never().is_none());
}

/// The timeout is due and the reply has arrived: the reply counts after a pause.
#[tokio::test]
async fn a_reply_after_a_pause_precedes_its_timeout() {
    let leading = Leading::new().await;
    let events = leading.candidate.events();
    leading.renewal_under_way().await;
    leading.pause(quick().request_timeout() * 2);
    assert!(leading.tenure.is_current(), "the pause is shorter than the claim");
    let event = next_of_tenure(events).await;
    assert!(matches!(event, Event::Renewed(_)), "{event:?}");
    assert_eq!(leading.store.dropped(), 0, "no call was given up");
    assert!(leading.tenure.is_current());
}

#[tokio::test]
async fn a_claim_that_ended_precedes_its_renewal() {
    let leading = Leading::new().await;
    let events = leading.candidate.events();
    leading.renewal_under_way().await;
    leading.pause(leading.beyond_the_claim());
    match next_of_tenure(events).await {
        Event::SteppedDown { tenure, reason: StepDownReason::Expired } => {
            assert_eq!(tenure.token(), leading.tenure.token());
        }
        other => panic!("{other:?}"),
    }
    assert!(!leading.tenure.is_current());
}

/// The driver reads the clock in time and is paused, work finds the tenure over, and then the driver continues
/// with a renewal that was in time.
#[tokio::test]
async fn a_tenure_found_over_is_not_renewed() {
    let mut found_over = 0;
    for readings in 1..=3 {
        let leading = Leading::new().await;
        leading.renewal_under_way().await;
        let (clock, tenure) = (leading.clock.clone(), leading.tenure.clone());
        let (seen, by_work) = tokio::sync::oneshot::channel();
        let late = leading.beyond_the_claim();
        leading.clock.pause_after(readings, move || {
            clock.advance(late);
            let _ = seen.send(tenure.is_current());
        });
        leading.store.heal();
        if soon(by_work).await == Ok(true) {
            continue;
        }
        found_over += 1;
        for _ in 0..100 {
            assert!(!leading.tenure.is_current(), "paused after {readings} readings");
            tokio::task::yield_now().await;
        }
    }
    assert!(
        (1..6).contains(&found_over),
        "paused before the renewal counts, and after: {found_over}"
    );
}
