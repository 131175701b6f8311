//! Requests, answers and reasons of the real driver, as a trace has them.

use tenure::StepDownReason;
use tenure::store::{Reply, Request};

use crate::trace::{Answer, Asked, Reason};

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

/// The reason for the end of a tenure.
pub(crate) fn in_words(reason: StepDownReason) -> Reason {
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
#[cfg(any(feature = "overload", feature = "real"))]
pub(crate) const fn kind(request: &Request) -> Option<crate::plan::Asking> {
    use crate::plan::Asking;

    match request {
        Request::Acquire { .. } => Some(Asking::Acquire),
        Request::Renew { .. } => Some(Asking::Renew),
        Request::Release { .. } => Some(Asking::Release),
        Request::Describe { .. } | Request::Observe | Request::Notify { .. } => None,
    }
}
