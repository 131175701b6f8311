//! A TCP connection of a simulated process: it stands still with the process, breaks when it is cut,
//! and lets a crashed process say nothing more.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::WaitForCancellationFutureOwned;
use turmoil::net::TcpStream;

use super::node::Node;
use super::wires::End;
use crate::plan::{FaultKind, Point};

/// What every request begins with on the wire. What else a client says, such as HELLO, is none.
const REQUEST: &[u8] = b"EVALSHA";

pub(super) struct Stream {
    node: Arc<Node>,
    life: u32,
    inner: Counted,
    /// The process has come to the sending of a request, and has not sent it.
    sending: bool,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Stream {
    /// # Errors
    /// If the connection has no address any more.
    pub(super) fn new(node: Arc<Node>, inner: TcpStream) -> io::Result<Self> {
        let cut = Box::pin(node.connections().cancelled_owned());
        let end = node.wires.at_node(inner.local_addr()?, node.index);
        Ok(Self {
            life: node.who().life,
            node,
            inner: Counted::new(inner, end),
            sending: false,
            cut,
        })
    }

    fn poll_usable(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.node.poll_running(context));
        if self.cut.as_mut().poll(context).is_ready() {
            self.node.took(FaultKind::Cut);
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Poll::Ready(Ok(()))
    }

    fn is_of_the_dead(&self) -> bool {
        !self.node.is_alive() || self.node.who().life != self.life
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_usable(context))?;
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_of_the_dead() {
            return Poll::Ready(Ok(bytes.len()));
        }
        if !self.sending && carries_a_request(bytes) {
            self.sending = true;
            self.node.reaches(Point::Send);
        }
        ready!(self.poll_usable(context))?;
        let written = ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        if std::mem::take(&mut self.sending) {
            self.node.reaches(Point::Sent);
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// One end of a connection, which counts what passes it: the store's, or the one under a [`Stream`].
pub(super) struct Counted {
    inner: TcpStream,
    end: End,
}

impl Counted {
    pub(super) const fn new(inner: TcpStream, end: End) -> Self {
        Self { inner, end }
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        self.end.received(buffer.filled().len() - before);
        read
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        self.end.sent(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

fn carries_a_request(bytes: &[u8]) -> bool {
    bytes.windows(REQUEST.len()).any(|window| window == REQUEST)
}
