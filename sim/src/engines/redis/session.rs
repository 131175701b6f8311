//! What a server remembers of a connection.

use std::collections::BTreeSet;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use tokio::sync::Notify;

use super::reply::{Protocol, Reply};

/// Tells sessions apart for as long as the simulation runs. Not the id that clients see, which
/// starts again with each restart: a connection of before must not take a later one for its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionKey(pub(super) u64);

#[derive(Debug)]
pub(super) struct Session {
    /// What CLIENT ID answers.
    pub(super) id: i64,
    /// What CLIENT GETNAME answers; empty means none.
    pub(super) name: Bytes,
    pub(super) protocol: Protocol,
    pub(super) authenticated: bool,
    pub(super) channels: BTreeSet<Bytes>,
    /// QUIT was answered: the connection ends when all is written.
    pub(super) closing: bool,
    /// Bytes to be written to the peer.
    pub(super) out: BytesMut,
    /// Tells the connection's future that `out`, the stall or the session itself has changed.
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

    /// Puts a frame behind those already on their way.
    pub(super) fn send(&mut self, reply: &Reply) {
        reply.encode(self.protocol, &mut self.out);
        self.wake.notify_one();
    }

    /// RESP2 has no push frames: a subscriber of it may do little else.
    pub(super) fn is_resp2_subscriber(&self) -> bool {
        self.protocol == Protocol::Resp2 && !self.channels.is_empty()
    }
}
