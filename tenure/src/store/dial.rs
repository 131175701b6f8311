//! The choice of a server's address for a connection.
//!
//! A host may have several addresses: of one server in both families of IP, of the members of a
//! replicated store, of machines that are gone. Where the first is a black hole, an attempt that
//! waits for it alone never ends in time. So the addresses are tried as browsers try them (RFC
//! 8305, "happy eyeballs"): the next one follows when the attempts before it have failed or have
//! taken a while, and the first connection wins.
//!
//! A server that accepts connections may still be the wrong one: a replica, or a process that
//! hangs. Its address comes after the others from then on: it is tried when those have failed, or
//! in the second half of the time. Its turn comes again when all addresses have turned out so,
//! since any of them may have been promoted meanwhile.

use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::runtime::{Connection, Runtime};

/// The delay of the next attempt, as RFC 8305 recommends.
const APART_MOST: Duration = Duration::from_millis(250);

/// A host and a port.
type Server = (String, u16);

/// The addresses of wrong servers; of each host, the latest comes last.
type Wrong = BTreeMap<Server, Vec<String>>;

/// Opens connections, and remembers the addresses of wrong servers.
pub(super) struct Dial {
    runtime: Arc<dyn Runtime>,
    /// The time for connecting in all.
    within: Duration,
    wrong: Arc<Mutex<Wrong>>,
}

/// The address that has accepted a connection.
#[cfg_attr(
    not(any(
        feature = "redis-without-tls",
        feature = "fred",
        feature = "postgres",
        feature = "mysql"
    )),
    allow(dead_code, reason = "only these have primaries")
)]
pub(super) struct Reached {
    server: Server,
    address: String,
    /// True if a server has spoken there.
    has_spoken: bool,
    wrong: Arc<Mutex<Wrong>>,
}

impl Dial {
    pub(super) fn new(runtime: &Arc<dyn Runtime>, within: Duration) -> Self {
        Self { runtime: Arc::clone(runtime), within, wrong: Arc::default() }
    }

    #[cfg(feature = "postgres")]
    pub(super) fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.runtime
    }

    /// Opens a connection to one of the host's addresses. The caller bounds the time.
    ///
    /// # Errors
    /// That of the name's lookup, or of the last attempt that has failed.
    pub(super) async fn connect(&self, host: &str, port: u16) -> io::Result<(Connection, Reached)> {
        let server = (host.to_owned(), port);
        let (right, wrong) = self.split(&server, self.runtime.addresses(host).await?);
        let apart = (self.within / parts(right.len() + wrong.len())).min(APART_MOST);
        let pauses = std::iter::repeat_n(apart, right.len())
            .chain([self.within / 2])
            .chain(std::iter::repeat(apart));
        let attempts = pauses.zip(right.into_iter().chain(wrong)).map(|(pause, address)| {
            let opens = async {
                let stream = self.runtime.connect(&address, port).await?;
                Ok((stream, address))
            };
            (pause, opens)
        });
        let (stream, address) = first(&*self.runtime, attempts).await?;
        let wrong = Arc::clone(&self.wrong);
        Ok((stream, Reached { server, address, has_spoken: false, wrong }))
    }

    /// The address to connect to, for a client that opens its connections itself. An only one is
    /// not tried.
    ///
    /// # Errors
    /// As those of [`connect`](Self::connect).
    #[cfg(any(feature = "fred", feature = "mysql"))]
    pub(super) async fn reach(&self, host: &str, port: u16) -> io::Result<Reached> {
        if let [address] = &self.runtime.addresses(host).await?[..] {
            let (server, address) = ((host.to_owned(), port), address.clone());
            let wrong = Arc::clone(&self.wrong);
            return Ok(Reached { server, address, has_spoken: false, wrong });
        }
        self.connect(host, port).await.map(|(_, reached)| reached)
    }

    /// The addresses to begin with, and those of wrong servers.
    fn split(&self, server: &Server, found: Vec<String>) -> (Vec<String>, Vec<String>) {
        let mut all = lock(&self.wrong);
        let Some(wrong) = all.get_mut(server) else { return (found, Vec::new()) };
        wrong.retain(|address| found.contains(address));
        if found.iter().all(|address| wrong.contains(address)) {
            // Any but the latest may have become right, and so may an only one.
            let latest = usize::from(wrong.len() > 1);
            wrong.drain(..wrong.len() - latest);
        }
        found.into_iter().partition(|address| !wrong.contains(address))
    }
}

impl Reached {
    #[cfg(any(test, feature = "fred", feature = "mysql"))]
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// A server has spoken at that address, as far as is known the right one.
    pub(super) fn has_spoken(&mut self) {
        self.has_spoken = true;
        if let Some(wrong) = lock(&self.wrong).get_mut(&self.server) {
            wrong.retain(|address| *address != self.address);
        }
    }

    /// The server at that address is not the primary. A host that is an address has no other, and
    /// one that was announced may never come back.
    pub(super) fn is_wrong(&self) {
        if self.address == self.server.0 {
            return;
        }
        let mut all = lock(&self.wrong);
        let wrong = all.entry(self.server.clone()).or_default();
        wrong.retain(|address| *address != self.address);
        wrong.push(self.address.clone());
    }
}

/// An address that accepts a connection at which no server speaks is not tried first again.
impl Drop for Reached {
    fn drop(&mut self) {
        if !self.has_spoken {
            self.is_wrong();
        }
    }
}

/// All attempts begin in the first half of the time.
fn parts(attempts: usize) -> u32 {
    u32::try_from(2 * attempts.max(1)).unwrap_or(u32::MAX)
}

/// The first attempt that succeeds. Each begins when so much time has passed since the one before
/// it has begun, or at once while none is under way.
async fn first<T, A>(
    runtime: &dyn Runtime,
    attempts: impl Iterator<Item = (Duration, A)>,
) -> io::Result<T>
where
    A: Future<Output = io::Result<T>>,
{
    let mut waiting = attempts.peekable();
    let mut under_way = FuturesUnordered::new();
    let mut failed = None;
    let mut begun = runtime.now();
    loop {
        let due = waiting.peek().map(|(pause, _)| begun + *pause);
        if due.is_some_and(|due| under_way.is_empty() || runtime.now() >= due)
            && let Some((_, attempt)) = waiting.next()
        {
            under_way.push(attempt);
            begun = runtime.now();
            continue;
        }
        let next = async {
            match due {
                Some(due) => runtime.sleep_until(due).await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            ended = under_way.next() => match ended {
                Some(Ok(opened)) => return Ok(opened),
                Some(Err(error)) => failed = Some(error),
                None => return Err(failed.unwrap_or_else(|| io::ErrorKind::NotFound.into())),
            },
            () = next => {}
        }
    }
}

fn lock(wrong: &Mutex<Wrong>) -> MutexGuard<'_, Wrong> {
    // No step panics half way.
    wrong.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
