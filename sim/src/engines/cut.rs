//! Futures that are dropped before their end.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Polls a future that many times, then drops it where it waits; returns its output if it was done by then. For tests
/// that a caller which gives up disturbs no other.
pub async fn cut<T>(polls: u64, future: impl Future<Output = T>) -> Option<T> {
    let (mut future, mut left) = (pin!(future), polls);
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Pending if left == 0 => Poll::Ready(None),
            polled => polled.map(Some),
        }
    })
    .await
}
