//! A candidate's requests, as far as they say whether it waits for the lease.

use crate::plan::SimTime;
use crate::trace::{Answer, Asked};

/// The last request of a candidate. Zero stands for no request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asker {
    id: u64,
    request: Option<Asked>,
    pub(super) sent_at: SimTime,
    /// Its first request in the calm.
    first_in_calm: Option<u64>,
    /// True if a request that was sent in the calm has been answered: no earlier fault affects the
    /// connection between it and the store any more.
    pub(super) is_settled: bool,
    /// The state of its last request.
    last: Last,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    /// It has not been answered.
    #[default]
    Open,
    /// Another candidate has the lease.
    Refused,
    /// It was answered in another way, or will not be answered.
    Over,
}

impl Asker {
    pub(super) fn sent(&mut self, at: SimTime, id: u64, request: Asked, is_calm: bool) {
        (self.id, self.request, self.sent_at) = (id, Some(request), at);
        self.last = Last::Open;
        if is_calm {
            self.first_in_calm.get_or_insert(id);
        }
    }

    pub(super) fn answered(&mut self, id: u64, answer: Option<Answer>) {
        if self.first_in_calm.is_some_and(|first| id >= first) && answer.is_some() {
            self.is_settled = true;
        }
        if self.id == id {
            let is_refused = matches!(answer, Some(Answer::Not { .. } | Answer::At { .. }));
            self.last = if is_refused { Last::Refused } else { Last::Over };
        }
    }

    /// True if its last request has that id.
    pub(super) fn asked_last(&self, id: u64) -> bool {
        self.id == id
    }

    /// The token it knew in its campaign, if it campaigns; zero is none.
    pub(super) fn campaigns(&self) -> Option<u64> {
        match self.request {
            Some(Asked::Acquire { seen, .. } | Asked::Look { seen }) => Some(seen),
            Some(Asked::Renew { .. } | Asked::Release { .. }) | None => None,
        }
    }

    pub(super) fn waits(&self) -> bool {
        self.is_settled && self.campaigns().is_some() && self.last != Last::Over
    }
}

/// True if a request that reaches the store is certainly from a waiting candidate. A grant to any
/// other process may get lost: that process may have crashed, or its connection may still suffer
/// from an earlier fault.
pub(super) fn is_from_waiting<'a>(askers: impl Iterator<Item = &'a Asker>, request: Asked) -> bool {
    // Not every store shows what its candidates have watched.
    let is_it = |asked: Asked| match (asked, request) {
        (Asked::Acquire { seen, .. }, Asked::Acquire { seen: other, .. }) => seen == other,
        _ => asked == request,
    };
    let asked = |asker: &&Asker| asker.request.is_some_and(is_it) && asker.last == Last::Open;
    let mut askers = askers.filter(asked).peekable();
    askers.peek().is_some() && askers.all(|asker| asker.is_settled)
}
