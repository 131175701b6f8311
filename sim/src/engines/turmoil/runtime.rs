//! The simulated machine as a runtime of the driver and the adapter.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tenure::Instant;
use tenure::runtime::{Connection, NoRuntime, Runtime};
use turmoil::net::TcpStream;

use super::node::Node;
use super::process::spawn;
use super::stream::Stream;
use crate::engines::node::NodeProcess;
use crate::plan::draw::Draw;

/// A node's runtime: its own clock, and tasks that are paused with the node.
#[derive(Clone)]
pub(super) struct SimRuntime(pub(super) Arc<Node>);

impl fmt::Debug for SimRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SimRuntime").field(&self.0.who()).finish()
    }
}

impl Runtime for SimRuntime {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn suspended(&self) -> Duration {
        self.0.slept()
    }

    fn sleep_until(&self, deadline: Instant) -> BoxFuture<'static, ()> {
        let node = Arc::clone(&self.0);
        async move {
            while node.now() < deadline {
                let stepped = node.clock_stepped.notified();
                let ahead = node.clock.when(deadline).since(node.true_now());
                tokio::select! {
                    biased;
                    () = tokio::time::sleep(ahead) => {}
                    () = stepped => {}
                }
            }
        }
        .boxed()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        spawn(task);
    }

    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Connection>> {
        let (node, address) = (Arc::clone(&self.0), (host.to_owned(), port));
        async move {
            if !node.is_alive() {
                return Err(io::ErrorKind::NetworkUnreachable.into());
            }
            let stream = TcpStream::connect(address).await?;
            Ok(Box::new(Stream::new(node, stream)?) as Connection)
        }
        .boxed()
    }

    fn available(&self) -> Result<(), NoRuntime> {
        if self.0.is_alive() { Ok(()) } else { Err(NoRuntime::new("the host is down")) }
    }

    fn entropy(&self) -> io::Result<u128> {
        let mut draw =
            Draw::new(self.0.seed, "entropy", (self.0.index as u64) << 32 | self.0.draw());
        Ok((u128::from(draw.bits()) << 64) | u128::from(draw.bits()))
    }
}
