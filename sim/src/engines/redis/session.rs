//! The server's state for one connection.

use std::collections::BTreeSet;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use tokio::sync::Notify;

use super::reply::{Protocol, Reply};

/// Identifies a session for as long as the simulation runs. Clients see another id, which restarts
/// with the server: a connection from before a restart must not use a later session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionKey(pub(super) u64);

#[derive(Debug)]
pub(super) struct Session {
    /// The answer of CLIENT ID.
    pub(super) id: i64,
    /// The answer of CLIENT GETNAME; empty means none.
    pub(super) name: Bytes,
    pub(super) protocol: Protocol,
    pub(super) authenticated: bool,
    pub(super) channels: BTreeSet<Bytes>,
    /// QUIT was answered: the connection ends when all is written.
    pub(super) closing: bool,
    /// Bytes to be written to the peer.
    pub(super) out: BytesMut,
    /// Wakes the connection's future after a change of `out`, of the stall or of the session.
    pub(super) wake: Rc<Notify>,
}

impl Session {
    pub(super) fn new(id: i64, authenticated: bool) -> Self {
        Self {
            id,
            name: Bytes::new(),
            protocol: Protocol::Resp2,
            authenticated,
            channels: BTreeSet::new(),
            closing: false,
            out: BytesMut::new(),
            wake: Rc::default(),
        }
    }

    /// Appends a frame to the output.
    pub(super) fn send(&mut self, reply: &Reply) {
        reply.encode(self.protocol, &mut self.out);
        self.wake.notify_one();
    }

    /// RESP2 has no push frames, so its subscribers may run few commands.
    pub(super) fn is_resp2_subscriber(&self) -> bool {
        self.protocol == Protocol::Resp2 && !self.channels.is_empty()
    }
}
