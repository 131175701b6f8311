//! Attempts and pauses on a clock that the tests move.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::backoff::PAUSE_LEAST;
use super::*;
use crate::store::fake::{Clock, Wire};

/// A slot, and the times at which a connection was attempted, in milliseconds.
struct Fixture {
    clock: Clock,
    slot: Slot<Wire>,
    attempts: Arc<Mutex<Vec<u128>>>,
    server: Arc<AtomicUsize>,
}

const AWAY: usize = 0;
const HERE: usize = 1;
const TICK: Duration = Duration::from_millis(1);

impl Fixture {
    fn new(server: usize) -> Self {
        let clock = Clock::default();
        let runtime: Arc<dyn Runtime> = Arc::new(clock.clone());
        let slot = Slot::new(&runtime, CONNECT_TIMEOUT);
        let server = Arc::new(AtomicUsize::new(server));
        Self { clock, slot, attempts: Arc::default(), server }
    }

    fn get(&self, patience: Patience) -> impl Future<Output = Outcome<Wire>> {
        let (clock, attempts) = (self.clock.clone(), Arc::clone(&self.attempts));
        let server = Arc::clone(&self.server);
        let connect = move || {
            attempts.lock().unwrap().push(clock.millis());
            let refused = StoreError::new(StoreErrorKind::Unreachable, "refused");
            let is_here = server.load(Ordering::SeqCst) == HERE;
            std::future::ready(if is_here { Ok(Wire::default()) } else { Err(refused) }).boxed()
        };
        self.slot.get(patience, connect)
    }

    /// The outcome after the tasks have run.
    fn now(&self, patience: Patience) -> Option<Outcome<Wire>> {
        let mut get = Box::pin(self.get(patience));
        if let Some(done) = (&mut get).now_or_never() {
            return Some(done);
        }
        self.clock.run();
        get.now_or_never()
    }

    fn attempts(&self) -> Vec<u128> {
        self.attempts.lock().unwrap().clone()
    }

    /// Requests that ask again as soon as they are answered; they do that to each connection that
    /// they get.
    fn crowd(&self, count: usize, lasting: Duration, on: impl Fn(&Wire)) -> usize {
        let answers = Rc::new(RefCell::new(0));
        let mut waiting: Vec<_> = (0..count).map(|_| Box::pin(self.get(Patience::Waits))).collect();
        let end = self.clock.now() + lasting;
        while self.clock.now() < end {
            for one in &mut waiting {
                if let Some(answer) = one.as_mut().now_or_never() {
                    *answers.borrow_mut() += 1;
                    if let Ok(wire) = answer {
                        on(&wire);
                    }
                    *one = Box::pin(self.get(Patience::Waits));
                }
            }
            self.clock.advance(TICK);
        }
        answers.take()
    }
}

fn is_refused(answer: Option<Outcome<Wire>>) -> bool {
    answer.is_some_and(|answer| answer.is_err_and(|error| error.to_string().contains("refused")))
}

#[test]
fn attempts_are_as_few_for_a_crowd() {
    let fixture = Fixture::new(AWAY);
    let answers = fixture.crowd(200, Duration::from_secs(10), |_| {});
    // Each a tick later than the pause says, because the crowd is polled before the tasks.
    let bounds = [100, 200, 400, 800, 1_600, 2_500, 2_500];
    let attempts = fixture.attempts();
    let pauses: Vec<_> = attempts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(pauses.len(), bounds.len(), "{attempts:?}");
    for (pause, bound) in pauses.iter().zip(bounds) {
        assert!((bound..=bound + 3).contains(pause), "{attempts:?}");
    }
    assert_eq!(answers, 200 * attempts.len(), "each failure answers all that wait, once");
}

#[test]
fn a_server_that_accepts_and_drops_is_attempted_as_rarely() {
    let fixture = Fixture::new(HERE);
    fixture.crowd(200, Duration::from_secs(10), |wire| wire.dead.cancel());
    assert_eq!(fixture.attempts().len(), 8, "{:?}", fixture.attempts());
}

#[test]
fn a_served_request_ends_the_backoff() {
    let fixture = Fixture::new(AWAY);
    fixture.crowd(1, Duration::from_secs(20), |_| {});
    fixture.server.store(HERE, Ordering::SeqCst);
    fixture.crowd(1, Duration::from_secs(3), |wire| wire.served.store(true, Ordering::SeqCst));
    let before = fixture.attempts().len();
    fixture.slot.current().unwrap().dead.cancel();
    // Long after it was opened: at once.
    assert!(fixture.now(Patience::Waits).unwrap().is_ok());
    assert_eq!(fixture.attempts().len(), before + 1);
    // And this one, which ended soon after, within the shortest pause.
    fixture.slot.current().unwrap().served.store(true, Ordering::SeqCst);
    fixture.slot.current().unwrap().dead.cancel();
    assert!(fixture.now(Patience::Waits).is_none());
    fixture.crowd(1, Duration::from_millis(102), |_| {});
    assert_eq!(fixture.attempts().len(), before + 2);
}

