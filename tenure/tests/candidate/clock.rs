//! Pauses of a process, and suspends of its machine.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, Stream, StreamExt};
use tenure::runtime::Runtime;
use tenure::store::contract::{Acquire, NameId, RequestId};
use tenure::store::{Key, Memory, Profile, Reply, Request, Store};
use tenure::{Candidate, Elections, Event, HolderId, StepDownReason, Tenure};

use super::moved_clock::{Clock, Reading};
use super::support::{Remote, soon, steady};

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
        let elections = Elections::with_runtime(store.clone(), Arc::new(clock.clone()));
        let candidate = elections.candidate("job").config(steady()).start().unwrap();
        let tenure = soon(candidate.elected()).await.unwrap();
        Self { clock, store, candidate, tenure }
    }

    /// Until a renewal waits for its reply.
    async fn renewal_under_way(&self) {
        self.store.cut();
        let asked = self.store.asked();
        self.clock.advance(steady().renew_interval());
        soon(async {
            while self.store.asked() == asked {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// A pause of the process for that time, and a reply that came meanwhile.
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
    leading.pause(steady().request_timeout() * 2);
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

/// The driver reads the clock in time and is paused, work finds the tenure over, and then the
/// driver continues with a renewal that was in time.
#[tokio::test]
async fn a_tenure_found_over_is_not_renewed() {
    let mut found_over = 0;
    for readings in 1..=3 {
        let leading = Leading::new().await;
        leading.renewal_under_way().await;
        let (clock, tenure) = (leading.clock.clone(), leading.tenure.clone());
        let (seen, by_work) = tokio::sync::oneshot::channel();
        let late = leading.beyond_the_claim();
        leading.clock.pause_after(readings, Reading::Clock, move || {
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

/// A leader that has died has left its lease.
async fn leave_lease(store: &impl Store) {
    let (holder, number) = (HolderId::from_bits(7), RequestId::new(1).unwrap());
    let first = Acquire::new(holder, number, steady().ttl(), NameId::from_bits(7));
    let dead = Acquire { quarantine: steady().quarantine(), ..first };
    let key = Key::new("job").unwrap();
    let asks = Request::Acquire { asks: dead, profile: Profile::new("dead", "").unwrap() };
    assert!(matches!(store.call(&key, asks).await, Ok(Reply::Granted { .. })));
}

/// A candidate's watch of a dead leader's lease until it leads, if `meanwhile` happens after a
/// while.
async fn watches_for(meanwhile: impl FnOnce(&Clock)) -> Duration {
    let step = steady().ttl() / 40;
    let (clock, memory) = (Clock::new(), Memory::new());
    leave_lease(&memory).await;
    let elections = Elections::with_runtime(memory, Arc::new(clock.clone()));
    let candidate = elections.candidate("job").config(steady()).start().unwrap();
    let began = clock.now();
    let mut meanwhile = Some(meanwhile);
    while !candidate.is_leader() {
        assert!(clock.now().since(began) < steady().ttl() * 4, "nobody takes the lease");
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        clock.advance(step);
        if clock.now().since(began) >= steady().ttl() / 2
            && let Some(meanwhile) = meanwhile.take()
        {
            meanwhile(&clock);
        }
    }
    clock.now().since(began)
}

#[tokio::test]
async fn a_watch_begins_anew_after_a_suspend() {
    let (ttl, second) = (steady().ttl(), Duration::from_secs(1));
    let paused = watches_for(|clock| clock.advance(second)).await;
    assert!((ttl..ttl + ttl / 4).contains(&paused), "{paused:?}");
    let suspended = watches_for(|clock| clock.suspend(second)).await;
    assert!(suspended >= ttl / 2 + second + ttl, "{suspended:?}");
}

/// The driver reads the clock, and for how long the machine was suspended: between any two of these
/// readings, it is.
#[tokio::test]
async fn a_suspend_between_two_readings_is_not_watched() {
    let (ttl, time) = (steady().ttl(), Duration::from_secs(1));
    let began = Clock::new().now();
    for (of, most) in [(Reading::Clock, 100), (Reading::Suspended, 8)] {
        let mut met = 0;
        for readings in 1..=most {
            let (sleeps, slept) = std::sync::mpsc::channel();
            let led = watches_for(|clock| {
                let machine = clock.clone();
                clock.pause_after(readings, of, move || {
                    sleeps.send(machine.now().since(began)).unwrap();
                    machine.suspend(time);
                });
            })
            .await;
            // Else it led before, as it may.
            if let Ok(at) = slept.try_recv()
                && at < ttl
            {
                met += 1;
                assert!(led >= at + time + ttl, "{led:?}: after {readings} readings of {of:?}");
            }
        }
        assert!(met >= 3, "{met} suspends under a look, by readings of {of:?}");
    }
}

/// The driver reads the clock and is paused there, and meanwhile the store answers.
#[tokio::test]
async fn a_watch_begins_after_its_answer() {
    let (ttl, pause) = (steady().ttl(), steady().ttl() / 4);
    for readings in 1..=12 {
        let (clock, store) = (Clock::new(), Remote::default());
        leave_lease(&store).await;
        store.cut();
        let elections = Elections::with_runtime(store.clone(), Arc::new(clock.clone()));
        let candidate = elections.candidate("job").config(steady()).start().unwrap();
        soon(async {
            while store.asked() == 1 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let (answers, answered) = std::sync::mpsc::channel();
        let machine = clock.clone();
        clock.pause_after(readings, Reading::Clock, move || {
            machine.advance(pause);
            store.heal();
            answers.send(machine.now()).unwrap();
        });
        let began = clock.now();
        while candidate.tenure().is_none() {
            assert!(clock.now().since(began) < ttl * 4, "nobody takes the lease");
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            clock.advance(ttl / 40);
        }
        let (answered, led) = (answered.try_recv().unwrap(), clock.now());
        assert!(led >= answered + ttl, "answered at {answered:?}, led at {led:?}: {readings}");
    }
}
