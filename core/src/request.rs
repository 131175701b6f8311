//! The requests of candidates to a store, and its replies.

use core::time::Duration;

use crate::id::{HolderId, NameId, RequestId, Stamp, Token};
use crate::record::{Asked, Mark, Record, Reservation, Wish};
use crate::time::Instant;

/// For how long a candidate has watched a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WatchedStamp {
    /// The stamp.
    pub stamp: Stamp,
    /// The time since the answer that first told it, on the candidate's clock.
    pub time: Duration,
}

/// A past that the one who asks must watch before it may be granted anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnwatchedPast {
    /// Its stamp.
    pub stamp: Stamp,
    /// The longest TTL that is known to have been granted: a watch takes as long, or the
    /// quarantine, if that is longer.
    pub longest: Duration,
}

/// One atomic step at the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// Grant the lease, if nobody holds it or the candidate has watched it for as long as it must.
    Acquire(Acquire),
    /// Tell who holds the lease.
    Look {
        /// The highest token that the candidate knows.
        seen: Option<Token>,
        /// The time that the candidate watches a past.
        quarantine: Duration,
    },
    /// Extend the lease of exactly this tenure.
    Renew {
        /// The holder that was granted the lease.
        holder: HolderId,
        /// The tenure's token.
        token: Token,
        /// The request's number: together with the holder, the lease's new mark.
        number: RequestId,
        /// The stamp that the holder watches, if it was told one.
        stamp: Option<WatchedStamp>,
    },
    /// Give the lease of exactly this tenure back.
    Release {
        /// The holder that was granted the lease.
        holder: HolderId,
        /// The tenure's token.
        token: Token,
        /// For whom, if not for everybody.
        reservation: Option<Reservation>,
    },
    /// A look that tells the leader of exactly this tenure who would like to lead.
    Ask {
        /// The leader's token.
        token: Token,
        /// The candidate.
        asked: Asked,
        /// The highest token that the candidate knows.
        seen: Option<Token>,
        /// The time that the candidate watches a past.
        quarantine: Duration,
    },
    /// Note who should lead instead of exactly this tenure; an operator's request.
    Want {
        /// The leader's token.
        token: Token,
        /// The requested successor; `None` takes the request back.
        wish: Option<Wish>,
    },
    /// Delete the election's record, if it still has this mark; an operator's request.
    Purge {
        /// The record's mark.
        mark: Mark,
        /// True if the mark was watched, unchanged, for the longer of the record's TTL and its
        /// quarantine.
        watched: bool,
    },
}

/// An acquire. What it says that its candidate has watched was watched in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Acquire {
    /// The campaign.
    pub holder: HolderId,
    /// The request's number: together with the holder, the mark of the lease that it wins.
    pub number: RequestId,
    /// The highest token that the candidate knows.
    pub seen: Option<Token>,
    /// The loss of `seen` that the candidate has watched out, if it knows of one: what the store
    /// knew instead.
    pub lost: Option<Loss>,
    /// The mark that the candidate has watched for as long as the record demands.
    pub mark: Option<Mark>,
    /// The stamp that the candidate watches, if it was told one.
    pub stamp: Option<WatchedStamp>,
    /// The time that others must watch the lease before they may take it.
    pub ttl: Duration,
    /// The time that the candidate watches a past before it may be granted anything.
    pub quarantine: Duration,
    /// The candidate's name.
    pub name: NameId,
}

impl Acquire {
    /// An acquire of a candidate that knows no tenure and has watched nothing, with a quarantine as
    /// long as its TTL.
    pub const fn new(holder: HolderId, number: RequestId, ttl: Duration, name: NameId) -> Self {
        let (seen, lost, mark, stamp, quarantine) = (None, None, None, None, ttl);
        Self { holder, number, seen, lost, mark, stamp, ttl, quarantine, name }
    }
}

/// A store knows less than a candidate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Loss {
    /// The last token that the store knows of.
    pub last: Option<Token>,
}

/// A store's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// To an acquire: the lease is the candidate's.
    Granted {
        /// The tenure's token.
        token: Token,
    },
    /// To an acquire: nothing was granted.
    Not(Sight),
    /// To a look and an ask.
    At(Sight),
    /// To a renew: the lease has the renewal's mark, or that of a later one.
    Renewed {
        /// A candidate that asked for the lead since the renewal before.
        asked: Option<Asked>,
        /// Whom an operator wishes to lead.
        wanted: Option<Wish>,
        /// The past, if it is not watched yet.
        past: Option<UnwatchedPast>,
    },
    /// To a renew: this tenure is over.
    Superseded {
        /// The token of the last tenure, if the store knows one.
        last: Option<Token>,
    },
    /// To a release: the lease was given back.
    Released,
    /// To a release: this tenure held no lease.
    NotHeld,
    /// To a want: the wish was noted.
    Noted,
    /// To a want: this tenure is over.
    NotNoted,
    /// To a purge: the record was deleted.
    Purged,
    /// To a purge: nothing was deleted.
    Kept,
}

/// A waiting candidate's view of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sight {
    /// The last token that the store knows of: the record's; without a record, the highest of those
    /// that were purged.
    pub last: Option<Token>,
    /// The record, if the election has one.
    pub record: Option<Record>,
    /// The past, if it is not watched yet.
    pub past: Option<UnwatchedPast>,
    /// The store's clock. With the time at which the record was written, it hints at when the
    /// leader renews next; nothing else rests on it.
    pub now: Instant,
}
