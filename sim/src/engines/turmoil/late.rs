//! The last bytes of a client that has left: a proxy or a kernel may deliver them long afterwards,
//! while the client uses another connection. A held link can't do that, because it holds the new
//! connection's messages too.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use crate::plan::draw::Draw;
use crate::plan::{Plan, SimTime};

/// The delay of the last bytes over each connection.
pub(super) struct Lateness {
    seed: u64,
    /// The time by which all late bytes have arrived.
    calm_from: SimTime,
    connections: Cell<u64>,
}

impl Lateness {
    pub(super) fn of(plan: &Plan) -> Self {
        Self { seed: plan.seed, calm_from: plan.calm_from(), connections: Cell::new(0) }
    }

    /// The delay for the next connection.
    pub(super) fn next(&self) -> Lag {
        let connection = self.connections.get();
        self.connections.set(connection + 1);
        let mut draw = Draw::new(self.seed, "last words", connection);
        let most = self.calm_from.since(SimTime::START) / 2;
        let most = if draw.chance(1, 2) { most } else { Duration::ZERO };
        Lag { lag: draw.duration(Duration::ZERO..=most), calm_from: self.calm_from }
    }
}

/// The delay of one connection.
pub(super) struct Lag {
    lag: Duration,
    calm_from: SimTime,
}

impl Lag {
    fn at(&self, now: SimTime) -> Duration {
        self.lag.min(self.calm_from.since(now))
    }
}

/// A connection as the server reads it: bytes that arrive together with the client's end are
/// delayed.
pub(super) struct Late<S, N> {
    inner: S,
    lag: Lag,
    now: N,
    words: BytesMut,
    has_left: bool,
    delay: Option<Pin<Box<Sleep>>>,
}

impl<S, N: Fn() -> SimTime> Late<S, N> {
    pub(super) fn new(inner: S, lag: Lag, now: N) -> Self {
        Self { inner, lag, now, words: BytesMut::new(), has_left: false, delay: None }
    }
}

impl<S: AsyncRead + Unpin, N: Fn() -> SimTime + Unpin> Late<S, N> {
    /// Reads all available bytes, because only then it is known whether the client has left.
    fn read_ahead(&mut self, context: &mut Context<'_>) {
        let mut chunk = [0; 1024];
        while !self.has_left {
            let mut buffer = ReadBuf::new(&mut chunk);
            match Pin::new(&mut self.inner).poll_read(context, &mut buffer) {
                Poll::Pending => return,
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.words.extend_from_slice(buffer.filled());
                }
                // The connection was closed or broken: in either case the client reads no reply.
                Poll::Ready(Ok(()) | Err(_)) => self.has_left = true,
            }
        }
    }
}

impl<S: AsyncRead + Unpin, N: Fn() -> SimTime + Unpin> AsyncRead for Late<S, N> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.read_ahead(context);
        if this.words.is_empty() {
            return if this.has_left { Poll::Ready(Ok(())) } else { Poll::Pending };
        }
        if this.has_left {
            let late = this.lag.at((this.now)());
            let delay = this.delay.get_or_insert_with(|| Box::pin(tokio::time::sleep(late)));
            ready!(delay.as_mut().poll(context));
        }
        let length = this.words.len().min(buffer.remaining());
        buffer.put_slice(&this.words[..length]);
        this.words.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin, N: Unpin> AsyncWrite for Late<S, N> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::{Instant, timeout};

    use super::*;
    use crate::plan::ms;

    const LAG: Duration = Duration::from_secs(5);
    const CALM_FROM: SimTime = ms(60_000);

    fn late(inner: DuplexStream, now: SimTime) -> Late<DuplexStream, impl Fn() -> SimTime> {
        let lag = Lag { lag: LAG, calm_from: CALM_FROM };
        Late::new(inner, lag, move || now)
    }

    /// In a runtime whose time passes only while all tasks wait for it.
    fn run(test: impl Future<Output = ()>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(test);
    }

    #[test]
    fn last_bytes_arrive_late_and_complete() {
        run(async {
            for (now, lag) in [(SimTime::START, LAG), (ms(59_999), Duration::from_millis(1))] {
                let (mut client, server) = duplex(64);
                client.write_all(b"last words").await.unwrap();
                drop(client);
                let began = Instant::now();
                let mut words = String::new();
                late(server, now).read_to_string(&mut words).await.unwrap();
                assert_eq!((&*words, began.elapsed()), ("last words", lag));
            }
        });
    }

    #[test]
    fn a_connected_clients_bytes_are_not_delayed() {
        run(async {
            let (mut client, server) = duplex(64);
            let mut server = late(server, SimTime::START);
            for word in [b"one", b"two"] {
                client.write_all(word).await.unwrap();
                let mut heard = [0; 3];
                timeout(LAG / 2, server.read_exact(&mut heard)).await.unwrap().unwrap();
                assert_eq!(&heard, word);
            }
        });
    }
}
