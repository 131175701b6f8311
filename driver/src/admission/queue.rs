//! The requests that wait for their admission.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tenure_core::{Instant, Pending};

use super::Next;
use crate::alphabet::{ElectionId, Question};

#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    releases: BTreeSet<(u64, ElectionId)>,
    /// By the end of the claim, the first of which is the most urgent.
    renewals: BTreeMap<(Instant, ElectionId), Slack>,
    /// The questions of handles, in the order in which they came.
    pub(super) questions: VecDeque<Question>,
    looks: BTreeSet<(u64, ElectionId)>,
    acquires: BTreeSet<(u64, ElectionId)>,
    /// The elections that have something to tell, each once.
    pub(super) descriptions: VecDeque<ElectionId>,
    /// Counts the elections that have joined the queue.
    joined: u64,
}

/// The request that an election waits to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) pending: Pending,
    /// The slack of its settings.
    pub(crate) slack: Slack,
}

/// The times before the end of its claim at which a renewal has to leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slack {
    /// From then on it comes before releases: half of the claim's validity is over.
    pub(crate) urgent: Duration,
    /// From then on it is not [paced](super::pace): two slow attempts take the time that is left.
    pub(crate) hurry: Duration,
}

/// An election's place in the queue: what it waits for, and its number among those that joined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pending: Pending,
    joined: u64,
}

impl Queue {
    /// An election that waits for the same as before keeps its place.
    pub(super) fn set(
        &mut self,
        id: ElectionId,
        place: &mut Option<Place>,
        waiting: Option<Waiting>,
    ) {
        let pending = waiting.map(|waiting| waiting.pending);
        if self.has(id, *place) && place.map(|place| place.pending) == pending {
            return;
        }
        self.leave(id, place.take());
        let Some(Waiting { pending, slack }) = waiting else { return };
        self.joined += 1;
        let joined = self.joined;
        match pending {
            Pending::Release => self.releases.insert((joined, id)),
            Pending::Renew { valid_until } => {
                self.renewals.insert((valid_until, id), slack).is_none()
            }
            Pending::Look => self.looks.insert((joined, id)),
            Pending::Acquire => self.acquires.insert((joined, id)),
        };
        *place = Some(Place { pending, joined });
    }

    /// An election leaves its place, if that is in this queue.
    pub(super) fn leave(&mut self, id: ElectionId, place: Option<Place>) {
        let Some(Place { pending, joined }) = place else { return };
        match pending {
            Pending::Release => self.releases.remove(&(joined, id)),
            Pending::Renew { valid_until } => self.renewals.remove(&(valid_until, id)).is_some(),
            Pending::Look => self.looks.remove(&(joined, id)),
            Pending::Acquire => self.acquires.remove(&(joined, id)),
        };
    }

    /// The same where its place is not known. Looks at all that waits.
    pub(super) fn forget(&mut self, id: ElectionId) {
        for queue in [&mut self.releases, &mut self.looks, &mut self.acquires] {
            queue.retain(|(_, waiting)| *waiting != id);
        }
        self.renewals.retain(|(_, waiting), _| *waiting != id);
    }

    fn has(&self, id: ElectionId, place: Option<Place>) -> bool {
        let Some(Place { pending, joined }) = place else { return true };
        match pending {
            Pending::Release => self.releases.contains(&(joined, id)),
            Pending::Renew { valid_until } => self.renewals.contains_key(&(valid_until, id)),
            Pending::Look => self.looks.contains(&(joined, id)),
            Pending::Acquire => self.acquires.contains(&(joined, id)),
        }
    }

    /// The number of waiting requests that a lead depends on.
    pub(super) fn len(&self) -> usize {
        self.releases.len() + self.renewals.len() + self.looks.len() + self.acquires.len()
    }

    /// The most valuable request: a claim that ends soon, then a lease that others wait for, then
    /// other claims, then leases that are not held yet, then what leaders say of themselves. One of
    /// the last leaves before acquires if it is `told_first`: acquires without end would hold them
    /// back for ever. Renewals that are not in a hurry leave only if they are `paced` to leave now;
    /// no acquire leaves before them.
    pub(super) fn next(&mut self, now: Instant, paced: bool, told_first: bool) -> Option<Next> {
        let is_urgent =
            self.first_renewal().is_some_and(|(ends, slack)| ends - slack.urgent <= now);
        let renewal = self.next_renewal(now, paced);
        let release = self.next_release();
        let held = if is_urgent { renewal.or(release) } else { release.or(renewal) };
        held.or_else(|| if told_first { self.next_description() } else { None })
            .or_else(|| self.next_look())
            .or_else(|| self.next_acquire())
            .or_else(|| self.next_description())
    }

    /// The next one of that kind.
    pub(super) fn next_of(&self, pending: Pending, now: Instant, paced: bool) -> Option<Next> {
        match pending {
            Pending::Release => self.next_release(),
            Pending::Renew { .. } => self.next_renewal(now, paced),
            Pending::Look => self.next_look(),
            Pending::Acquire => self.next_acquire(),
        }
    }

    fn next_description(&mut self) -> Option<Next> {
        self.descriptions.pop_front().map(Next::Description)
    }

    fn first_renewal(&self) -> Option<(Instant, Slack)> {
        self.renewals.first_key_value().map(|((ends, _), slack)| (*ends, *slack))
    }

    fn next_release(&self) -> Option<Next> {
        self.releases.first().map(|(_, id)| Next::request(Pending::Release, *id))
    }

