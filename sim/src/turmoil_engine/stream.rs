//! A TCP connection of a simulated process: it stands still with the process, breaks when it is cut,
//! and lets a crashed process say nothing more.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::WaitForCancellationFutureOwned;
use turmoil::net::TcpStream;

use super::node::{Node, Point};

pub(super) struct Stream {
    node: Arc<Node>,
    life: u32,
    inner: TcpStream,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Stream {
    pub(super) fn new(node: Arc<Node>, inner: TcpStream) -> Self {
        let cut = Box::pin(node.connections().cancelled_owned());
        Self { life: node.who().life, node, inner, cut }
    }

    fn poll_usable(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.node.poll_running(context));
        if self.cut.as_mut().poll(context).is_ready() {
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
        self.node.reaches(Point::Send);
        ready!(self.poll_usable(context))?;
        let written = ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        self.node.reaches(Point::Sent);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
