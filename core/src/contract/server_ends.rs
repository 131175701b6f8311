//! The contract at a server that ends leases itself, by its own clock, as etcd does.
//!
//! The server keeps a lease beside the record, and a renewal extends that one: the record's mark
//! stays the same. So a lease that the server keeps can't be taken, however long it was watched. A
//! lease that the server has [`ended`] is one that was given back, for nobody.

use super::{Moment, Past, Record};
use crate::request::{Acquire, Reply, Request};

/// [`apply`](super::apply) at such a server: the record says `released` exactly if the server keeps
/// no lease.
pub fn apply(
    record: &mut Option<Record>,
    past: &mut Option<Past>,
    at: Moment,
    request: Request,
) -> Reply {
    let before = *record;
    let is_kept = before.is_some_and(|lease| !lease.released);
    let judged = match request {
        Request::Acquire(asks) if is_kept => Request::Acquire(Acquire { mark: None, ..asks }),
        Request::Purge { mark, .. } => Request::Purge { mark, watched: false },
        other => other,
    };
    let reply = super::apply(record, past, at, judged);
    if let (Request::Renew { .. }, Some(before), Some(after)) = (request, before, record) {
        (after.number, after.written) = (before.number, before.written);
    }
    reply
}

/// The server has ended the lease.
pub const fn ended(record: &mut Record) {
    if !record.released {
        record.released = true;
        record.reservation = None;
    }
}
