//! A request's effect on a state: the contract's own code decides it, and this turns it into what
//! is to be written.
//!
//! Tokens are revisions plus an offset. A grant's revision is known only once it is written; it is
//! at least the one after the state's, so that is what the contract is told as the store's clock,
//! and a later revision only makes the token higher. Each stamp raises the offset to the time of
//! day, since a cluster that lost its data counts from 1 again.

use tenure_core::contract::server_ends::apply;
use tenure_core::contract::{Moment, Past, Record};
use tenure_core::{Reply, Request, Stamp};

use super::state::State;
use crate::Instant;

/// The highest time of day, in microseconds, that tokens follow: as in the contract.
const LARGEST_TIME: u64 = 1 << 52;

/// The circumstances that the state does not have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances {
    /// The time of day, by the clock of this process.
    pub(super) wall: Instant,
    /// A random stamp.
    pub(super) fresh: Stamp,
    pub(super) trust_empty_store: bool,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision {
    /// A grant's token is the least that it can be.
    pub(super) reply: Reply,
    pub(super) record: Option<Record>,
    pub(super) change: Change,
    /// The past and its offset, if they are to be written.
    pub(super) past: Option<(Past, u64)>,
}

/// The change of the leader's key and of the record.
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
    /// The same, and those that watch the leader's key are woken.
    Wished,
    /// The record is deleted.
    Purged,
}

pub(super) fn decide(state: &State, asked: Request, asking: Circumstances) -> Decision {
    let wall = Some(asking.wall.as_nanos() / 1_000).filter(|micros| *micros <= LARGEST_TIME);
    let wall = wall.unwrap_or(0);
    let offset = state.history.as_ref().map_or(wall, |found| found.value.offset);
    let least = state.revision.saturating_add(1).saturating_add(offset).min(LARGEST_TIME);
    let at = Moment {
        now: Instant::from_nanos(least * 1_000),
        identity: state.cluster.into(),
        fresh: asking.fresh,
        // The past is read with each request, so comparing its identity costs nothing. A purge
        // leaves it to others.
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
        (_, before, after) if before != after => match asked {
            Request::Want { .. } => Change::Wished,
            _ => Change::Noted,
        },
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

/// Once a past was watched for as long as a candidate must, its own watch is not told: it would
/// only be written, and all candidates of a prefix write one past.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::{Acquire, HolderId, NameId, RequestId, Token, UnwatchedPast, WatchedStamp};

    use super::super::record::History;
    use super::super::state::Found;
    use super::*;

    const TTL: Duration = Duration::from_secs(15);
    const OLD: Stamp = Stamp::from_bits(1);

    /// At revision 30, with a past that was watched.
    fn state() -> State {
        let past =
            Past { identity: 5, stamp: OLD, watched: TTL, longest: Duration::ZERO, purged: None };
        let value = History { past, offset: 100, index: 20 };
        State {
            leader: None,
            election: None,
            history: Some(Found { value, modified: 10 }),
            cluster: 5,
            term: 2,
            revision: 30,
            index: Some(40),
        }
    }

    fn asks() -> Acquire {
        let (holder, number) = (HolderId::from_bits(7), RequestId::new(1).unwrap());
        Acquire::new(holder, number, TTL, NameId::from_bits(1))
    }

    /// At 700 us after 1970.
    fn decided(state: &State, asks: Acquire, trust_empty_store: bool) -> Decision {
        let (wall, fresh) = (Instant::from_nanos(700_000), Stamp::from_bits(2));
        decide(state, Request::Acquire(asks), Circumstances { wall, fresh, trust_empty_store })
    }

    fn granted(decided: &Decision) -> Option<u64> {
        let Reply::Granted { token } = decided.reply else { return None };
        assert_eq!(decided.record.map(|record| record.token), Some(token));
        Some(token.get())
    }

    #[test]
    fn a_token_is_the_next_revision_plus_the_offset() {
        let found = decided(&state(), asks(), false);
        assert_eq!((granted(&found), found.change), (Some(131), Change::Granted));
        assert_eq!(found.record.unwrap().written, Instant::from_nanos(700_000));
        let mut purged = state();
        purged.history.as_mut().unwrap().value.past.purged = Token::new(500);
        let seen = Acquire { seen: Token::new(500), ..asks() };
        assert_eq!(granted(&decided(&purged, seen, false)), Some(501));
        let mut far = state();
        far.history.as_mut().unwrap().value.offset = LARGEST_TIME;
        assert_eq!(granted(&decided(&far, asks(), false)), Some(LARGEST_TIME));
    }

    #[test]
    fn another_cluster_begins_a_past_with_an_offset_of_its_own() {
        let other = State { cluster: 6, ..state() };
        let found = decided(&other, asks(), true);
        let Reply::Not(sight) = found.reply else { panic!("{found:?}") };
        let (stamp, longest) = (Stamp::from_bits(2), Duration::ZERO);
        assert_eq!(sight.past, Some(UnwatchedPast { stamp, longest }));
        let (past, offset) = found.past.unwrap();
        assert_eq!((past.identity, past.stamp, past.watched), (6, stamp, Duration::ZERO));
        assert_eq!(offset, 700);
        let mut ahead = other;
        ahead.history.as_mut().unwrap().value.offset = 800;
        assert_eq!(decided(&ahead, asks(), true).past.unwrap().1, 800, "it never falls");
    }

    #[test]
    fn trust_applies_to_new_prefixes_only() {
        let empty = State { history: None, ..state() };
        let found = decided(&empty, asks(), true);
        assert_eq!((granted(&found), found.past.unwrap().1), (Some(731), 700));
        assert_eq!(granted(&decided(&empty, asks(), false)), None);
    }

    #[test]
    fn a_watch_that_nobody_needs_is_not_written() {
        let watched = |time| WatchedStamp { stamp: OLD, time };
        let told = |state: &State, time| {
            let stamp = Some(watched(time));
            decided(state, Acquire { stamp, ..asks() }, false).past.map(|(past, _)| past.watched)
        };
        let mut unwatched = state();
        unwatched.history.as_mut().unwrap().value.past.watched = Duration::ZERO;
        assert_eq!(told(&unwatched, TTL), Some(TTL));
        let mut settled = state();
        settled.history.as_mut().unwrap().value.past.longest = TTL;
        assert_eq!(told(&settled, TTL * 2), None);
    }
}
