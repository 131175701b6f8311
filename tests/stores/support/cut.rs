//! Futures that are dropped before their end.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Polls a future that many times, then drops it; returns its output if it was done by then.
pub(crate) async fn cut<T>(polls: u32, future: impl Future<Output = T>) -> Option<T> {
    let (mut future, mut left) = (pin!(future), polls);
    poll_fn(|context| {
        while left > 0 {
            left -= 1;
            match future.as_mut().poll(context) {
                Poll::Ready(output) => return Poll::Ready(Some(output)),
                // Dropped right where it waits.
                Poll::Pending if left == 0 => {}
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(None)
    })
    .await
}
