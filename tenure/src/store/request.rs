//! Requests to a store and its replies: those of the state machine, with what people want to know besides.

use std::time::Duration;

use bytes::Bytes;

use super::{Message, Profile};
use crate::{HolderId, Token};

/// One atomic step at a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Grant the lease, if it is vacant and the candidate knows the last tenure.
    Acquire {
        /// The campaign's identity.
        holder: HolderId,
        /// The highest token that the candidate knows.
        seen: Option<Token>,
        /// How long the lease lasts from the grant.
        ttl: Duration,
        /// How long the store must have known its history before a grant may be used at once.
        quarantine: Duration,
        /// The candidate's name and metadata.
        profile: Profile,
    },
    /// Extend the live lease of exactly this tenure.
    Renew {
        /// The holder that was granted the lease.
        holder: HolderId,
        /// The tenure's token.
        token: Token,
        /// How long the lease lasts from the renewal.
        ttl: Duration,
    },
    /// End the live lease of exactly this tenure, and wake the candidates that wait.
    Release {
        /// The holder that was granted the lease.
        holder: HolderId,
        /// The tenure's token.
        token: Token,
    },
    /// Replace what the record tells of exactly this tenure's candidate, unless the same or a newer version is recorded.
    /// Whether the lease is still live need not matter: nobody is told of a lease that is over. A store that can't
    /// do it answers with an error of the kind [`Unsupported`](super::StoreErrorKind::Unsupported).
    Describe {
        /// The holder that was granted the lease.
        holder: HolderId,
        /// The tenure's token.
        token: Token,
        /// Counts the profiles of this holder from 1. Those of its acquires have no version, and are older than all
        /// others.
        version: u64,
        /// What other candidates are told from now on.
        profile: Profile,
    },
    /// Ask who holds the lease.
    Observe,
    /// Send a message to the tenure that holds the lease. A store without messages answers with an error.
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
            tenure_core::Request::Acquire { holder, seen, ttl, quarantine } => {
                Self::Acquire { holder, seen, ttl, quarantine, profile: profile() }
            }
            tenure_core::Request::Renew { holder, token, ttl } => {
                Self::Renew { holder, token, ttl }
            }
            tenure_core::Request::Release { holder, token } => Self::Release { holder, token },
        }
    }

    /// The request's name, for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Acquire { .. } => "acquire",
            Self::Renew { .. } => "renew",
            Self::Release { .. } => "release",
            Self::Describe { .. } => "describe",
            Self::Observe => "observe",
            Self::Notify { .. } => "notify",
        }
    }
}

/// What a store answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To an acquire: the lease is the candidate's.
    Granted {
        /// The tenure's token.
        token: Token,
        /// How long the holder must still wait before it may lead, rounded up.
        wait: Duration,
    },
    /// To an acquire or an observe: this incumbent holds the lease.
    Held(Incumbent),
    /// To an acquire: the candidate's TTL is above the quarantine that is recorded, or its quarantine is
    /// below the TTL that is recorded. Nothing was granted.
    Refused {
        /// The TTL that is recorded.
        ttl: Duration,
        /// The quarantine that is recorded, if one is.
        quarantine: Option<Duration>,
    },
    /// To an acquire: vacant, but the candidate did not know the last tenure.
    Stale {
        /// The token of the last tenure.
        last: Token,
    },
    /// To a renew: the lease lasts the whole TTL again.
    Renewed,
    /// To a renew: this tenure is over.
    Superseded {
        /// The token of the last tenure, if the store knows one.
        last: Option<Token>,
    },
    /// To a release: the lease has ended.
    Released,
    /// To a release: this tenure held no lease. To a describe: the record is of another tenure, or there is none.
    NotHeld,
    /// To a describe: the tenure's record has this profile, or a newer one.
    Described,
    /// To an observe or a notify: no candidate holds the lease.
    Vacant,
    /// To a notify: sent to this tenure, whose lease is live. It may still get lost on the way.
    Notified {
        /// The tenure's token.
        token: Token,
    },
}

