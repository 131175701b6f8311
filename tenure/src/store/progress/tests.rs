//! A connection under a clock that the test moves.

use std::sync::atomic::AtomicUsize;

use tokio::sync::oneshot;

use super::*;
use crate::store::fake::Clock;

const MILLI: Duration = Duration::from_millis(1);
const OPENING: Duration = Duration::from_millis(900);

/// A connection that was just opened, and a server that answers our questions when it is told to.
struct Wire {
    progress: Progress,
    clock: Clock,
    dead: CancellationToken,
    questions: Arc<Mutex<Vec<oneshot::Sender<bool>>>>,
    asked: Arc<AtomicUsize>,
}

impl Wire {
    fn opened_in(opening: Duration) -> Self {
        let (clock, dead) = (Clock::default(), CancellationToken::new());
        let runtime: Arc<dyn Runtime> = Arc::new(clock.clone());
        let began = runtime.now();
        clock.advance(opening);
        let (questions, asked) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<AtomicUsize>::default());
        let (all, count) = (Arc::clone(&questions), Arc::clone(&asked));
        let ask: Ask = Box::new(move || {
            let (answers, answer) = oneshot::channel();
            all.lock().unwrap().push(answers);
            count.fetch_add(1, Ordering::SeqCst);
            async { answer.await.unwrap_or(false) }.boxed()
        });
        let progress = Progress::since(began, &runtime, &dead, ask);
        Self { progress, clock, dead, questions, asked }
    }

    /// One whose answers take as long as that.
    fn with_answers_after(usual: Duration) -> Self {
        let wire = Self::opened_in(usual);
        for _ in 0..LATEST {
            wire.is_answered_after(usual);
        }
        wire
    }

    fn is_answered_after(&self, time: Duration) {
        let request = self.progress.expects();
        self.clock.advance(time);
        request.answered();
    }

    fn is_given_up_after(&self, time: Duration) {
        let request = self.progress.expects();
        self.clock.advance(time);
        drop(request);
        self.clock.run();
    }

    /// The server answers our questions.
    fn answers(&self, answer: bool) {
        for question in self.questions.lock().unwrap().drain(..) {
            let _ = question.send(answer);
        }
        self.clock.run();
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn is_dead(&self) -> bool {
        self.dead.is_cancelled()
    }
}

#[test]
fn a_quick_connection_that_falls_silent_is_given_up_at_once() {
    for timeout in [SILENT_LEAST, Duration::from_millis(500), Duration::from_secs(3)] {
        let wire = Wire::with_answers_after(MILLI);
        wire.is_given_up_after(timeout);
        assert!(wire.is_dead(), "{timeout:?}");
        assert_eq!(wire.asked(), 0);
    }
}

#[test]
fn a_caller_that_gives_up_at_once_is_no_evidence() {
    let wire = Wire::with_answers_after(MILLI);
    wire.is_given_up_after(SILENT_LEAST.saturating_sub(MILLI));
    assert!(!wire.is_dead());
    wire.answers(true);
    wire.clock.advance(10 * SILENCE);
    assert!(!wire.is_dead());
}

#[test]
fn a_server_that_answers_others_is_slow_and_not_stuck() {
    let wire = Wire::with_answers_after(MILLI);
    let late = wire.progress.expects();
    wire.clock.advance(SILENCE);
    wire.is_answered_after(MILLI);
    drop(late);
    assert!(!wire.is_dead());
    assert_eq!(wire.asked(), 0);
    wire.is_given_up_after(SILENCE);
    assert!(wire.is_dead(), "nothing was answered since");
}

/// Round trips of 2 s, and callers that wait for less, one after the other: our questions are
/// answered.
#[test]
fn impatient_requests_cost_a_slow_connection_nothing() {
    let round_trip = Duration::from_secs(2);
    let wire = Wire::with_answers_after(round_trip);
    for _ in 0..50 {
        for _ in 0..4 {
            wire.is_given_up_after(round_trip / 4);
        }
        assert!(!wire.is_dead());
        wire.answers(true);
    }
    assert!(wire.asked() <= 51, "one at a time: {}", wire.asked());
    for _ in 0..LATEST {
        wire.is_answered_after(round_trip);
    }
    wire.clock.advance(100 * round_trip);
    assert!(!wire.is_dead());
}

#[test]
fn a_slow_connection_that_falls_silent_is_given_up_after_a_question() {
    let round_trip = Duration::from_secs(2);
    let wire = Wire::with_answers_after(round_trip);
    wire.is_given_up_after(round_trip / 4);
    wire.clock.advance((FACTOR * round_trip).saturating_sub(MILLI));
    assert!(!wire.is_dead());
    wire.clock.advance(MILLI);
    assert!(wire.is_dead());
    // Or at once, when a more patient request is given up.
    let wire = Wire::with_answers_after(round_trip);
    wire.is_given_up_after(round_trip / 4);
    wire.is_given_up_after((FACTOR * round_trip).saturating_sub(MILLI));
    assert!(!wire.is_dead());
    let wire = Wire::with_answers_after(round_trip);
    wire.is_given_up_after(FACTOR * round_trip);
    assert!(wire.is_dead());
}

#[test]
fn a_question_that_fails_ends_the_connection() {
    let wire = Wire::with_answers_after(Duration::from_secs(2));
    wire.is_given_up_after(MILLI);
    wire.answers(false);
    assert!(wire.is_dead());
}

/// The runtime that has carried it was shut down.
#[test]
fn a_question_that_was_dropped_is_asked_again() {
    let wire = Wire::with_answers_after(Duration::from_secs(2));
    wire.is_given_up_after(MILLI);
    wire.clock.tasks().clear();
    wire.is_given_up_after(MILLI);
    assert_eq!(wire.asked(), 2);
    assert!(!wire.is_dead());
}

#[test]
fn a_few_slow_answers_delay_no_recovery() {
    let wire = Wire::with_answers_after(MILLI);
    for _ in 0..LATEST / 2 {
        wire.is_answered_after(Duration::from_secs(5));
    }
    wire.is_given_up_after(Duration::from_millis(300));
    assert!(wire.is_dead());
}

#[test]
fn opening_tells_how_long_the_first_answer_may_take() {
    let wire = Wire::opened_in(OPENING);
    wire.is_given_up_after((FACTOR * OPENING).saturating_sub(MILLI));
    assert!(!wire.is_dead());
    let wire = Wire::opened_in(OPENING);
    wire.is_given_up_after(FACTOR * OPENING);
    assert!(wire.is_dead());
    let wire = Wire::opened_in(10 * OPENING_MOST);
    wire.is_given_up_after(FACTOR * OPENING_MOST);
    assert!(wire.is_dead(), "a long opening does not count in full");
}

#[cfg(feature = "postgres")]
#[test]
fn a_connection_whose_end_is_costly_is_asked_first() {
    let wire = Wire::with_answers_after(MILLI);
    let wire = Wire { progress: wire.progress.asks_always(), ..wire };
    wire.is_given_up_after(10 * SILENCE);
    assert!(!wire.is_dead());
    wire.clock.advance(SILENCE);
    assert!(wire.is_dead());
}

#[test]
fn a_failed_connection_is_given_up_despite_progress() {
    let wire = Wire::opened_in(MILLI);
    let failing = wire.progress.expects();
    wire.is_answered_after(MILLI);
    failing.failed();
    assert!(wire.is_dead());
}

#[test]
fn a_call_that_panics_ends_its_connection() {
    let wire = Wire::with_answers_after(MILLI);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _request = wire.progress.expects();
        panic!("on purpose");
    }));
    assert!(panicked.is_err() && wire.is_dead());
}
