//! Which request leaves next, and when.
//!
//! A window of calls is in flight; all others wait here, ordered by what they are worth. So a store that is slower
//! than its elections need costs leads that are not gained, and not leads that are held: an election that waits for its
//! first lease stands behind all that have one.

mod pace;
mod queue;
mod window;

use std::time::Duration;

use pace::Pace;
use queue::Queue;
pub(super) use queue::{Place, Urgency, Waiting};
use window::Window;

use crate::Instant;
use crate::shared::{Ask, ElectionId};

#[derive(Default)]
pub(super) struct Admission {
    queue: Queue,
    window: Window,
    pace: Pace,
    /// When the next request may leave, though nothing else happens.
    resumes_at: Option<Instant>,
    asks_in_flight: usize,
    descriptions_in_flight: usize,
}

/// So many questions of the application may always be in flight: while the store is away, they learn why at once.
const ASKS: usize = 4;

/// What leaves now.
pub(super) enum Next {
    Request(Kind, ElectionId),
    Ask(Box<Ask>),
    /// An election tells the store what its leader says of itself.
    Description(ElectionId),
}

/// What the request of an election asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Release,
    Renewal,
    Acquire,
}

impl Admission {
    /// Moves an election to where its pending request belongs.
    pub(super) fn set(
        &mut self,
        id: ElectionId,
        place: &mut Option<Place>,
        waiting: Option<Waiting>,
    ) {
        self.queue.set(id, place, waiting);
    }

    pub(super) fn ask(&mut self, ask: Box<Ask>) {
        self.queue.asks.push_back(ask);
    }

    /// An election waits to tell the store what its leader says of itself. It stays in the queue if it ends.
    pub(super) fn tell(&mut self, id: ElectionId) {
        self.queue.descriptions.push_back(id);
    }

    pub(super) fn has_asks(&self) -> bool {
        !self.queue.asks.is_empty()
    }

    /// The next request, if the window has room for one. An election leaves the queue when its place is set anew.
    pub(super) fn next(&mut self, now: Instant) -> Option<Next> {
        self.resumes_at = None;
        if self.asks_in_flight < ASKS
            && let Some(ask) = self.queue.next_ask()
        {
            return Some(Next::Ask(ask));
        }
        if !self.window.has_room_for(self.queue.len()) {
            return None;
        }
        let paced = self.paced(now);
        let next = self.queue.next(now, paced, self.descriptions_in_flight == 0);
        match next {
            Some(Next::Request(Kind::Renewal, _)) => self.pace.left(),
            Some(
                Next::Request(Kind::Release | Kind::Acquire, _)
                | Next::Ask(_)
                | Next::Description(_),
            ) => {}
            // With a full window, an answer comes first.
            None => self.resumes_at = self.pace.resumes_at().filter(|_| self.queue.has_renewals()),
        }
        next
    }

    /// Another request of that kind that may leave, for the same call.
    pub(super) fn next_of(&mut self, kind: Kind, now: Instant) -> Option<ElectionId> {
        match kind {
            Kind::Release => None,
            Kind::Renewal => {
                let paced = self.paced(now);
                let next = self.queue.next_renewal(now, paced)?;
                self.pace.left();
                Some(next)
            }
            Kind::Acquire => self.queue.next_acquire(),
        }
    }

    /// Whether a renewal may leave that is not in a hurry.
    fn paced(&mut self, now: Instant) -> bool {
        self.queue.has_renewals() && self.pace.allows(now)
    }

    /// When renewals may leave that wait now, though nothing else happens.
    pub(super) fn resumes_at(&self) -> Option<Instant> {
        self.resumes_at
    }

    /// An election leads, and renews once in that interval.
    pub(super) fn begins_to_renew(&mut self, interval: Duration) {
        self.pace.begins(interval);
    }

    /// It no longer leads.
    pub(super) fn ends_to_renew(&mut self, interval: Duration) {
        self.pace.ends(interval);
    }

    pub(super) fn ask_began(&mut self) {
        self.asks_in_flight += 1;
        self.window.began();
    }

    pub(super) fn ask_ended(&mut self, answered_after: Option<Duration>) {
        self.asks_in_flight = self.asks_in_flight.saturating_sub(1);
        self.ended(answered_after);
    }

    pub(super) fn tells(&mut self) {
        self.descriptions_in_flight += 1;
        self.window.began();
    }

    pub(super) fn was_told(&mut self, answered_after: Option<Duration>) {
        self.descriptions_in_flight = self.descriptions_in_flight.saturating_sub(1);
        self.ended(answered_after);
    }

    pub(super) fn began(&mut self) {
        self.window.began();
    }

    /// A call was answered after that time; `None` if its outcome is unknown.
    pub(super) fn ended(&mut self, answered_after: Option<Duration>) {
        match answered_after {
            Some(took) => self.window.answered(took),
            None => self.window.failed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_resumes_by_itself_while_the_window_is_full() {
        let mut admission = Admission::default();
        let now = Instant::ORIGIN + Duration::from_secs(1);
        let later = now + Duration::from_secs(60);
        let urgency = Urgency { valid_until: later, urgent_from: later, hurries_from: later };
        let mut places = vec![None; 200];
        for (id, place) in (0..).zip(&mut places) {
            admission.set(id, place, Some(Waiting::Renew(urgency)));
        }
        let mut left = 0;
        while admission.next_of(Kind::Renewal, now).is_some() {
            left += 1;
        }
        assert!((32..40).contains(&left), "{left}");
        assert!(admission.next(now).is_none());
        assert_eq!(admission.resumes_at(), Some(now + Duration::from_millis(10)));
        // An answer comes first. The driver would not come to rest.
        for _ in 0..100 {
            admission.began();
        }
        assert!(admission.next(now).is_none());
        assert_eq!(admission.resumes_at(), None);
    }
}
