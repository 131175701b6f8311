//! The calls to the store that are under way, and when they are given up.
//!
//! An election gives its own requests up, since its timer has their deadlines. A call is cancelled
//! once none of its requests is wanted any more: that condemns the connection, which all elections
//! share. Questions and descriptions are given up here: their elections may be gone.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;
use tenure_core::{Instant, Pending, Request, RequestId, Token};

use crate::admission::Lane;
use crate::alphabet::{CallId, DescribeOutcome, ElectionId, InCall, Outcome, Outgoing};

/// The calls under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    flying: BTreeMap<CallId, Flying>,
    /// The times at which questions and descriptions are given up.
    patience: BTreeSet<(Instant, CallId)>,
    questions: usize,
}

/// A call that has left.
#[derive(Clone, Debug)]
pub(crate) struct Flying {
    pub(crate) lane: Lane,
    pub(crate) left_at: Instant,
    pub(crate) carries: Carries,
}

#[derive(Clone, Debug)]
pub(crate) enum Carries {
    Requests {
        each: SmallVec<[(ElectionId, RequestId); 1]>,
        /// The number of those that have not been given up.
        wanted: usize,
    },
    Question {
        give_up_at: Instant,
    },
    Description {
        about: Description,
        give_up_at: Instant,
    },
}

/// The subject of a description.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Description {
    pub(crate) election: ElectionId,
    pub(crate) token: Token,
    /// The failures that its election had counted.
    pub(crate) failures: u32,
}

/// The end of a call.
#[derive(Clone, Debug)]
pub(crate) enum End {
    Results(Vec<Outcome>),
    Described { version: u64, outcome: DescribeOutcome },
    GivenUp,
}

impl End {
    /// The outcome of that request. One without a result counts as refused.
    pub(crate) fn of_request(&self, index: usize) -> Outcome {
        match self {
            Self::Results(results) => results.get(index).copied().unwrap_or(Outcome::Refused),
            Self::Described { .. } | Self::GivenUp => Outcome::Unanswered,
        }
    }

    /// The version that was sent, and how that has ended.
    pub(crate) const fn of_description(&self) -> (u64, DescribeOutcome) {
        match self {
            Self::Described { version, outcome } => (*version, *outcome),
            Self::Results(_) | Self::GivenUp => (0, DescribeOutcome::Unanswered),
        }
    }
}

impl Carries {
    /// True if a server has answered any of it.
    pub(crate) fn was_answered(&self, end: &End) -> bool {
        match self {
            Self::Requests { each, .. } => {
                (0..each.len()).any(|index| end.of_request(index).is_answer())
            }
            Self::Question { .. } => end.of_request(0).is_answer(),
            Self::Description { .. } => end.of_description().1.is_answer(),
        }
    }

    const fn patience(&self) -> Option<Instant> {
        match self {
            Self::Requests { .. } => None,
            Self::Question { give_up_at } | Self::Description { give_up_at, .. } => {
                Some(*give_up_at)
            }
        }
    }
}

impl Calls {
    pub(crate) fn leaves(&mut self, call: CallId, flying: Flying) {
        if let Some(at) = flying.carries.patience() {
            self.patience.insert((at, call));
        }
        self.questions += usize::from(matches!(flying.carries, Carries::Question { .. }));
        self.flying.insert(call, flying);
    }

    /// `None` if it was cancelled, or never left.
    pub(crate) fn ended(&mut self, call: CallId) -> Option<Flying> {
        let flying = self.flying.remove(&call)?;
        if let Some(at) = flying.carries.patience() {
            self.patience.remove(&(at, call));
        }
        self.questions -= usize::from(matches!(flying.carries, Carries::Question { .. }));
        Some(flying)
    }

    /// An election gives up one of its requests. The call, if none of its requests is wanted any
    /// more.
    pub(crate) fn give_up_one(&mut self, call: CallId) -> Option<Flying> {
        let flying = self.flying.get_mut(&call)?;
        let Carries::Requests { wanted, .. } = &mut flying.carries else { return None };
        *wanted = wanted.saturating_sub(1);
        if *wanted == 0 { self.ended(call) } else { None }
    }

    /// A question or a description whose time is over.
    pub(crate) fn late(&self, now: Instant) -> Option<CallId> {
        self.patience.first().filter(|(at, _)| *at <= now).map(|(_, call)| *call)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.patience.first().map(|(at, _)| *at)
    }

    pub(crate) fn has_questions(&self) -> bool {
        self.questions > 0
    }

    pub(crate) fn len(&self) -> usize {
        self.flying.len()
    }
}

/// The requests of one election that are under way. Usually one; two while a lease is handed back
/// before its last renewal was answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests(SmallVec<[UnderWay; 1]>);

#[derive(Clone, Copy, Debug)]
pub(crate) struct UnderWay {
    id: RequestId,
    pub(crate) name: &'static str,
    give_up_at: Instant,
    pub(crate) call: CallId,
}

