//! A candidate's requests, as far as they say whether it waits for the lease.

use crate::plan::clock::SimTime;
use crate::trace::{Answer, Asked};

/// The last request of a candidate. Zero stands for no request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asker {
    id: u64,
    request: Option<Asked>,
    pub(super) sent_at: SimTime,
    /// Its first request in the calm.
    first_in_calm: Option<u64>,
    /// Whether a request that was sent in the calm has been answered: no earlier fault affects the connection
    /// between it and the store any more.
    pub(super) is_settled: bool,
    /// Whether its last request was refused.
    is_refused: bool,
    is_answered: bool,
    /// Whether the last answer was that its settings contradict the record: then it may be refused a free lease too.
    contradicts: bool,
}

impl Asker {
    pub(super) fn sent(&mut self, at: SimTime, id: u64, request: Asked, is_calm: bool) {
        (self.id, self.request, self.sent_at) = (id, Some(request), at);
        (self.is_refused, self.is_answered) = (false, false);
        if is_calm {
            self.first_in_calm.get_or_insert(id);
        }
    }

    pub(super) fn answered(&mut self, id: u64, answer: Option<Answer>) {
        if self.first_in_calm.is_some_and(|first| id >= first) && answer.is_some() {
            self.is_settled = true;
        }
        if self.id == id {
            self.is_answered = true;
            self.is_refused = matches!(answer, Some(Answer::Held | Answer::Stale));
        }
        if let Some(answer) = answer {
            self.contradicts = answer == Answer::Refused;
        }
    }

    /// Whether its last request has that id.
    pub(super) fn asked_last(&self, id: u64) -> bool {
        self.id == id
    }

    pub(super) fn acquires(&self) -> bool {
        matches!(self.request, Some(Asked::Acquire { .. }))
    }

    pub(super) fn waits(&self) -> bool {
        let counts = self.is_settled && !self.contradicts;
        counts && self.acquires() && (self.is_refused || !self.is_answered)
    }
}

/// Whether a request that reaches the store is certainly from a waiting candidate. A grant to any other process
/// may get lost: that process may have crashed, or its connection may still suffer from an earlier fault.
pub(super) fn is_from_waiting<'a>(askers: impl Iterator<Item = &'a Asker>, request: Asked) -> bool {
    let asked = |asker: &&Asker| asker.request == Some(request) && !asker.is_answered;
    let mut askers = askers.filter(asked).peekable();
    askers.peek().is_some() && askers.all(|asker| asker.is_settled)
}
