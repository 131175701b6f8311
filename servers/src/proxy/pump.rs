//! One direction of one connection.

use std::collections::VecDeque;
use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::Flow;

/// Enough that a held direction does not push back on its sender, little enough to fit in memory.
const MOST_QUEUED_BYTES: usize = 64 << 20;

/// Bytes on their way, and the end of the stream behind them.
#[derive(Default)]
struct Queue {
    chunks: VecDeque<(Instant, Vec<u8>)>,
    bytes: usize,
    ended: bool,
}

/// Moves bytes from `source` to `sink` as `flow` says, until the end of `source` was passed on.
pub(super) async fn pump(
    mut source: OwnedReadHalf,
    mut sink: OwnedWriteHalf,
    mut flow: watch::Receiver<Flow>,
) -> io::Result<()> {
    let mut queue = Queue::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let now_flow = *flow.borrow_and_update();
        let open = matches!(now_flow, Flow::Forward | Flow::Delay(_));
        let due = queue.chunks.front().map(|&(due, _)| due);
        if open && queue.ended && due.is_none() {
            return sink.shutdown().await;
        }
        tokio::select! {
            biased;
            changed = flow.changed() => {
                if changed.is_err() {
                    return Ok(()); // The proxy is gone.
                }
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if open && due.is_some() => {
                if let Some((_, chunk)) = queue.chunks.pop_front() {
                    queue.bytes -= chunk.len();
                    sink.write_all(&chunk).await?;
                }
            }
            length = source.read(&mut buffer), if !queue.ended && queue.bytes < MOST_QUEUED_BYTES => {
                queue.take(now_flow, &buffer[..length?]);
            }
        }
    }
}

impl Queue {
    /// Takes what was read; nothing means the end of the stream.
    fn take(&mut self, flow: Flow, read: &[u8]) {
        let now = Instant::now();
        let due = match flow {
            _ if read.is_empty() => {
                self.ended = true;
                return;
            }
            Flow::BlackHole => return,
            Flow::Forward | Flow::Hold => now,
            Flow::Delay(delay) => now + delay,
        };
        // A shorter delay than before must not let bytes overtake those in front of them.
        let due = self.chunks.back().map_or(due, |&(last, _)| due.max(last));
        self.bytes += read.len();
        self.chunks.push_back((due, read.to_vec()));
    }
}
