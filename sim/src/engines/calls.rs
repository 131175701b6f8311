//! Requests, answers and events of the real driver, as a trace has them.

use tenure::store::{Reply, Request};
use tenure::{Instant, StepDownReason};

use crate::plan::{Asking, SimTime};
use crate::trace::{Answer, Asked, Event, Reason, Who};

/// A request; `None` if it is one that changes no lease.
pub(crate) fn asked(request: &Request) -> Option<Asked> {
    match request {
        Request::Acquire { seen, .. } => {
            Some(Asked::Acquire { seen: seen.map_or(0, tenure::Token::get) })
        }
        Request::Renew { token, .. } => Some(Asked::Renew { token: token.get() }),
        Request::Release { token, .. } => Some(Asked::Release { token: token.get() }),
        Request::Describe { .. } | Request::Observe | Request::Notify { .. } => None,
    }
}

/// An answer.
pub(crate) fn answered(reply: &Reply) -> Answer {
    match reply {
        Reply::Granted { token, wait } => {
            Answer::Granted { token: token.get(), waits: !wait.is_zero() }
        }
        Reply::Held(_) => Answer::Held,
        Reply::Refused { .. } => Answer::Refused,
        Reply::Stale { .. } => Answer::Stale,
        Reply::Renewed => Answer::Renewed,
        Reply::Superseded { .. } => Answer::Superseded,
        Reply::Released => Answer::Released,
        Reply::NotHeld => Answer::NotHeld,
        Reply::Described | Reply::Vacant | Reply::Notified { .. } => Answer::Other,
    }
}

/// A candidate's event; `None` if it is one that traces do not have. `when` is the true time at which its clock shows that.
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
        tenure::Event::Quarantined { .. } => Event::Quarantined { who },
        _ => return None,
    })
}

/// The reason for the end of a tenure.
fn in_words(reason: StepDownReason) -> Reason {
    match reason {
        StepDownReason::Expired => Reason::Expired,
        StepDownReason::Superseded => Reason::Superseded,
        // A candidate whose work is lost, is silent or fails hands over on its own.
        StepDownReason::Resigned
        | StepDownReason::WorkLost
        | StepDownReason::Unresponsive
        | StepDownReason::WorkFailed => Reason::Resigned,
        StepDownReason::RenewFailed => Reason::RenewFailed,
        _ => Reason::Other,
    }
}

/// The kind of a request that faults can wait for.
pub(crate) const fn kind(request: &Request) -> Option<Asking> {
    match request {
        Request::Acquire { .. } => Some(Asking::Acquire),
        Request::Renew { .. } => Some(Asking::Renew),
        Request::Release { .. } => Some(Asking::Release),
        Request::Describe { .. } | Request::Observe | Request::Notify { .. } => None,
    }
}
