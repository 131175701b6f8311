//! A TCP proxy that makes the network between a client and a real server fail.
//!
//! The kernels that tests run on have no netem, so faults are made in user space: a client connects
//! to the proxy's port, and what each direction does with the bytes is switched while connections
//! are open. What a proxy cannot show: lost SYNs, reordering within a connection (TCP hides it
//! anyway).

mod pump;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{copy, sink};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use pump::pump;

/// The treatment of the bytes in one direction of every connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flow {
    /// Passes them on.
    Forward,
    /// Passes them on this much later, in order; the throughput stays.
    Delay(Duration),
    /// Passes on so many of them a second: each chunk once all of it could have been transmitted.
    /// What waits is passed on at once when the flow changes.
    Throttle(NonZeroU32),
    /// Keeps them, and the end of a connection too, until the flow passes them on again: a
    /// partition that heals before TCP gives up.
    Hold,
    /// Discards them, while the connection stays open. A stream with bytes missing is of no use
    /// afterwards: [`Proxy::cut`] it before `Forward`.
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
    target: watch::Sender<SocketAddr>,
    /// The end of the connections that were open at that moment.
    ends: watch::Sender<End>,
    /// The number of connections let through.
    connections: watch::Sender<u64>,
    /// The number of chunks not forwarded at once.
    withheld: Arc<AtomicU64>,
}

/// An end of open connections.
#[derive(Debug, Clone, Copy)]
enum End {
    /// Both sides are closed.
    Close,
    /// Both sides are reset.
    Reset,
    /// The server's side is closed; the client's stays open, and nothing answers on it.
    ServerSide,
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
            target: watch::Sender::new(target),
            ends: watch::Sender::new(End::Close),
            connections: watch::Sender::new(0),
            withheld: Arc::default(),
        };
        let accepting = tokio::spawn(accept(listener, switches.clone())).abort_handle();
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

    /// Forwards new connections to that target from now on. Open ones are not touched.
    pub fn redirect(&self, target: SocketAddr) {
        self.switches.target.send_replace(target);
    }

    /// Closes every open connection, on both sides; what was held or delayed in them is lost.
    /// Returns how many there were.
    pub fn cut(&self) -> usize {
        self.end(End::Close)
    }

    /// Ends every open connection with a reset (RST) on both sides, as a firewall does, or a
    /// machine that has forgotten the connection; what was held or delayed in them is lost. Returns
    /// how many there were.
    pub fn reset(&self) -> usize {
        self.end(End::Reset)
    }

    /// Closes every open connection on the server's side alone: as if the server's machine had lost
    /// power. The client may send, and receives neither an answer nor the end of the connection
    /// until the next [`cut`](Self::cut). Returns how many there were.
    pub fn half_open(&self) -> usize {
        self.end(End::ServerSide)
    }

    fn end(&self, end: End) -> usize {
        // Each open connection waits for its end.
        let open = self.open();
        self.switches.ends.send_replace(end);
        open
    }

    /// The number of pieces of data that a flow other than [`Flow::Forward`] has affected: delayed,
    /// held or discarded. Whether a fault had an effect shows in this count, not in the fault
    /// having been ordered.
    pub fn withheld(&self) -> u64 {
        self.switches.withheld.load(Ordering::Relaxed)
    }

    /// The number of open connections.
    pub fn open(&self) -> usize {
        self.switches.ends.receiver_count()
    }

    /// The number of connections let through since it started, closed ones included.
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

async fn accept(listener: TcpListener, switches: Switches) {
    let mut connections = JoinSet::new();
    loop {
        // An error concerns one connection that went away before it was accepted.
        let Ok((client, _)) = listener.accept().await else { continue };
        if !*switches.refusing.borrow() {
            switches.connections.send_modify(|count| *count += 1);
            let (link, target) = (Link::subscribe(&switches), *switches.target.borrow());
            // Either side's error ends the connection, which is all it could tell.
            connections.spawn(async move { drop(link.join(client, target).await) });
        }
        while connections.try_join_next().is_some() {}
    }
}

/// The orders for one connection.
struct Link {
    requests: watch::Receiver<Flow>,
    replies: watch::Receiver<Flow>,
    ends: watch::Receiver<End>,
    withheld: Arc<AtomicU64>,
}

impl Link {
    fn subscribe(switches: &Switches) -> Self {
        Self {
            requests: switches.requests.subscribe(),
            replies: switches.replies.subscribe(),
            ends: switches.ends.subscribe(),
            withheld: Arc::clone(&switches.withheld),
        }
    }

    /// Connects to the target and pumps until both directions have ended, or the connection has to.
    /// A connection that is not open yet is closed.
    async fn join(self, mut client: TcpStream, target: SocketAddr) -> io::Result<()> {
        let Self { requests, replies, mut ends, withheld } = self;
        client.set_nodelay(true)?;
        let mut server = tokio::select! {
            biased;
            _ = ends.changed() => return Ok(()),
            server = TcpStream::connect(target) => server?,
        };
        server.set_nodelay(true)?;
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let pumped = async {
            tokio::try_join!(
                pump(from_client, to_server, requests, &withheld),
                pump(from_server, to_client, replies, &withheld)
            )
        };
        tokio::select! {
            biased;
            // If the proxy is gone, both sides are closed.
            _ = ends.changed() => {}
            pumped = pumped => return pumped.map(drop),
        }
        let end = *ends.borrow_and_update();
        match end {
            End::Close => {}
            End::Reset => {
                client.set_zero_linger()?;
                server.set_zero_linger()?;
            }
            End::ServerSide => {
                drop(server);
                let mut nowhere = sink();
                tokio::select! {
                    _ = ends.changed() => {}
                    lost = copy(&mut client, &mut nowhere) => drop(lost?),
                }
            }
        }
        Ok(())
    }
}