impl Reply {
    /// Whether this is a possible reply to that request. If it is not, the connection's replies may be out of
    /// step with its requests.
    pub fn answers(&self, request: &Request) -> bool {
        match request {
            Request::Acquire { .. } => {
                matches!(
                    self,
                    Self::Granted { .. }
                        | Self::Held(_)
                        | Self::Refused { .. }
                        | Self::Stale { .. }
                )
            }
            Request::Renew { .. } => matches!(self, Self::Renewed | Self::Superseded { .. }),
            Request::Release { .. } => matches!(self, Self::Released | Self::NotHeld),
            Request::Describe { .. } => matches!(self, Self::Described | Self::NotHeld),
            Request::Observe => matches!(self, Self::Held(_) | Self::Vacant),
            Request::Notify { .. } => matches!(self, Self::Notified { .. } | Self::Vacant),
        }
    }

    /// The contract's reply, with the incumbent for people. Without one, no candidate holds the lease.
    pub(crate) fn of_contract(
        reply: tenure_core::Reply,
        incumbent: impl FnOnce() -> Option<Incumbent>,
    ) -> Self {
        match reply {
            tenure_core::Reply::Granted { token, wait } => Self::Granted { token, wait },
            tenure_core::Reply::Held { .. } => incumbent().map_or(Self::Vacant, Self::Held),
            tenure_core::Reply::Refused { ttl, quarantine } => Self::Refused { ttl, quarantine },
            tenure_core::Reply::Stale { last } => Self::Stale { last },
            tenure_core::Reply::Renewed => Self::Renewed,
            tenure_core::Reply::Superseded { last } => Self::Superseded { last },
            tenure_core::Reply::Released => Self::Released,
            tenure_core::Reply::NotHeld => Self::NotHeld,
        }
    }

    /// The reply for the state machine; `None` for replies to requests that it never makes.
    pub(crate) fn for_machine(&self) -> Option<tenure_core::Reply> {
        Some(match self {
            Self::Granted { token, wait } => {
                tenure_core::Reply::Granted { token: *token, wait: *wait }
            }
            Self::Held(Incumbent { token, remaining, ttl, .. }) => {
                tenure_core::Reply::Held { token: *token, remaining: *remaining, ttl: *ttl }
            }
            Self::Refused { ttl, quarantine } => {
                tenure_core::Reply::Refused { ttl: *ttl, quarantine: *quarantine }
            }
            Self::Stale { last } => tenure_core::Reply::Stale { last: *last },
            Self::Renewed => tenure_core::Reply::Renewed,
            Self::Superseded { last } => tenure_core::Reply::Superseded { last: *last },
            Self::Released => tenure_core::Reply::Released,
            Self::NotHeld => tenure_core::Reply::NotHeld,
            Self::Described | Self::Vacant | Self::Notified { .. } => return None,
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
    /// What remained of its lease when the store answered, rounded up.
    pub remaining: Duration,
    /// For how long its lease was last granted or extended.
    pub ttl: Duration,
}

/// The name and the metadata as text (bytes that are no UTF-8 are replaced), the durations in milliseconds.
#[cfg(feature = "serde")]
impl serde::Serialize for Incumbent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;

        let Self { token, holder, name, metadata, remaining, ttl } = self;
        let millis = |duration: &Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let mut fields = serializer.serialize_struct("Incumbent", 6)?;
        fields.serialize_field("token", token)?;
        fields.serialize_field("holder", holder)?;
        fields.serialize_field("name", name)?;
        fields.serialize_field("metadata", &String::from_utf8_lossy(metadata))?;
        fields.serialize_field("remaining_ms", &millis(remaining))?;
        fields.serialize_field("ttl_ms", &millis(ttl))?;
        fields.end()
    }
}

impl Incumbent {
    /// An incumbent as read from a store's record. Its TTL is assumed to be `remaining`, unless it is
    /// [set](Self::with_ttl).
    pub fn new(
        token: Token,
        holder: HolderId,
        name: impl Into<String>,
        metadata: impl Into<Bytes>,
        remaining: Duration,
    ) -> Self {
        Self {
            token,
            holder,
            name: name.into(),
            metadata: metadata.into(),
            remaining,
            ttl: remaining,
        }
    }

    /// The same, with the TTL of its lease.
    #[must_use]
    pub fn with_ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }
}
