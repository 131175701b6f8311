//! Requests to a store and its replies: those of the state machine, with what people want to know
//! besides.

use std::time::Duration;

use bytes::Bytes;

use tenure_core::{
    Acquire, Asked, Mark, RequestId, Reservation, Sight, UnwatchedPast, WatchedStamp, Wish,
};

use super::{Message, Profile};
use crate::{HolderId, Instant, Token};

/// One atomic step at a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Grant the lease, if nobody holds it or the candidate has watched it for as long as it must.
    Acquire {
        /// The machine's request.
        asks: Acquire,
        /// The candidate's name and metadata.
        profile: Profile,
    },
    /// Tell who holds the lease.
    Look {
        /// The highest token that the candidate knows.
        seen: Option<Token>,
        /// The time that a past is watched.
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
    /// Give the lease of exactly this tenure back, and wake the candidates that wait.
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
        /// The candidate that asks.
        asked: Asked,
        /// The highest token that the candidate knows.
        seen: Option<Token>,
        /// The time that a past is watched.
        quarantine: Duration,
    },
    /// Note who should lead instead of exactly this tenure; an operator's request.
    Want {
        /// The leader's token.
        token: Token,
        /// The requested successor; `None` withdraws it.
        wish: Option<Wish>,
    },
    /// Replace what the record tells of exactly this tenure's candidate, unless the same or a newer
    /// version is recorded. A lease that was given back may be described too: nobody is told of it.
    /// A store that can't do it answers with an error of the kind
    /// [`Unsupported`](super::StoreErrorKind::Unsupported).
    Describe {
        /// The holder that was granted the lease.
        holder: HolderId,
        /// The tenure's token.
        token: Token,
        /// Counts the profiles of this holder from 1. Those of its acquires have no version, and
        /// are older than all others.
        version: u64,
        /// The candidate's new profile.
        profile: Profile,
    },
    /// A look of somebody who never leads. It writes nothing.
    Observe,
    /// Send a message to the tenure that holds the lease. A store without messages answers with an
    /// error.
    Notify {
        /// The message.
        message: Message,
    },
}

impl Request {
    pub(crate) fn of_machine(
        request: tenure_core::Request,
        profile: impl FnOnce() -> Profile,
    ) -> Self {
        match request {
            tenure_core::Request::Acquire(asks) => Self::Acquire { asks, profile: profile() },
            tenure_core::Request::Look { seen, quarantine } => Self::Look { seen, quarantine },
            tenure_core::Request::Renew { holder, token, number, stamp } => {
                Self::Renew { holder, token, number, stamp }
            }
            tenure_core::Request::Release { holder, token, reservation } => {
                Self::Release { holder, token, reservation }
            }
            tenure_core::Request::Ask { token, asked, seen, quarantine } => {
                Self::Ask { token, asked, seen, quarantine }
            }
            tenure_core::Request::Want { token, wish } => Self::Want { token, wish },
            tenure_core::Request::Purge { .. } => unreachable!("a machine purges nothing"),
        }
    }

    /// The request of the contract, if it is one: without what people want to know besides.
    pub fn to_contract(&self) -> Option<tenure_core::Request> {
        Some(match *self {
            Self::Acquire { asks, .. } => tenure_core::Request::Acquire(asks),
            Self::Look { seen, quarantine } => tenure_core::Request::Look { seen, quarantine },
            Self::Renew { holder, token, number, stamp } => {
                tenure_core::Request::Renew { holder, token, number, stamp }
            }
            Self::Release { holder, token, reservation } => {
                tenure_core::Request::Release { holder, token, reservation }
            }
            Self::Ask { token, asked, seen, quarantine } => {
                tenure_core::Request::Ask { token, asked, seen, quarantine }
            }
            Self::Want { token, wish } => tenure_core::Request::Want { token, wish },
            Self::Describe { .. } | Self::Observe | Self::Notify { .. } => return None,
        })
    }

    /// The request's name, for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Acquire { .. } => "acquire",
            Self::Look { .. } => "look",
            Self::Ask { .. } => "ask",
            Self::Want { .. } => "want",
            Self::Renew { .. } => "renew",
            Self::Release { .. } => "release",
            Self::Describe { .. } => "describe",
            Self::Observe => "observe",
            Self::Notify { .. } => "notify",
        }
    }
}

/// A reply of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To an acquire: the lease is the candidate's.
    Granted {
        /// The tenure's token.
        token: Token,
    },
    /// To an acquire: nothing was granted.
    Not(Shown),
    /// To a look, an ask and an observe.
    At(Shown),
    /// To a renew: the lease has the renewal's mark, or that of a later one.
    Renewed {
        /// A request for the lead since the renewal before.
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
    /// To a release: this tenure held no lease. To a describe: the record is of another tenure, or
    /// there is none.
    NotHeld,
    /// To a describe: the tenure's record has this profile, or a newer one.
    Described,
    /// To a want: the wish was noted.
    Noted,
    /// To a want: this tenure is over.
    NotNoted,
    /// To a notify: no candidate holds the lease.
    Vacant,
    /// To a notify: sent to this tenure, which has not given its lease back. It may still get lost
    /// on the way.
    Notified {
        /// The tenure's token.
        token: Token,
    },
}

/// The view of an election at a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The basis of decisions.
    pub sight: Sight,
    /// The profile in the record, if there is a record.
    pub profile: Option<Profile>,
}

