//! One question for many callers that ask it at the same time.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

use super::config::Address;
use crate::store::StoreError;

/// Rounds of a question whose answer changes. An answer serves the callers that came before the
/// round began. For later callers it may be out of date.
#[derive(Default)]
pub(super) struct Rounds {
    begun: AtomicU64,
    /// The last round that has ended, and its answer.
    last: Mutex<Option<(u64, Result<Address, StoreError>)>>,
}

impl Rounds {
    /// The answer of a round that begins after this call.
    pub(super) async fn next<A>(&self, ask: impl FnOnce() -> A) -> Result<Address, StoreError>
    where
        A: Future<Output = Result<Address, StoreError>>,
    {
        let before = self.begun.load(Ordering::SeqCst);
        let mut last = self.last.lock().await;
        if let Some((round, answer)) = &*last
            && *round > before
        {
            return answer.clone();
        }
        let round = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let answer = ask().await;
        *last = Some((round, answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt;
    use futures_util::future::join_all;

    use super::*;

    #[test]
    fn concurrent_callers_share_rounds_without_outdated_answers() {
        let (rounds, asked) = (Rounds::default(), Cell::new(0_u16));
        let ask = || async {
            asked.set(asked.get() + 1);
            let number = asked.get();
            // The other callers come while this round is under way.
            tokio::task::yield_now().await;
            Ok(Address::new("h", number))
        };
        let port = |answer: Result<Address, StoreError>| answer.unwrap().port;
        let crowd = join_all((0..100).map(|_| rounds.next(ask)));
        let answers: Vec<_> = futures_executor(crowd).into_iter().map(port).collect();
        assert_eq!((answers[0], asked.get()), (1, 2));
        assert!(answers[1..].iter().all(|answer| *answer == 2), "{answers:?}");
        assert_eq!(port(futures_executor(rounds.next(ask))), 3);
    }

    fn futures_executor<T>(future: impl Future<Output = T>) -> T {
        let mut future = Box::pin(future);
        loop {
            if let Some(done) = future.as_mut().now_or_never() {
                return done;
            }
        }
    }
}
