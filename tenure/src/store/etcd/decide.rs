//! What a request does to a state: the contract's own code decides it, and this turns it into what is to be written.
//!
//! Tokens are revisions plus an offset. A grant's revision is known only once it is written; it is at least the one
//! after the state's, so that is what the contract is told as the store's clock, and a later revision only makes the
//! token higher. Each stamp raises the offset to the time of day, since a cluster that lost its data counts from 1 again.

use tenure_core::contract::server_ends::apply;
use tenure_core::contract::{Moment, Past, Record};
use tenure_core::{Reply, Request, Stamp};

use super::state::State;
use crate::Instant;

/// The highest time of day, in microseconds, that tokens follow: as in the contract.
const LARGEST_TIME: u64 = 1 << 52;

/// The circumstances that the state does not have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    /// The time of day, by the clock of this process.
    pub(super) wall: Instant,
    /// A random stamp.
    pub(super) fresh: Stamp,
    pub(super) trust_empty_store: bool,
}

/// What comes of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision {
    /// A grant's token is the least that it can be.
    pub(super) reply: Reply,
    pub(super) record: Option<Record>,
    pub(super) change: Change,
    /// The past and its offset, if they are to be written.
    pub(super) past: Option<(Past, u64)>,
}

/// What happens to the leader's key and to the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing.
    None,
    /// A new tenure.
    Granted,
    /// A tenure is granted again, and its key moves to a new etcd lease.
    Again,
    /// The leader's key is deleted.
    Released,
    /// The record alone is written.
    Noted,
    /// The record is deleted.
    Purged,
}

pub(super) fn decide(state: &State, asked: Request, asking: Asking) -> Decision {
    let wall = Some(asking.wall.as_nanos() / 1_000).filter(|micros| *micros <= LARGEST_TIME);
    let wall = wall.unwrap_or(0);
    let offset = state.history.as_ref().map_or(wall, |found| found.value.offset);
    let least = state.revision.saturating_add(1).saturating_add(offset).min(LARGEST_TIME);
    let at = Moment {
        now: Instant::from_nanos(least * 1_000),
        identity: state.cluster.into(),
        fresh: asking.fresh,
        // The past is read with each request, so comparing its identity costs nothing. A purge leaves it to others.
        first: !matches!(asked, Request::Purge { .. }),
        trust_empty_store: asking.trust_empty_store,
    };
    let before = (state.record(), state.past());
    let (mut record, mut past) = before;
    let mut reply = apply(&mut record, &mut past, at, told(asked, before));
    let change = match (&reply, before.0, record) {
        (Reply::Granted { token }, Some(before), _) if before.token == *token => Change::Again,
        (Reply::Granted { .. }, ..) => Change::Granted,
        (Reply::Released, ..) => Change::Released,
        (Reply::Purged, ..) => Change::Purged,
        (_, before, after) if before != after => Change::Noted,
        _ => Change::None,
    };
    if let (Change::Granted | Change::Again | Change::Released, Some(record)) =
        (change, &mut record)
    {
        record.written = asking.wall;
    }
    if let Reply::Not(sight) | Reply::At(sight) = &mut reply {
        sight.now = asking.wall;
        // Renewals are not written: of a lease that the server keeps, nothing else is known.
        if let Some(kept) = sight.record.as_mut().filter(|record| !record.released) {
            kept.written = asking.wall;
        }
    }
    let is_stamped = past.map(|past| past.stamp) != before.1.map(|past| past.stamp);
    let offset = if is_stamped { offset.max(wall) } else { offset };
    let past = past.filter(|past| Some(*past) != before.1).map(|past| (past, offset));
    Decision { reply, record, change, past }
}

/// Once a past was watched for as long as a candidate must, its own watch is not told: it would only be written, and
/// all candidates of a prefix write one past.
fn told(asked: Request, (record, past): (Option<Record>, Option<Past>)) -> Request {
    let settled =
        |quarantine| past.is_some_and(|past: Past| past.watched >= past.longest.max(quarantine));
    match asked {
        Request::Acquire(mut asks) if settled(asks.quarantine) => {
            asks.stamp = None;
            Request::Acquire(asks)
        }
        Request::Renew { holder, token, number, .. }
            if record.is_some_and(|record| settled(record.quarantine)) =>
        {
            Request::Renew { holder, token, number, stamp: None }
        }
        other => other,
    }
}

impl Decision {
    pub(super) fn writes(&self) -> bool {
        self.change != Change::None || self.past.is_some()
    }
}
