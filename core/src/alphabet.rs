//! The inputs and outputs of a candidate.

use core::fmt;
use core::time::Duration;

use crate::claim::Claim;
use crate::id::{RequestId, Token};
use crate::request::{Reply, Request};
use crate::time::{Instant, Span};

/// An input of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    clippy::large_enum_variant,
    reason = "a box would need an allocator, and inputs are not kept"
)]
pub enum Input {
    /// Take part in the election from now on. Nothing changes for a candidate that already does.
    Campaign,
    /// Give up the lead or the campaign. The claim ends at once; the lease is handed back once the
    /// leader's work has ended.
    Resign {
        /// The pause before the next campaign, so that another candidate can take over; `None`
        /// stays out of the election until the next [`Input::Campaign`].
        again_after: Option<Duration>,
    },
    /// All work that needed the lead has ended. Owed once for every [`Event::SteppedDown`].
    Drained,
    /// A request of this candidate may leave now: the one that is
    /// [pending](crate::Candidate::pending) or, where none is, the next renewal, before its time.
    /// Causes the [`Output::Send`]; has no effect on a candidate that has neither.
    Admitted,
    /// The outcome of an [`Output::Send`].
    Reply {
        /// The request that was answered.
        id: RequestId,
        /// The store's reply, or an unknown outcome.
        result: Result<Reply, Unknown>,
    },
    /// The machine was suspended: time has passed in which the candidate's clock may have run ahead
    /// of others, and nobody watched. Every watch begins anew. First of all inputs after a suspend.
    Resumed,
    /// The lease may have become vacant. Hints are unreliable: they may be late, lost or wrong.
    Hint,
    /// The time of [`Candidate::deadline`](crate::Candidate::deadline) has come. Harmless at any
    /// other time.
    Wake,
}

/// The outcome of a request is not known: it may have been carried out, may still be, or never
/// will.
///
/// An unknown outcome is never treated as "did not happen".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unknown;

/// An order of a candidate to its driver, or a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// Send this request to the store now, and bring its outcome back as [`Input::Reply`]. The only
    /// cause is [`Input::Admitted`].
    Send {
        /// Names the request.
        id: RequestId,
        /// The request.
        request: Request,
        /// From this instant on the candidate no longer waits for the reply.
        give_up_at: Instant,
    },
    /// An event for the application.
    Event(Event),
}

/// A request that waits for its admission: what it is, and what it is worth.
///
/// It has not left, so it was not executed, and it may never be: its candidate may change its mind.
/// A driver admits requests in the order of their worth while the store answers, so that a slow
/// store costs leads that are not gained, and not leads that are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pending {
    /// Another candidate may be waiting for the lease.
    Release,
    /// The claim, or the lease that covers draining work, ends unless the renewal is answered in
    /// time.
    Renew {
        /// The end of the claim's validity.
        valid_until: Instant,
    },
    /// The candidate holds nothing yet.
    Acquire,
    /// The candidate watches a lease.
    Look,
}

/// An event of a candidate. Each [`Event::Elected`] is followed by exactly one
/// [`Event::SteppedDown`] before the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// The candidate leads.
    Elected(Claim),
    /// The leader's claim has been extended.
    Renewed(Claim),
    /// The candidate no longer leads. Work that needs the lead must end, and
    /// [`Input::Drained`] must follow.
    SteppedDown {
        /// The tenure that ended.
        token: Token,
        /// The reason.
        reason: StepDownReason,
        /// The end of orderly work: no other candidate can be granted the lease before this
        /// instant. An [`Event::DrainUntil`] may move it.
        drain_until: Instant,
    },
    /// While the work of a tenure drains: the instant up to which no other candidate can be granted
    /// the lease has moved.
    DrainUntil {
        /// The tenure that ended.
        token: Token,
        /// Replaces the `drain_until` of [`Event::SteppedDown`].
        until: Instant,
    },
    /// Another tenure than the one known so far holds the lease.
    IncumbentChanged {
        /// Its token.
        token: Token,
    },
    /// The candidate may be granted nothing before it has watched for a time. Reported once for
    /// each cause.
    Watching {
        /// The object of the watch.
        watched: Watched,
        /// Until when, if that stays the same.
        until: Instant,
    },
    /// A request's outcome is unknown, for the first time since the store last answered.
    StoreUnavailable {
        /// The time of the request.
        since: Instant,
    },
    /// The store answers again.
    StoreRecovered,
    /// The resignation is complete: the candidate holds nothing that it could still give back.
    Withdrawn,
}

/// The subject of a watch, if it is not another candidate's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Watched {
    /// The store's past: the store may have lost data, so an older leader may be left.
    Past,
    /// A lease of a candidate whose [settings](crate::Candidate::contradiction) contradict the own
    /// ones.
    Settings,
}

/// The recorded settings of another candidate, which contradict the own ones: after a loss of data,
/// one of the two would not wait for the other's leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OtherSettings {
    ttl: Span,
    quarantine: Span,
}

impl OtherSettings {
    pub(crate) const fn new(ttl: Duration, quarantine: Duration) -> Self {
        Self { ttl: Span::of(ttl), quarantine: Span::of(quarantine) }
    }

    /// The TTL of the other candidate: the own quarantine must be at least that.
    pub const fn ttl(&self) -> Duration {
        self.ttl.get()
    }

    /// The quarantine of the other candidate: the own TTL must be at most that.
    pub const fn quarantine(&self) -> Duration {
        self.quarantine.get()
    }
}

/// The reason for a tenure's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StepDownReason {
    /// No renewal succeeded in time.
    Expired,
    /// The store says that the tenure is over.
    Superseded,
    /// The candidate was asked to resign.
    Resigned,
    /// Another candidate was wished for, and asked for the lead.
    HandedOver,
    /// A renewal's outcome is unknown, and the configuration asks for the strict policy.
    RenewFailed,
    /// The leader's work panicked or was dropped. The state machine does not know of work: a driver
    /// that resigns because of it reports this reason instead of [`Resigned`](Self::Resigned).
    WorkLost,
    /// The leader's work gave its watchdog no sign of life in time. Reported by drivers, like
    /// [`WorkLost`](Self::WorkLost).
    Unresponsive,
    /// The leader's work ended with an error. Reported by drivers, like
    /// [`WorkLost`](Self::WorkLost).
    WorkFailed,
}

impl fmt::Display for StepDownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "no renewal succeeded in time",
            Self::Superseded => "the store says that the tenure is over",
            Self::Resigned => "the candidate was asked to resign",
            Self::HandedOver => "another candidate was wished for, and asked for the lead",
            Self::RenewFailed => "a renewal failed, and the strict policy is set",
            Self::WorkLost => "the leader's work panicked or was dropped",
            Self::Unresponsive => "the leader's work gave its watchdog no sign of life in time",
            Self::WorkFailed => "the leader's work ended with an error",
        })
    }
}
