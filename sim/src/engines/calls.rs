//! Requests, answers and events of candidates, as a trace has them.

use tenure_core::{Reply, Request, Token, UnwatchedPast};

use crate::plan::RequestKind;
use crate::trace::{Answer, Asked, Mark, Reason};

/// A request and its holder, which is zero for a look; `None` if it is one of an operator.
pub(crate) fn asked(request: Request) -> Option<(u128, Asked)> {
    let known = |seen: Option<Token>| seen.map_or(0, Token::get);
    Some(match request {
        Request::Acquire(asks) => {
            let (seen, watched) = (known(asks.seen), asks.mark.map(mark));
            (asks.holder.to_bits(), Asked::Acquire { seen, watched })
        }
        Request::Look { seen, .. } | Request::Ask { seen, .. } => {
            (0, Asked::Look { seen: known(seen) })
        }
        Request::Renew { holder, token, .. } => {
            (holder.to_bits(), Asked::Renew { token: token.get() })
        }
        Request::Release { holder, token, .. } => {
            (holder.to_bits(), Asked::Release { token: token.get() })
        }
        Request::Want { .. } | Request::Purge { .. } => return None,
    })
}

/// An answer.
pub(crate) fn answered(reply: Reply) -> Answer {
    let past_is_watched = |past: Option<UnwatchedPast>| past.is_none();
    match reply {
        Reply::Granted { token } => Answer::Granted { token: token.get() },
        Reply::Not(sight) => Answer::Not { past_is_watched: past_is_watched(sight.past) },
        Reply::At(sight) => Answer::At { past_is_watched: past_is_watched(sight.past) },
        Reply::Renewed { past, .. } => Answer::Renewed { past_is_watched: past_is_watched(past) },
        Reply::Superseded { .. } => Answer::Superseded,
        Reply::Released => Answer::Released,
        Reply::NotHeld => Answer::NotHeld,
        Reply::Noted | Reply::NotNoted | Reply::Purged | Reply::Kept => Answer::Other,
    }
}

/// A lease's mark.
pub(crate) const fn mark(mark: tenure_core::Mark) -> Mark {
    Mark { holder: mark.holder.to_bits(), number: mark.number.get() }
}

/// The reason for the end of a tenure.
pub(crate) const fn in_words(reason: tenure_core::StepDownReason) -> Reason {
    use tenure_core::StepDownReason::{
        Expired, HandedOver, RenewFailed, Resigned, Superseded, Unresponsive, WorkFailed, WorkLost,
    };
    match reason {
        Expired => Reason::Expired,
        Superseded => Reason::Superseded,
        // A candidate whose work is lost, is silent or fails hands over on its own.
        Resigned | WorkLost | Unresponsive | WorkFailed => Reason::Resigned,
        RenewFailed => Reason::RenewFailed,
        HandedOver => Reason::HandedOver,
        _ => Reason::Other,
    }
}

impl Asked {
    /// The kind of the request, for which faults can wait.
    pub(crate) const fn kind(self) -> RequestKind {
        match self {
            Self::Acquire { .. } => RequestKind::Acquire,
            Self::Look { .. } => RequestKind::Look,
            Self::Renew { .. } => RequestKind::Renew,
            Self::Release { .. } => RequestKind::Release,
        }
    }
}

/// The same of the real driver.
#[cfg(any(feature = "real", feature = "turmoil"))]
pub(crate) mod of_driver {
    use tenure::Instant;
    use tenure::store::{Reply, Request};

    use super::in_words;
    use crate::plan::SimTime;
    use crate::trace::{Answer, Asked, Event, Who};

    /// A request and its holder, which is zero for a look; `None` if it is one that no candidate's
    /// machine makes.
    pub(crate) fn asked(request: &Request) -> Option<(u128, Asked)> {
        super::asked(request.to_contract()?)
    }

    /// An answer.
    pub(crate) fn answered(reply: &Reply) -> Answer {
        reply.to_contract().map_or(Answer::Other, super::answered)
    }

    /// A candidate's event; `None` if it is one that traces do not have. `when` is the true time at
    /// which its clock shows that.
    pub(crate) fn traced(
        who: Who,
        event: &tenure::Event,
        when: impl Fn(Instant) -> SimTime,
    ) -> Option<Event> {
        Some(match event {
            tenure::Event::Elected(tenure) => {
                let (token, claim_ends) = (tenure.token().get(), when(tenure.valid_until()));
                Event::Elected { who, token, claim_ends }
            }
            tenure::Event::Renewed(tenure) => {
                let (token, claim_ends) = (tenure.token().get(), when(tenure.valid_until()));
                Event::Renewed { who, token, claim_ends }
            }
            tenure::Event::SteppedDown { tenure, reason } => {
                let (token, drain_ends) = (tenure.token().get(), when(tenure.drain_until()));
                Event::SteppedDown { who, token, reason: in_words(*reason), drain_ends }
            }
            tenure::Event::Watching { .. } => Event::Watches { who },
            _ => return None,
        })
    }
}
