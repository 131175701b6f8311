//! A TCP proxy that makes the network between a client and a real server fail.
//!
//! The kernels that tests run on have no netem, so faults are made in user space: a client connects
//! to the proxy's port, and what each direction does with the bytes is switched while connections
//! are open. What a proxy cannot show: lost SYNs, resets in the middle of a segment, reordering
//! within a connection (TCP hides it anyway).

mod pump;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use pump::pump;

/// What one direction of every connection does with the bytes given to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flow {
    /// Passes them on.
    Forward,
    /// Passes them on this much later, in order; the throughput stays.
    Delay(Duration),
    /// Keeps them, and the end of a connection too, until the flow is `Forward` or `Delay` again: a
    /// partition that heals before TCP gives up.
    Hold,
    /// Discards them, while the connection stays open. A stream with bytes missing is of no use afterwards:
    /// [`Proxy::cut`] it before `Forward`.
    BlackHole,
}

/// A TCP proxy on a loopback port of its own; all of it ends on drop.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    switches: Switches,
    accepting: AbortHandle,
}

/// The sending halves live in the [`Proxy`], the receiving ones in every connection.
#[derive(Debug, Clone)]
struct Switches {
    requests: watch::Sender<Flow>,
    replies: watch::Sender<Flow>,
    refusing: watch::Sender<bool>,
    /// How often [`Proxy::cut`] was called.
    cuts: watch::Sender<u64>,
    /// How many connections were let through.
    connections: watch::Sender<u64>,
}

impl Proxy {
    /// Listens on a free port of 127.0.0.1 and forwards to `target`. Must be called in a tokio
    /// runtime; the proxy stops working when that runtime ends.
    pub async fn start(target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let switches = Switches {
            requests: watch::Sender::new(Flow::Forward),
            replies: watch::Sender::new(Flow::Forward),
            refusing: watch::Sender::new(false),
            cuts: watch::Sender::new(0),
            connections: watch::Sender::new(0),
        };
        let accepting = tokio::spawn(accept(listener, target, switches.clone())).abort_handle();
        Ok(Self { port, switches, accepting })
    }

    /// The port to connect to, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sets both directions, for open connections and new ones.
    pub fn set(&self, flow: Flow) {
        self.set_requests(flow);
        self.set_replies(flow);
    }

    /// Sets the direction from clients to the server: with [`Flow::BlackHole`], requests are lost.
    pub fn set_requests(&self, flow: Flow) {
        self.switches.requests.send_replace(flow);
    }

    /// Sets the direction from the server to clients: with [`Flow::BlackHole`], the server acts on
    /// requests and no client learns of it.
    pub fn set_replies(&self, flow: Flow) {
        self.switches.replies.send_replace(flow);
    }

    /// While on, a new connection is closed as soon as it is made. Open ones are not touched.
    pub fn refuse(&self, on: bool) {
        self.switches.refusing.send_replace(on);
    }

    /// Closes every open connection, on both sides; what was held or delayed in them is lost.
    pub fn cut(&self) {
        self.switches.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// How many connections were let through since it started, closed ones included.
    pub fn connections(&self) -> u64 {
        *self.switches.connections.borrow()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The task owns the connections' tasks, which end with it.
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, switches: Switches) {
    let mut connections = JoinSet::new();
    loop {
        // An error concerns one connection that went away before it was accepted.
        let Ok((client, _)) = listener.accept().await else { continue };
        if !*switches.refusing.borrow() {
            switches.connections.send_modify(|count| *count += 1);
            let (requests, replies) = (switches.requests.subscribe(), switches.replies.subscribe());
            let mut cuts = switches.cuts.subscribe();
            connections.spawn(async move {
                tokio::select! {
                    biased;
                    _ = cuts.changed() => {}
                    // Either side's error ends the connection, which is all it could tell.
                    _ = join(client, target, requests, replies) => {}
                }
            });
        }
        while connections.try_join_next().is_some() {}
    }
}

/// Connects to the target and pumps until both directions have ended.
async fn join(
    client: TcpStream,
    target: SocketAddr,
    requests: watch::Receiver<Flow>,
    replies: watch::Receiver<Flow>,
) -> io::Result<()> {
    let server = TcpStream::connect(target).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::try_join!(
        pump(from_client, to_server, requests),
        pump(from_server, to_client, replies)
    )?;
    Ok(())
}