impl Requests {
    pub(crate) fn leaves(
        &mut self,
        id: RequestId,
        name: &'static str,
        give_up_at: Instant,
        call: CallId,
    ) {
        self.0.push(UnderWay { id, name, give_up_at, call });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A request has ended. `None` if it was given up before.
    pub(crate) fn ended(&mut self, id: RequestId) -> Option<UnderWay> {
        let place = self.0.iter().position(|one| one.id == id)?;
        Some(self.0.remove(place))
    }

    /// The earliest time to give one up.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.0.iter().map(|one| one.give_up_at).min()
    }

    /// One whose time is over.
    pub(crate) fn give_up(&mut self, now: Instant) -> Option<UnderWay> {
        let place = self.0.iter().position(|one| one.give_up_at <= now)?;
        Some(self.0.remove(place))
    }
}

/// The requests that leave with the next call.
#[derive(Clone, Debug, Default)]
pub(crate) struct NextCall {
    pub(crate) requests: Vec<Outgoing>,
    /// The call and the time of its departure, once it has a request.
    pub(crate) left: Option<(CallId, Lane, Instant)>,
}

/// Requests of one kind may share a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Release,
    Renew,
    Look,
    Acquire,
}

impl Kind {
    const fn of(request: &Request) -> Option<Self> {
        match request {
            Request::Release { .. } => Some(Self::Release),
            Request::Renew { .. } => Some(Self::Renew),
            Request::Look { .. } | Request::Ask { .. } => Some(Self::Look),
            Request::Acquire(_) => Some(Self::Acquire),
            Request::Want { .. } | Request::Purge { .. } => None,
        }
    }

    const fn of_pending(pending: Pending) -> Self {
        match pending {
            Pending::Release => Self::Release,
            Pending::Renew { .. } => Self::Renew,
            Pending::Look => Self::Look,
            Pending::Acquire => Self::Acquire,
        }
    }

    const fn most(self, in_call: &InCall) -> usize {
        match self {
            Self::Release => 1,
            Self::Renew => in_call.renewals,
            Self::Look => in_call.looks,
            Self::Acquire => in_call.acquires,
        }
    }
}

impl NextCall {
    /// True if another request of that kind may join.
    pub(crate) fn has_room(&self, pending: Pending, in_call: &InCall) -> bool {
        let kind = Kind::of_pending(pending);
        self.requests.len() < kind.most(in_call) && self.has_only(Some(kind))
    }

    /// True if this request may share a call with the present ones.
    pub(crate) fn is_alike(&self, request: &Request) -> bool {
        self.has_only(Kind::of(request))
    }

    fn has_only(&self, kind: Option<Kind>) -> bool {
        self.requests.iter().all(|one| Kind::of(&one.request) == kind)
    }
}

/// The name of a request, for windows, logs and metrics.
pub(crate) const fn name_of(request: &Request) -> &'static str {
    match request {
        Request::Acquire(_) => "acquire",
        Request::Look { .. } => "look",
        Request::Renew { .. } => "renew",
        Request::Release { .. } => "release",
        Request::Ask { .. } => "ask",
        Request::Want { .. } => "want",
        Request::Purge { .. } => "purge",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Instant = Instant::from_nanos(1_000_000_000);

    fn flying(carries: Carries) -> Flying {
        Flying { lane: Lane::Usual, left_at: NOW, carries }
    }

    #[test]
    fn a_call_is_given_up_with_its_last_request() {
        let mut calls = Calls::default();
        let each = [1, 2, 3].map(|id| (id, RequestId::FIRST)).into_iter().collect();
        calls.leaves(CallId(1), flying(Carries::Requests { each, wanted: 3 }));
        assert!(calls.give_up_one(CallId(1)).is_none());
        assert!(calls.give_up_one(CallId(1)).is_none());
        assert!(calls.give_up_one(CallId(1)).is_some());
        assert!(calls.give_up_one(CallId(1)).is_none());
        assert!(calls.ended(CallId(1)).is_none(), "its answer is for nobody");
    }

    #[test]
    fn questions_are_given_up_in_order() {
        let mut calls = Calls::default();
        for (call, seconds) in [(1, 5), (2, 3), (3, 4)] {
            let give_up_at = NOW + Duration::from_secs(seconds);
            calls.leaves(CallId(call), flying(Carries::Question { give_up_at }));
        }
        assert_eq!(calls.deadline(), Some(NOW + Duration::from_secs(3)));
        assert_eq!(calls.late(NOW), None);
        let later = NOW + Duration::from_secs(4);
        assert_eq!(calls.late(later), Some(CallId(2)));
        assert!(calls.ended(CallId(2)).is_some());
        assert_eq!(calls.late(later), Some(CallId(3)));
        assert!(calls.ended(CallId(3)).is_some());
        assert_eq!(calls.late(later), None);
        assert!(calls.has_questions());
        assert!(calls.ended(CallId(1)).is_some());
        assert!(!calls.has_questions());
        assert_eq!((calls.deadline(), calls.len()), (None, 0));
    }
}