    /// The renewal whose claim ends first, if it may leave.
    fn next_renewal(&self, now: Instant, paced: bool) -> Option<Next> {
        let ((valid_until, id), slack) = self.renewals.first_key_value()?;
        let valid_until = *valid_until;
        let may_leave = paced || valid_until - slack.hurry <= now;
        may_leave.then(|| Next::request(Pending::Renew { valid_until }, *id))
    }

    /// The renewal whose claim ends last: of all elections, the store has answered this one last.
    pub(super) fn last_renewal(&self) -> Option<Next> {
        let (valid_until, id) = *self.renewals.last_key_value()?.0;
        Some(Next::request(Pending::Renew { valid_until }, id))
    }

    /// The election that has waited longest for its lease, if no renewal waits.
    fn next_acquire(&self) -> Option<Next> {
        let id = self.acquires.first().map(|(_, id)| *id).filter(|_| self.renewals.is_empty())?;
        Some(Next::request(Pending::Acquire, id))
    }

    /// The election that has waited longest for its look, if no renewal waits.
    fn next_look(&self) -> Option<Next> {
        let id = self.looks.first().map(|(_, id)| *id).filter(|_| self.renewals.is_empty())?;
        Some(Next::request(Pending::Look, id))
    }

    pub(super) fn has_renewals(&self) -> bool {
        !self.renewals.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(1_000_000_000);

    fn at(seconds: u64) -> Instant {
        START + Duration::from_secs(seconds)
    }

    fn waits(pending: Pending) -> Waiting {
        let slack = Slack { urgent: Duration::from_secs(5), hurry: Duration::from_secs(3) };
        Waiting { pending, slack }
    }

    fn renew(valid_until: u64) -> Pending {
        Pending::Renew { valid_until: at(valid_until) }
    }

    fn id_of(next: &Next) -> ElectionId {
        match next {
            Next::Request { election, .. } | Next::Description(election) => *election,
            Next::Question(_) => unreachable!(),
        }
    }

    /// A queue with the places of its elections.
    struct Line {
        queue: Queue,
        places: Vec<Option<Place>>,
    }

    impl Line {
        fn new() -> Self {
            Self { queue: Queue::default(), places: vec![None; 1_000] }
        }

        fn set(&mut self, id: ElectionId, pending: Option<Pending>) {
            let place = &mut self.places[usize::try_from(id).unwrap()];
            self.queue.set(id, place, pending.map(waits));
        }

        /// Takes everything out.
        fn order(&mut self, now: Instant) -> Vec<u64> {
            let mut order = Vec::new();
            while let Some(next) = self.queue.next(now, true, false) {
                let id = id_of(&next);
                self.set(id, None);
                order.push(id);
            }
            order
        }

        fn next(&mut self, now: Instant) -> Option<ElectionId> {
            self.queue.next(now, false, false).map(|next| id_of(&next))
        }
    }

    #[test]
    fn requests_leave_by_their_worth() {
        let mut line = Line::new();
        line.queue.descriptions.extend([9, 8]);
        let waiting = [
            (1, Pending::Acquire),
            (2, Pending::Acquire),
            (3, renew(9)),
            (4, Pending::Release),
            (5, renew(8)),
            (6, renew(4)),
            (7, Pending::Release),
        ];
        for (id, pending) in waiting {
            line.set(id, Some(pending));
        }
        // At that time, only the claim that ends at 4 s has less than half of its validity left.
        assert_eq!(line.order(START), [6, 4, 7, 5, 3, 1, 2, 9, 8]);
        assert!(line.places.iter().all(Option::is_none));
    }

    #[test]
    fn renewals_that_are_not_in_a_hurry_wait_and_hold_back_acquires() {
        let mut line = Line::new();
        line.set(1, Some(Pending::Acquire));
        line.set(2, Some(renew(9)));
        assert_eq!(line.next(at(5)), None);
        // Urgent, but not in a hurry: the release goes first.
        line.set(3, Some(Pending::Release));
        assert_eq!(line.next(at(5)), Some(3));
        assert_eq!(line.next(at(6)), Some(2));
        line.set(2, None);
        line.set(3, None);
        assert_eq!(line.next(at(6)), Some(1));
    }

    #[test]
    fn one_description_leaves_before_acquires() {
        let mut line = Line::new();
        line.set(1, Some(Pending::Acquire));
        line.queue.descriptions.extend([5, 6]);
        let next = |line: &mut Line, told_first| {
            line.queue.next(START, true, told_first).map(|next| id_of(&next))
        };
        assert_eq!(next(&mut line, true), Some(5));
        assert_eq!(next(&mut line, false), Some(1));
        // They are no reason to hold other requests back.
        assert_eq!(line.queue.len(), 1);
        line.set(2, Some(renew(9)));
        assert_eq!(next(&mut line, true), Some(2));
    }

    #[test]
    fn a_changed_wish_moves_an_election() {
        let mut line = Line::new();
        for id in [1, 2, 3] {
            line.set(id, Some(Pending::Acquire));
        }
        line.set(1, Some(Pending::Acquire));
        line.set(3, Some(Pending::Release));
        line.set(2, None);
        assert_eq!(line.order(START), [3, 1]);
    }

    #[test]
    fn elections_of_a_kind_leave_in_order() {
        let mut line = Line::new();
        for id in (1..1_000).rev() {
            line.set(id, Some(Pending::Acquire));
        }
        let expected: Vec<u64> = (1..1_000).rev().collect();
        assert_eq!(line.order(START), expected);
    }
}
