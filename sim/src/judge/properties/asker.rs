//! What a candidate has asked, as far as that says whether it waits for the lease.

use crate::plan::clock::True;
use crate::trace::{Answer, Asked};

/// What a candidate has asked. No request is zero.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asker {
    id: u64,
    request: Option<Asked>,
    pub(super) sent_at: True,
    /// The first request that it sent in the calm.
    first_in_calm: Option<u64>,
    /// One that was sent in the calm has been answered: nothing of the trouble is left between it and the
    /// store.
    pub(super) is_settled: bool,
    /// The last one was refused.
    is_refused: bool,
    is_answered: bool,
}

impl Asker {
    pub(super) fn sent(&mut self, at: True, id: u64, request: Asked, is_calm: bool) {
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
    }

    /// Whether its last request is that one.
    pub(super) fn asked_last(&self, id: u64) -> bool {
        self.id == id
    }

    pub(super) fn acquires(&self) -> bool {
        matches!(self.request, Some(Asked::Acquire { .. }))
    }

    pub(super) fn waits(&self) -> bool {
        self.is_settled && self.acquires() && (self.is_refused || !self.is_answered)
    }
}

/// Whether a request that reaches the store is surely of one that waits: other processes are gone, or
/// have more of the trouble before them, and may not know what they are granted.
pub(super) fn waits_surely<'a>(askers: impl Iterator<Item = &'a Asker>, request: Asked) -> bool {
    let asked = |asker: &&Asker| asker.request == Some(request) && !asker.is_answered;
    let mut askers = askers.filter(asked).peekable();
    askers.peek().is_some() && askers.all(|asker| asker.is_settled)
}
