//! The outputs of one input, in order: its events, then its request.

use super::Config;
use super::phase::Tenure;
use crate::alphabet::{Event, Output, Request};
use crate::id::{HolderId, RequestId, Token};
use crate::time::Instant;

/// The most events that one input can cause; a push beyond it panics, which the property tests would find.
const CAPACITY: u8 = 4;

/// A queue that is filled by one input and emptied before the next. The request has a place of its own, since it takes
/// several times the room of an event: a process may have a hundred thousand candidates.
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

/// A request without the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    Acquire { holder: HolderId, seen: Option<Token> },
    Renew(Tenure),
    Release(Tenure),
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

    pub(super) fn pop(&mut self, config: &Config) -> Option<Output> {
        if let Some(event) = self.events.get_mut(usize::from(self.read)).and_then(Option::take) {
            self.read += 1;
            return Some(Output::Event(event));
        }
        // Rewinding keeps equal states equal, however many outputs they have emitted before.
        self.rewind();
        let Outgoing { id, asked, give_up_at } = self.request.take()?;
        Some(Output::Send { id, request: asked.with(config), give_up_at })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.read == self.written && self.request.is_none()
    }

    /// Starts over for the next input.
    pub(super) fn rewind(&mut self) {
        debug_assert!(self.read == self.written);
        self.read = 0;
        self.written = 0;
    }
}

impl Asked {
    fn with(self, config: &Config) -> Request {
        match self {
            Self::Acquire { holder, seen } => {
                let (ttl, quarantine) = (config.ttl(), config.quarantine());
                Request::Acquire { holder, seen, ttl, quarantine }
            }
            Self::Renew(Tenure { holder, token }) => {
                Request::Renew { holder, token, ttl: config.ttl() }
            }
            Self::Release(Tenure { holder, token }) => Request::Release { holder, token },
        }
    }
}
