//! Ports that stay a server's own while it is down.
//!
//! The kernel may give a free port to another program at any time, also while its server is
//! restarted: another etcd may then answer for a member that has failed to start. So a server's
//! ports are reserved for as long as it exists. The reservation is the UDP port of the same number,
//! which no server uses. The kernel frees it when the process ends.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::ops::Range;

use crate::ServerError;
use crate::error::doing;

/// Below those that the kernel gives to connections, and to listeners that ask for any port.
const PORTS: Range<u16> = 10_000..30_000;

/// A port of 127.0.0.1 that is no other server's while the socket exists.
pub(crate) fn reserve() -> Result<(u16, UdpSocket), ServerError> {
    reserve_in(PORTS)
}

/// One of these, from a random one on.
fn reserve_in(ports: Range<u16>) -> Result<(u16, UdpSocket), ServerError> {
    let first = RandomState::new().hash_one(()) % ports.len() as u64;
    let first = ports.start + u16::try_from(first).unwrap_or_default();
    let free = (first..ports.end).chain(ports.start..first).find_map(|port| {
        let reserved = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).ok()?;
        // Programs that reserve nothing have ports there too.
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()?;
        Some((port, reserved))
    });
    free.ok_or_else(|| doing("finding a free port")(io::ErrorKind::AddrInUse.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_reserved_while_nothing_listens_on_it() {
        let (port, reservation) = reserve().unwrap();
        assert!(reserve_in(port..port + 1).is_err());
        drop(reservation);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert!(reserve_in(port..port + 1).is_err());
        drop(listener);
        assert_eq!(reserve_in(port..port + 1).unwrap().0, port);
    }
}
