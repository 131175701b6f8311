//! The outputs of one input, in order: its events, then its request.

use super::phase::Tenure;
use crate::alphabet::Event;
use crate::id::{NameId, RequestId, Token};
use crate::time::Instant;

/// The most events that one input can cause; a push beyond it panics, which the property tests
/// would find.
const CAPACITY: u8 = 4;

/// A queue that is filled by one input and emptied before the next. The request has a place of its
/// own, since it takes several times the room of an event: a process may have a hundred thousand
/// candidates.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Outbox {
    events: [Option<Event>; CAPACITY as usize],
    read: u8,
    written: u8,
    request: Option<Outgoing>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Outgoing {
    pub(super) id: RequestId,
    pub(super) asked: Asked,
    pub(super) give_up_at: Instant,
}

/// A kind of request. Its contents follow from the candidate's state, which stays as it is until
/// the request was polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    Acquire,
    Look,
    Ask(Token),
    Renew(Tenure),
    Release(Tenure, Option<NameId>),
}

impl Outbox {
    pub(super) fn push(&mut self, event: Event) {
        self.events[usize::from(self.written)] = Some(event);
        self.written += 1;
    }

    pub(super) fn send(&mut self, outgoing: Outgoing) {
        debug_assert!(self.request.is_none(), "one input causes one request at most");
        self.request = Some(outgoing);
    }

    pub(super) fn event(&mut self) -> Option<Event> {
        let event = self.events.get_mut(usize::from(self.read)).and_then(Option::take)?;
        self.read += 1;
        Some(event)
    }

    /// Once there is no event left.
    pub(super) const fn request(&mut self) -> Option<Outgoing> {
        // Rewinding keeps equal states equal, however many outputs they have emitted before.
        self.rewind();
        self.request.take()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.read == self.written && self.request.is_none()
    }

    /// Starts over for the next input.
    pub(super) const fn rewind(&mut self) {
        debug_assert!(self.read == self.written);
        self.read = 0;
        self.written = 0;
    }
}
