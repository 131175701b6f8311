//! Futures that are dropped before their end.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Polls a future that many times, then drops it; returns its output if it completed. For tests
/// that a dropped future affects no other caller.
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
