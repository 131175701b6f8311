//! One direction of one connection.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::time::{Duration, Instant, sleep_until};

use super::Flow;

/// Enough that a held direction does not push back on its sender, little enough to fit in memory.
const MOST_QUEUED_BYTES: usize = 64 << 20;

/// Bytes on their way, and the end of the stream behind them.
#[derive(Default)]
struct Queue {
    chunks: VecDeque<(Instant, Vec<u8>)>,
    bytes: usize,
    ended: bool,
    /// The due time of the last chunk so far.
    last_due: Option<Instant>,
}

/// Moves bytes from `source` to `sink` as `flow` says, until the end of `source` was passed on.
pub(super) async fn pump(
    mut source: ReadHalf<'_>,
    mut sink: WriteHalf<'_>,
    mut flow: watch::Receiver<Flow>,
    withheld: &AtomicU64,
) -> io::Result<()> {
    let mut queue = Queue::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let now_flow = *flow.borrow_and_update();
        let open = !matches!(now_flow, Flow::Hold | Flow::BlackHole);
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
                if matches!(now_flow, Flow::Throttle(_)) {
                    queue.is_due_now();
                }
            }
            () = reached(due), if open && due.is_some() => {
                if let Some((_, chunk)) = queue.chunks.pop_front() {
                    queue.bytes -= chunk.len();
                    sink.write_all(&chunk).await?;
                }
            }
            length = source.read(&mut buffer), if !queue.ended && queue.bytes < MOST_QUEUED_BYTES => {
                withheld.fetch_add((now_flow != Flow::Forward).into(), Ordering::Relaxed);
                queue.take(now_flow, &buffer[..length?]);
            }
        }
    }
}

/// Waits for a time that may be over: a timer would take its next millisecond all the same.
async fn reached(due: Option<Instant>) {
    if let Some(due) = due.filter(|due| *due > Instant::now()) {
        sleep_until(due).await;
    }
}

impl Queue {
    /// Nothing limits the rate at which its chunks are passed on any more; their order stays.
    fn is_due_now(&mut self) {
        let now = Instant::now();
        self.chunks.iter_mut().for_each(|(due, _)| *due = now.min(*due));
        self.last_due = self.last_due.map(|last| last.min(now));
    }

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
            Flow::Throttle(bytes_per_second) => {
                let nanos = read.len() as u64 * 1_000_000_000 / u64::from(bytes_per_second.get());
                self.last_due.map_or(now, |last| last.max(now)) + Duration::from_nanos(nanos)
            }
        };
        // A shorter delay than before must not let bytes overtake those in front of them.
        let due = self.last_due.map_or(due, |last| due.max(last));
        self.last_due = Some(due);
        self.bytes += read.len();
        self.chunks.push_back((due, read.to_vec()));
    }
}
