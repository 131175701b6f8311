//! Walks through all records of a store, some at a time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::runtime::Runtime;
use crate::store::{Key, StoreError, StoreErrorKind};

/// A server's time for one step.
const STEP_MOST: Duration = Duration::from_secs(10);

/// The result of one step.
pub(super) struct Step<P, T> {
    pub(super) made: T,
    /// The next one's beginning; `None` after the last one.
    pub(super) next: Option<P>,
}

/// The sum of all steps.
pub(super) trait Sum: Default + Send + 'static {
    fn add(&mut self, some: Self);
}

/// Deleted records.
impl Sum for u64 {
    fn add(&mut self, some: Self) {
        *self += some;
    }
}

/// Elections that were found.
impl Sum for BTreeSet<Key> {
    fn add(&mut self, mut some: Self) {
        self.append(&mut some);
    }
}

/// Goes on step by step, the first one from the default place on. After each step comes a pause as
/// long as the step took, so that at least half of the connection's time is left to others.
///
/// In a task of its own: a step whose caller gives up is still answered, so that its connection is
/// not taken for a stuck one. No step begins after that.
pub(super) async fn in_steps<P: Default + Send + 'static, T: Sum>(
    runtime: &Arc<dyn Runtime>,
    mut step: impl FnMut(P) -> BoxFuture<'static, Result<Step<P, T>, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let (answer, answered) = oneshot::channel();
    let own = Arc::clone(runtime);
    let steps = async move {
        let mut all = T::default();
        let mut place = P::default();
        let outcome = loop {
            let began = own.now();
            match bounded(&*own, step(place)).await {
                Err(error) => break Err(error),
                Ok(Step { made, next }) => {
                    all.add(made);
                    let Some(next) = next.filter(|_| !answer.is_closed()) else {
                        break Ok(all);
                    };
                    place = next;
                }
            }
            let now = own.now();
            own.sleep_until(now + now.since(began)).await;
        };
        // Its caller may have given up.
        let _ = answer.send(outcome);
    };
    runtime.spawn(steps.boxed());
    let ended = || StoreError::new(StoreErrorKind::Unreachable, "the runtime has ended");
    answered.await.unwrap_or_else(|_| Err(ended()))
}

async fn bounded<T>(
    runtime: &dyn Runtime,
    step: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::select! {
        biased;
        done = step => done,
        () = runtime.sleep_until(runtime.now() + STEP_MOST) => {
            let detail = format!("no answer to one of many requests within {STEP_MOST:?}");
            Err(StoreError::new(StoreErrorKind::Timeout, detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::store::fake::Clock;

    const TAKES: Duration = Duration::from_millis(5);
    const MILLI: Duration = Duration::from_millis(1);

    type Purge = BoxFuture<'static, Result<u64, StoreError>>;

    /// A purge of three steps of that length, and how many of them have begun.
    fn purge(clock: &Clock, takes: Duration) -> (Arc<AtomicU32>, Purge) {
        let (begun, own) = (Arc::new(AtomicU32::new(0)), clock.clone());
        let (count, runtime) = (Arc::clone(&begun), Arc::new(clock.clone()));
        let step = move |place: u64| {
            count.fetch_add(1, Ordering::SeqCst);
            let done = own.sleep_until(own.now() + takes);
            let next = Some(place + 1).filter(|next| *next < 3);
            async move {
                done.await;
                Ok(Step { made: 10, next })
            }
            .boxed()
        };
        let runtime: Arc<dyn Runtime> = runtime;
        (begun, async move { in_steps(&runtime, step).await }.boxed())
    }

    #[test]
    fn each_pause_is_as_long_as_its_step() {
        let clock = Clock::default();
        let (begun, mut purge) = purge(&clock, TAKES);
        assert!((&mut purge).now_or_never().is_none());
        clock.run();
        for milli in 0..25 {
            assert_eq!(begun.load(Ordering::SeqCst), 1 + milli / 10, "after {milli} ms");
            assert!((&mut purge).now_or_never().is_none());
            clock.advance(MILLI);
        }
        assert_eq!(purge.now_or_never().unwrap().unwrap(), 30);
    }

    #[test]
    fn no_step_begins_once_the_caller_has_gone() {
        let clock = Clock::default();
        let (begun, mut purge) = purge(&clock, TAKES);
        assert!((&mut purge).now_or_never().is_none());
        clock.run();
        drop(purge);
        assert_eq!(clock.tasks().len(), 1, "its step is still answered");
        (0..30).for_each(|_| clock.advance(MILLI));
        assert_eq!((begun.load(Ordering::SeqCst), clock.tasks().len()), (1, 0));
    }

    #[test]
    fn a_step_without_an_answer_is_given_up() {
        let clock = Clock::default();
        let (_, mut purge) = purge(&clock, STEP_MOST * 2);
        assert!((&mut purge).now_or_never().is_none());
        clock.run();
        clock.advance(STEP_MOST);
        let error = purge.now_or_never().unwrap().unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Timeout);
    }
}
