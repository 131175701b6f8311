//! A TCP connection of a simulated process: it is paused with the process, breaks when it is cut,
//! and sends nothing once the process has crashed.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tenure::runtime::{ByteStream, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::io::{InspectReader, InspectWriter};
use tokio_util::sync::WaitForCancellationFutureOwned;
use turmoil::net::TcpStream;

use super::node::Node;
use super::wires::End;
use crate::engines::node::NodeProcess;
use crate::plan::{FaultKind, Point};

/// The beginning of every request on the wire. Other commands of a client, such as HELLO, are not
/// requests.
const REQUEST: &[u8] = b"EVALSHA";

pub(super) struct Stream {
    node: Arc<Node>,
    life: u32,
    inner: Connection,
    /// The process has reached the sending of a request, and has not sent it.
    sending: bool,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Stream {
    /// # Errors
    /// If the connection no longer has an address.
    pub(super) fn new(node: Arc<Node>, inner: TcpStream) -> io::Result<Self> {
        let cut = Box::pin(node.connections().cancelled_owned());
        let end = node.wires.at_node(inner.local_addr()?, node.index);
        Ok(Self {
            life: node.who().life,
            node,
            inner: Box::new(counted(inner, end)),
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

/// A connection that reports its bytes to `end`.
pub(super) fn counted(stream: TcpStream, end: End) -> impl ByteStream {
    let sends = Arc::new(end);
    let reads = Arc::clone(&sends);
    let stream = InspectWriter::new(stream, move |bytes: &[u8]| sends.sent(bytes.len()));
    InspectReader::new(stream, move |bytes: &[u8]| reads.received(bytes.len()))
}

fn carries_a_request(bytes: &[u8]) -> bool {
    bytes.windows(REQUEST.len()).any(|window| window == REQUEST)
}