impl Shown {
    /// The last renewal's mark and time. Where the server ends leases itself, the mark stays the
    /// same, and what it keeps is shown as renewed.
    pub(crate) fn renewal(&self) -> Option<(Mark, Instant)> {
        self.sight.record.map(|record| (record.mark(), record.written))
    }

    /// The leader, as far as the record tells: the candidate of a lease that was not given back.
    pub fn incumbent(&self) -> Option<Incumbent> {
        let record = self.sight.record.filter(|record| !record.released)?;
        let profile = self.profile.as_ref();
        Some(Incumbent {
            token: record.token,
            holder: record.holder,
            name: profile.map(|profile| profile.name().to_owned()).unwrap_or_default(),
            metadata: profile.map(|profile| profile.metadata().clone()).unwrap_or_default(),
            ttl: record.ttl,
            renewed_ago: self.sight.now.since(record.written),
            wanted: record.wanted,
        })
    }
}

impl Reply {
    /// True if this is a possible reply to that request. If it is not, the connection's replies may
    /// be out of step with its requests.
    pub fn answers(&self, request: &Request) -> bool {
        match request {
            Request::Acquire { .. } => matches!(self, Self::Granted { .. } | Self::Not(_)),
            Request::Look { .. } | Request::Ask { .. } | Request::Observe => {
                matches!(self, Self::At(_))
            }
            Request::Renew { .. } => {
                matches!(self, Self::Renewed { .. } | Self::Superseded { .. })
            }
            Request::Release { .. } => matches!(self, Self::Released | Self::NotHeld),
            Request::Want { .. } => matches!(self, Self::Noted | Self::NotNoted),
            Request::Describe { .. } => matches!(self, Self::Described | Self::NotHeld),
            Request::Notify { .. } => matches!(self, Self::Notified { .. } | Self::Vacant),
        }
    }

    /// The contract's reply, with what is shown to people.
    ///
    /// # Panics
    /// At the answer to a purge: the store's own method gives it.
    pub fn from_contract(
        reply: tenure_core::Reply,
        profile: impl FnOnce() -> Option<Profile>,
    ) -> Self {
        match reply {
            tenure_core::Reply::Granted { token } => Self::Granted { token },
            tenure_core::Reply::Not(sight) => Self::Not(Shown { sight, profile: profile() }),
            tenure_core::Reply::At(sight) => Self::At(Shown { sight, profile: profile() }),
            tenure_core::Reply::Renewed { asked, wanted, past } => {
                Self::Renewed { asked, wanted, past }
            }
            tenure_core::Reply::Superseded { last } => Self::Superseded { last },
            tenure_core::Reply::Released => Self::Released,
            tenure_core::Reply::NotHeld => Self::NotHeld,
            tenure_core::Reply::Noted => Self::Noted,
            tenure_core::Reply::NotNoted => Self::NotNoted,
            tenure_core::Reply::Purged | tenure_core::Reply::Kept => {
                unreachable!("a purge has an answer of its own")
            }
        }
    }

    /// The reply of the contract, if it is one: without what is shown to people.
    pub fn to_contract(&self) -> Option<tenure_core::Reply> {
        Some(match self {
            Self::Granted { token } => tenure_core::Reply::Granted { token: *token },
            Self::Not(shown) => tenure_core::Reply::Not(shown.sight),
            Self::At(shown) => tenure_core::Reply::At(shown.sight),
            Self::Renewed { asked, wanted, past } => {
                tenure_core::Reply::Renewed { asked: *asked, wanted: *wanted, past: *past }
            }
            Self::Superseded { last } => tenure_core::Reply::Superseded { last: *last },
            Self::Released => tenure_core::Reply::Released,
            Self::NotHeld => tenure_core::Reply::NotHeld,
            Self::Described
            | Self::Noted
            | Self::NotNoted
            | Self::Vacant
            | Self::Notified { .. } => return None,
        })
    }
}

/// The leader as other candidates see it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Incumbent {
    /// The tenure's token.
    pub token: Token,
    /// The campaign's identity.
    pub holder: HolderId,
    /// The candidate's name.
    pub name: String,
    /// The candidate's metadata.
    pub metadata: Bytes,
    /// The lease's time to live without a renewal.
    pub ttl: Duration,
    /// The time since its lease was last renewed, by the store's clock: for people. It is wrong
    /// after that clock was set.
    pub renewed_ago: Duration,
    /// Whom an operator wishes to lead instead, until the next grant.
    pub wanted: Option<Wish>,
}

/// The name and the metadata as text (bytes that are no UTF-8 are replaced), the durations in
/// milliseconds, a wish as `"anybody"` or the digest of a name.
#[cfg(feature = "serde")]
impl serde::Serialize for Incumbent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;

        let Self { token, holder, name, metadata, ttl, renewed_ago, wanted } = self;
        let millis = |duration: &Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let mut fields = serializer.serialize_struct("Incumbent", 7)?;
        fields.serialize_field("token", token)?;
        fields.serialize_field("holder", holder)?;
        fields.serialize_field("name", name)?;
        fields.serialize_field("metadata", &String::from_utf8_lossy(metadata))?;
        fields.serialize_field("ttl_ms", &millis(ttl))?;
        fields.serialize_field("renewed_ago_ms", &millis(renewed_ago))?;
        let wanted = wanted.map(|wish| match wish {
            Wish::Anybody => "anybody".to_owned(),
            Wish::Name(name) => name.to_string(),
        });
        fields.serialize_field("wanted", &wanted)?;
        fields.end()
    }
}
