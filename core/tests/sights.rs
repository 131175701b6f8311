//! A store's replies, written shortly.

use std::time::Duration;

use tenure_core::contract::Record;
use tenure_core::{
    HolderId, Instant, NameId, Reply, RequestId, Sight, Stamp, Token, UnwatchedPast,
};

/// The candidate's own name.
pub(crate) const NAME: NameId = NameId::from_bits(0xca11);
pub(crate) const RENEWED: Reply = Reply::Renewed { asked: None, wanted: None, past: None };

/// A lease of another candidate, with the settings of 15 s.
pub(crate) fn record(token: Token) -> Record {
    let lasts = Duration::from_secs(15);
    Record {
        token,
        holder: HolderId::from_bits(0xb),
        number: RequestId::new(1).expect("not zero"),
        released: false,
        reservation: None,
        ttl: lasts,
        quarantine: lasts,
        wanted: None,
        asked: None,
        written: Instant::ORIGIN,
    }
}

pub(crate) fn sight(record: Record) -> Sight {
    Sight { last: Some(record.token), record: Some(record), past: None, now: record.written }
}

/// To an acquire: another candidate holds the lease.
pub(crate) fn held(token: Token) -> Reply {
    Reply::Not(sight(record(token)))
}

/// To an acquire: it was given back, and the candidate did not know that token.
pub(crate) fn given_back(token: Token) -> Reply {
    Reply::Not(sight(Record { released: true, ..record(token) }))
}

/// To an acquire: there is no record, and the past is not watched yet.
pub(crate) fn unwatched(stamp: u128, longest: Duration) -> Reply {
    let past = Some(UnwatchedPast { stamp: Stamp::from_bits(stamp), longest });
    Reply::Not(Sight { last: None, record: None, past, now: Instant::ORIGIN })
}

/// The same to a look.
pub(crate) fn looked(reply: Reply) -> Reply {
    match reply {
        Reply::Not(sight) => Reply::At(sight),
        other => other,
    }
}
