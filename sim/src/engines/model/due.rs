//! Pending events.

use super::algorithm::{Algorithm, Session};
use super::server::Request;
use crate::engines::sink::Write;

/// An event of the queue.
pub(super) enum Due<A: Algorithm> {
    /// A request reaches the store.
    Request(Request<A>),
    /// An answer reaches a node; `None` means that no answer will arrive.
    Answer { session: Session, id: A::Id, reply: Option<A::Reply> },
    /// A hint that the lease may be vacant reaches a node.
    Hint(Session),
    /// A write reaches the sinks.
    Write(Write),
}
