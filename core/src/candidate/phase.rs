//! The phases of a candidate. Each phase owns its deadlines, and the next deadline is derived from
//! it, so that a stale timer can't exist.

use core::time::Duration;

use super::watch::LeaseWatch;
use crate::alphabet::Pending;
use crate::claim::Claim;
use crate::id::{HolderId, NameId, RequestId, Token};
use crate::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// Out of the election.
    Idle,
    /// Resigned; campaigns again at `until`.
    HoldingOff { until: Instant },
    /// Asks for the lease, or watches it, and does not hold it.
    Campaigning(Campaign),
    /// Gave up the campaign while an acquire was in flight: it may have been granted.
    Withdrawing { holder: HolderId, flight: Flight, then: Plan },
    /// Leads until the lease's `valid_until`.
    Leading(Lease),
    /// Stepped down; the tenure's work has not ended yet. No acquire from here.
    Draining(Draining),
    /// Hands the lease back.
    Releasing(Releasing),
}

/// One grant: its holder and its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tenure {
    pub(super) holder: HolderId,
    pub(super) token: Token,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Campaign {
    pub(super) holder: HolderId,
    pub(super) attempt: Attempt,
    pub(super) known: Known,
    /// The request in flight is a look.
    pub(super) looks: bool,
    /// The next attempt asks for the lease, watched or not: it may have become vacant.
    pub(super) asks: bool,
    /// A hint came while a request was in flight, whose reply may be older than the hint.
    pub(super) hinted: bool,
    /// Before this instant, a hint causes no attempt.
    pub(super) hints_from: Instant,
    /// The time of the first acquire under this identity, answered or not.
    pub(super) first_asked: Option<Instant>,
    /// The last acquire whose outcome is unknown.
    pub(super) unanswered: Option<RequestId>,
    /// The token of the campaign's own record, as the last answer showed it: of a grant whose reply
    /// was lost.
    pub(super) own: Option<Token>,
    pub(super) wished: Option<Wished>,
}

/// This candidate should lead, instead of the present leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Wished {
    /// The leader's tenure.
    pub(super) token: Token,
    /// The time of the first such answer.
    pub(super) since: Instant,
}

/// A campaign's knowledge of the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Known {
    /// No answer has shown a record, since then.
    Vacant {
        since: Instant,
    },
    Lease(LeaseWatch),
}

impl Known {
    pub(super) const fn lease(self) -> Option<LeaseWatch> {
        match self {
            Self::Lease(watch) => Some(watch),
            Self::Vacant { .. } => None,
        }
    }
}

/// A lease that renewals keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lease {
    pub(super) tenure: Tenure,
    pub(super) valid_until: Instant,
    pub(super) attempt: Attempt,
    /// Since when another candidate is wished for, as far as the leader was told.
    pub(super) other_wished: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Draining {
    pub(super) hold: Hold,
    pub(super) kept_for: Option<NameId>,
    pub(super) then: Plan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Releasing {
    pub(super) tenure: Tenure,
    pub(super) attempt: Attempt,
    pub(super) until: Instant,
    /// The candidate that the lease is given back for: also if this one resigns meanwhile.
    pub(super) kept_for: Option<NameId>,
    pub(super) then: Plan,
}

/// The state of the lease while work drains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Hold {
    /// Renewals keep it until `bound`, and no other candidate can lead meanwhile.
    Kept { lease: Lease, bound: Instant },
    /// No longer renewed. The store may still count it as live.
    Left(Tenure),
    /// The store said that it is over.
    Gone,
}

/// The candidate's plan once it holds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Plan {
    /// Campaigns again: it was not asked to resign.
    Campaign,
    /// Campaigns again after that time: it has resigned for a while.
    HoldOff(Duration),
    /// Stays out of the election: it has resigned for good.
    Idle,
}

/// A request that is repeated until it is answered. At most one is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Attempt {
    /// Not before `at`.
    Due {
        at: Instant,
        failures: u32,
    },
    /// Sent as soon as it is admitted.
    Pending {
        failures: u32,
    },
    InFlight(Flight),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flight {
    pub(super) id: RequestId,
    pub(super) sent_at: Instant,
    pub(super) give_up_at: Instant,
    /// The number of failed attempts before this one.
    pub(super) failures: u32,
}

impl Attempt {
    pub(super) const fn due(at: Instant) -> Self {
        Self::Due { at, failures: 0 }
    }

    /// A pending attempt has none: what happens next is its admission.
    pub(super) const fn deadline(&self) -> Instant {
        match self {
            Self::Due { at, .. } => *at,
            Self::Pending { .. } => Instant::FAR_FUTURE,
            Self::InFlight(flight) => flight.give_up_at,
        }
    }

    /// The same attempt, pending if its time has come.
    pub(super) fn at(self, now: Instant) -> Self {
        match self {
            Self::Due { at, failures } if now >= at => Self::Pending { failures },
            Self::Due { .. } | Self::Pending { .. } | Self::InFlight(_) => self,
        }
    }

    pub(super) const fn is_pending(&self) -> bool {
        matches!(self, Self::Pending { .. })
    }

    /// The flight, if it is the one of this id.
    pub(super) fn answers(&self, id: RequestId) -> Option<Flight> {
        match self {
            Self::InFlight(flight) if flight.id == id => Some(*flight),
            Self::InFlight(_) | Self::Due { .. } | Self::Pending { .. } => None,
        }
    }
}

impl Lease {
    pub(super) const fn claim(&self) -> Claim {
        Claim::new(self.tenure.token, self.valid_until)
    }
}

impl Phase {
    /// The request that waits for its admission, but that of a campaign, which depends on what was
    /// watched.
    pub(super) fn pending(&self) -> Option<Pending> {
        match self {
            Self::Leading(lease)
            | Self::Draining(Draining { hold: Hold::Kept { lease, .. }, .. })
                if lease.attempt.is_pending() =>
            {
                Some(Pending::Renew { valid_until: lease.valid_until })
            }
            Self::Releasing(end) if end.attempt.is_pending() => Some(Pending::Release),
            Self::Campaigning(_)
            | Self::Leading(_)
            | Self::Draining(_)
            | Self::Releasing(_)
            | Self::Idle
            | Self::HoldingOff { .. }
            | Self::Withdrawing { .. } => None,
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Idle => None,
            Self::HoldingOff { until } => Some(*until),
            Self::Campaigning(campaign) if campaign.attempt.is_pending() => None,
            Self::Campaigning(campaign) => Some(campaign.attempt.deadline()),
            Self::Withdrawing { flight, .. } => Some(flight.give_up_at),
            Self::Leading(lease) => Some(lease.attempt.deadline().min(lease.valid_until)),
            Self::Draining(Draining { hold: Hold::Kept { lease, bound }, .. }) => {
                Some(lease.attempt.deadline().min(lease.valid_until).min(*bound))
            }
            Self::Draining(Draining { hold: Hold::Left(_) | Hold::Gone, .. }) => None,
            Self::Releasing(end) => Some(end.attempt.deadline().min(end.until)),
        }
    }
}
