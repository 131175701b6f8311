//! Notices to a service manager: systemd's protocol `sd_notify`, of datagrams to the socket that
//! `NOTIFY_SOCKET` names.
//!
//! | datagram | when |
//! |---|---|
//! | `READY=1` | the first attempt to lead has an outcome, whatever it is |
//! | `STATUS=..` | the role has changed, or the store stops or begins to answer |
//! | `WATCHDOG=1` | twice in each `WATCHDOG_USEC`, from the thread that renews the lease |
//! | `STOPPING=1` | this process is ending |
//!
//! **Why READY does not wait for the store**: it can't mean "leads", since a standby may wait for
//! months. If it waited for a store that is down, systemd would end and start this process again
//! and again, and other services would not start; that helps nobody, since this process tries again
//! by itself. The status has the store's error.
//!
//! **Why not a library**: those send blocking datagrams. A service manager that does not read would
//! stop the thread that renews the lease. Here, a datagram that finds no room is sent later.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use futures_util::StreamExt;
use tenure::Candidate;

use crate::health::StatusLine;

/// The variables of the protocol. A command must not have them: its messages would be taken for
/// this process's.
pub(crate) const VARIABLES: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// Between two looks at the candidate's health: an outage has no event for each of its changes.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The service manager, if there is one.
#[derive(Debug)]
pub(crate) struct Notices {
    manager: Option<Manager>,
    ping_every: Option<Duration>,
}

#[derive(Debug)]
struct Manager {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl Notices {
    /// From the environment. A socket that can't be used is no reason not to run.
    pub(crate) fn from_env() -> Self {
        let manager =
            std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()).and_then(|name| {
                match Manager::named(&name) {
                    Ok(manager) => Some(manager),
                    Err(error) => {
                        let name = name.display();
                        tracing::warn!(
                            "no service manager is told: NOTIFY_SOCKET is {name}: {error}"
                        );
                        None
                    }
                }
            });
        let variable = |name| std::env::var(name).ok();
        let ping_every = watchdog(variable("WATCHDOG_USEC"), variable("WATCHDOG_PID"));
        Self { ping_every: ping_every.filter(|_| manager.is_some()), manager }
    }

    /// Does the work, and tells the service manager meanwhile how the candidate is.
    pub(crate) async fn beside<T>(
        &self,
        candidate: &Candidate,
        work: impl Future<Output = T>,
    ) -> T {
        tokio::select! {
            biased;
            done = work => done,
            never = self.report(candidate) => match never {},
            never = self.ping() => match never {},
        }
    }

    /// Ends this process by that work.
    pub(crate) async fn stopping<T>(&self, work: impl Future<Output = T>) -> T {
        if let Some(manager) = &self.manager {
            // If it finds no room, the manager learns of it by the end of the process.
            let _ = manager.send("STOPPING=1\nSTATUS=ending: gives the lead back");
        }
        tokio::select! {
            biased;
            done = work => done,
            never = self.ping() => match never {},
        }
    }

    async fn report(&self, candidate: &Candidate) -> Infallible {
        let Some(manager) = &self.manager else { return std::future::pending().await };
        let mut events = candidate.events();
        // A candidate that has stopped is the work's to notice.
        let _ = candidate.first_attempt().await;
        let (mut status, mut sent, mut has_failed) = (StatusLine::default(), None, false);
        loop {
            let line = status.of(&candidate.health());
            if sent.as_ref() != Some(&line) {
                let ready = if sent.is_none() { "READY=1\n" } else { "" };
                match manager.send(&format!("{ready}STATUS={line}")) {
                    Ok(()) => sent = Some(line),
                    // It is tried again.
                    Err(error) if has_failed => drop(error),
                    Err(error) => {
                        has_failed = true;
                        tracing::warn!("the service manager is not told: NOTIFY_SOCKET: {error}");
                    }
                }
            }
            tokio::select! {
                Some(_) = events.next() => {}
                () = tokio::time::sleep(BETWEEN_LOOKS) => {}
            }
        }
    }

    async fn ping(&self) -> Infallible {
        let (Some(manager), Some(every)) = (&self.manager, self.ping_every) else {
            return std::future::pending().await;
        };
        loop {
            // One that is lost is followed by another in time.
            let _ = manager.send("WATCHDOG=1");
            tokio::time::sleep(every).await;
        }
    }
}

impl Manager {
    /// A path, or, after an @, a name in the abstract namespace.
    fn named(name: &OsStr) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            [b'/', ..] => SocketAddr::from_pathname(name)?,
            _ => return Err(io::Error::other("it must be an absolute path, or a name after an @")),
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, address })
    }

    fn send(&self, text: &str) -> io::Result<()> {
        self.socket.send_to_addr(text.as_bytes(), &self.address).map(drop)
    }
}

/// The interval of a watchdog's notices: half of the longest. A watchdog that is meant for another
/// process is none.
fn watchdog(micros: Option<String>, process: Option<String>) -> Option<Duration> {
    if process.is_some_and(|process| process != std::process::id().to_string()) {
        return None;
    }
    let micros: u64 = micros?.parse().ok().filter(|micros| *micros > 0)?;
    Some(Duration::from_micros(micros) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watchdog_is_told_twice_as_often_as_it_must() {
        let of = |micros: &str, process: Option<String>| watchdog(Some(micros.to_owned()), process);
        assert_eq!(of("3000000", None), Some(Duration::from_millis(1_500)));
        let this = std::process::id();
        assert_eq!(of("2000", Some(this.to_string())), Some(Duration::from_millis(1)));
        assert_eq!(of("2000", Some((this + 1).to_string())), None);
        for none in ["0", "", "soon", "-1"] {
            assert_eq!(of(none, None), None, "{none}");
        }
        assert_eq!(watchdog(None, None), None);
    }

    #[test]
    fn sockets_are_paths_or_abstract_names() {
        for good in ["/run/systemd/notify", "@manager"] {
            Manager::named(OsStr::new(good)).unwrap();
        }
        for bad in ["vsock:2:1234", "relative/path", &format!("/{}", "long".repeat(50))] {
            Manager::named(OsStr::new(bad)).unwrap_err();
        }
    }
}