#[test]
fn questions_fail_at_once_during_a_pause() {
    let fixture = Fixture::new(AWAY);
    assert!(is_refused(fixture.now(Patience::Fails)), "its own attempt");
    for _ in 0..100 {
        assert!(is_refused(fixture.get(Patience::Fails).now_or_never()), "the last error");
    }
    // The same while others wait.
    let waits = &mut Box::pin(fixture.get(Patience::Waits));
    assert!(waits.now_or_never().is_none());
    assert!(is_refused(fixture.get(Patience::Fails).now_or_never()));
    assert_eq!(fixture.attempts(), [0]);
}

#[test]
fn questions_learn_why_the_connection_ended() {
    let fixture = Fixture::new(HERE);
    let Some(Ok(wire)) = fixture.now(Patience::Fails) else { panic!("here") };
    let (odd, late) = (StoreErrorKind::UnexpectedReply, StoreErrorKind::Timeout);
    fixture.slot.failed(&wire, &StoreError::new(late, ""));
    wire.dead.cancel();
    let kind = || fixture.now(Patience::Fails).unwrap().err().unwrap().kind();
    assert_eq!(kind(), StoreErrorKind::Disconnected, "the connection outlived that error");
    fixture.slot.failed(&wire, &StoreError::new(odd, ""));
    assert_eq!(kind(), odd);
}

#[test]
fn questions_wait_for_the_shortest_pause_after_a_connection_that_served() {
    let fixture = Fixture::new(HERE);
    let Some(Ok(wire)) = fixture.now(Patience::Fails) else { panic!("here") };
    wire.served.store(true, Ordering::SeqCst);
    wire.dead.cancel();
    fixture.slot.failed(&wire, &StoreError::new(StoreErrorKind::NotDurable, "another's"));
    let (first, second) =
        (&mut Box::pin(fixture.get(Patience::Fails)), &mut Box::pin(fixture.get(Patience::Fails)));
    assert!(first.now_or_never().is_none() && second.now_or_never().is_none());
    fixture.clock.run();
    fixture.clock.advance(PAUSE_LEAST);
    assert!(first.now_or_never().unwrap().is_ok() && second.now_or_never().unwrap().is_ok());
}

#[test]
fn nothing_is_attempted_that_no_request_waits_for() {
    let fixture = Fixture::new(AWAY);
    assert!(is_refused(fixture.now(Patience::Waits)));
    assert!(fixture.now(Patience::Waits).is_none(), "it waits, and gives up");
    fixture.clock.advance(Duration::from_secs(10));
    assert_eq!(fixture.attempts(), [0]);
    assert!(fixture.clock.tasks().is_empty(), "nothing is left behind");
    fixture.server.store(HERE, Ordering::SeqCst);
    assert!(fixture.now(Patience::Waits).unwrap().is_ok(), "the pause is over");
}

#[test]
fn a_request_after_an_abandoned_pause_begins_another_attempt() {
    let fixture = Fixture::new(AWAY);
    assert!(is_refused(fixture.now(Patience::Waits)));
    assert!(fixture.now(Patience::Waits).is_none(), "it waits, and gives up");
    fixture.clock.advance(Duration::from_secs(1));
    assert!(is_refused(fixture.now(Patience::Waits)), "its own attempt");
    assert_eq!(fixture.attempts(), [0, 1_000]);
}

#[test]
fn what_nobody_waits_for_any_more_is_kept_or_ended() {
    for unclaimed in [Unclaimed::Kept, Unclaimed::Ended] {
        let fixture = Fixture::new(HERE);
        lock(&fixture.slot.state).unclaimed = unclaimed;
        let mut waiting = Box::pin(fixture.get(Patience::Waits));
        assert!((&mut waiting).now_or_never().is_none());
        drop(waiting);
        fixture.clock.run();
        assert_eq!(fixture.attempts(), [0]);
        assert_eq!(fixture.slot.current().is_some(), unclaimed == Unclaimed::Kept);
        // The next request finds it, or begins anew after the pause.
        let found = fixture.now(Patience::Waits);
        assert_eq!(found.is_some(), unclaimed == Unclaimed::Kept);
    }
}

#[test]
fn a_runtime_that_ends_fails_those_that_wait() {
    let fixture = Fixture::new(AWAY);
    for _ in 0..2 {
        let mut get = Box::pin(fixture.get(Patience::Waits));
        assert!((&mut get).now_or_never().is_none());
        fixture.clock.tasks().clear();
        let Some(Err(error)) = get.now_or_never() else { panic!("no answer") };
        assert!(error.to_string().contains("runtime that was connecting has ended"), "{error}");
    }
}
