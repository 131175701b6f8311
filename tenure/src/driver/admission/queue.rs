//! The requests that wait for their admission.

use std::collections::{BTreeSet, VecDeque};

use super::{Kind, Next};
use crate::Instant;
use crate::shared::{Ask, ElectionId};

#[derive(Default)]
pub(super) struct Queue {
    releases: BTreeSet<(u64, ElectionId)>,
    /// By the end of the claim, the first of which is the most urgent.
    renewals: BTreeSet<(Urgency, ElectionId)>,
    /// The requests of handles, in the order in which they came.
    pub(super) asks: VecDeque<Box<Ask>>,
    looks: BTreeSet<(u64, ElectionId)>,
    acquires: BTreeSet<(u64, ElectionId)>,
    /// The elections that have something to tell, each once.
    pub(super) descriptions: VecDeque<ElectionId>,
    /// Counts the elections that have joined the queue.
    joined: u64,
}

/// The request that an election waits to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Waiting {
    Release,
    Renew(Urgency),
    Look,
    Acquire,
}

/// The urgency of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Urgency {
    /// The end of the claim.
    pub(in super::super) valid_until: Instant,
    /// From then on it comes before releases: half of the claim's validity is over.
    pub(in super::super) urgent_from: Instant,
    /// From then on it is not [paced](super::pace): two slow attempts take the time that is left.
    pub(in super::super) hurries_from: Instant,
}

/// An election's place in the queue.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Place {
    Release { joined: u64 },
    Renew(Urgency),
    Look { joined: u64 },
    Acquire { joined: u64 },
}

impl Queue {
    /// An election that waits for the same as before keeps its place.
    pub(super) fn set(
        &mut self,
        id: ElectionId,
        place: &mut Option<Place>,
        waiting: Option<Waiting>,
    ) {
        if self.has(id, *place) && place.map(Place::waiting) == waiting {
            return;
        }
        self.leave(id, place.take());
        let Some(waiting) = waiting else { return };
        self.joined += 1;
        let joined = self.joined;
        *place = Some(match waiting {
            Waiting::Release => {
                self.releases.insert((joined, id));
                Place::Release { joined }
            }
            Waiting::Renew(renewal) => {
                self.renewals.insert((renewal, id));
                Place::Renew(renewal)
            }
            Waiting::Look => {
                self.looks.insert((joined, id));
                Place::Look { joined }
            }
            Waiting::Acquire => {
                self.acquires.insert((joined, id));
                Place::Acquire { joined }
            }
        });
    }

    /// An election leaves its place, if that is in this queue.
    pub(super) fn leave(&mut self, id: ElectionId, place: Option<Place>) {
        match place {
            Some(Place::Release { joined }) => self.releases.remove(&(joined, id)),
            Some(Place::Renew(renewal)) => self.renewals.remove(&(renewal, id)),
            Some(Place::Look { joined }) => self.looks.remove(&(joined, id)),
            Some(Place::Acquire { joined }) => self.acquires.remove(&(joined, id)),
            None => return,
        };
    }

    pub(super) fn forget(&mut self, id: ElectionId) {
        for queue in [&mut self.releases, &mut self.looks, &mut self.acquires] {
            queue.retain(|(_, waiting)| *waiting != id);
        }
        self.renewals.retain(|(_, waiting)| *waiting != id);
    }

    fn has(&self, id: ElectionId, place: Option<Place>) -> bool {
        match place {
            Some(Place::Release { joined }) => self.releases.contains(&(joined, id)),
            Some(Place::Renew(renewal)) => self.renewals.contains(&(renewal, id)),
            Some(Place::Look { joined }) => self.looks.contains(&(joined, id)),
            Some(Place::Acquire { joined }) => self.acquires.contains(&(joined, id)),
            None => true,
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
        let is_urgent = self.renewals.first().is_some_and(|(first, _)| first.urgent_from <= now);
        let renewal = self.next_renewal(now, paced).map(|id| Next::Request(Kind::Renewal, id));
        let release = self.releases.first().map(|(_, id)| Next::Request(Kind::Release, *id));
        let held = if is_urgent { renewal.or(release) } else { release.or(renewal) };
        held.or_else(|| if told_first { self.next_description() } else { None })
            .or_else(|| self.next_look().map(|id| Next::Request(Kind::Look, id)))
            .or_else(|| self.next_acquire().map(|id| Next::Request(Kind::Acquire, id)))
            .or_else(|| self.next_description())
    }

    fn next_description(&mut self) -> Option<Next> {
        self.descriptions.pop_front().map(Next::Description)
    }

    /// The next question whose caller has not given up.
    pub(super) fn next_ask(&mut self) -> Option<Box<Ask>> {
        std::iter::from_fn(|| self.asks.pop_front()).find(|ask| !ask.answer.is_closed())
    }

    /// The renewal whose claim ends first, if it may leave.
    pub(super) fn next_renewal(&self, now: Instant, paced: bool) -> Option<ElectionId> {
        let (renewal, id) = self.renewals.first()?;
        (paced || renewal.hurries_from <= now).then_some(*id)
    }

    /// The renewal whose claim ends last: of all elections, the store has answered this one last.
    pub(super) fn last_renewal(&self) -> Option<ElectionId> {
        self.renewals.last().map(|(_, id)| *id)
    }

    /// The election that has waited longest for its lease, if no renewal waits.
    pub(super) fn next_acquire(&self) -> Option<ElectionId> {
        self.acquires.first().map(|(_, id)| *id).filter(|_| self.renewals.is_empty())
    }

    /// The election that has waited longest for its look, if no renewal waits.
    pub(super) fn next_look(&self) -> Option<ElectionId> {
        self.looks.first().map(|(_, id)| *id).filter(|_| self.renewals.is_empty())
    }

    pub(super) fn has_renewals(&self) -> bool {
        !self.renewals.is_empty()
    }
}

impl Place {
    fn waiting(self) -> Waiting {
        match self {
            Self::Release { .. } => Waiting::Release,
            Self::Renew(renewal) => Waiting::Renew(renewal),
            Self::Look { .. } => Waiting::Look,
            Self::Acquire { .. } => Waiting::Acquire,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    use super::*;
    use crate::shared::Commands;
    use crate::store::{Key, Request};

    const START: Instant = Instant::from_nanos(1_000_000_000);

    fn at(seconds: u64) -> Instant {
        START + Duration::from_secs(seconds)
    }

    fn renew(valid_until: u64) -> Waiting {
        let valid_until = at(valid_until);
        let urgent_from = valid_until - Duration::from_secs(5);
        let hurries_from = valid_until - Duration::from_secs(3);
        Waiting::Renew(Urgency { valid_until, urgent_from, hurries_from })
    }

    fn ask() -> (Box<Ask>, impl Sized) {
        let (answer, answered) = oneshot::channel();
        let (key, request, within) =
            (Key::new("k").unwrap(), Request::Observe, Duration::from_secs(1));
        let place = Commands::new().0.place().now_or_never().unwrap();
        (Box::new(Ask { key, request, within, answer, place }), answered)
    }

    /// Takes everything out.
    fn order(queue: &mut Queue, now: Instant, places: &mut [Option<Place>]) -> Vec<u64> {
        std::iter::from_fn(|| {
            Some(match queue.next(now, true, false)? {
                Next::Ask(_) | Next::Alone(_) => unreachable!(),
                Next::Description(id) => id,
                Next::Request(_, id) => {
                    queue.set(id, &mut places[usize::try_from(id).unwrap()], None);
                    id
                }
            })
        })
        .collect()
    }

    #[test]
    fn requests_leave_by_their_worth() {
        let mut queue = Queue::default();
        let mut places = [None; 8];
        queue.descriptions.extend([9, 8]);
        let waiting = [
            (1, Waiting::Acquire),
            (2, Waiting::Acquire),
            (3, renew(9)),
            (4, Waiting::Release),
            (5, renew(8)),
            (6, renew(4)),
            (7, Waiting::Release),
        ];
        for (id, waiting) in waiting {
            queue.set(id, &mut places[usize::try_from(id).unwrap()], Some(waiting));
        }
        // At that time, only the claim that ends at 4 s has less than half of its validity left.
        assert_eq!(order(&mut queue, START, &mut places), [6, 4, 7, 5, 3, 1, 2, 9, 8]);
        assert!(places.iter().all(Option::is_none));
    }

    #[test]
    fn questions_that_were_given_up_do_not_leave() {
        let mut queue = Queue::default();
        let (first, _kept) = ask();
        let (given_up, dropped) = ask();
        drop(dropped);
        queue.asks.extend([given_up, first]);
        assert!(queue.next_ask().is_some_and(|ask| !ask.answer.is_closed()));
        assert!(queue.next_ask().is_none());
    }

    #[test]
    fn renewals_that_are_not_in_a_hurry_wait_and_hold_back_acquires() {
        let mut queue = Queue::default();
        let mut places = [None; 5];
        let next = |queue: &mut Queue, now| match queue.next(now, false, false) {
            Some(Next::Request(_, id) | Next::Description(id)) => Some(id),
            Some(Next::Ask(_) | Next::Alone(_)) | None => None,
        };
        queue.set(1, &mut places[1], Some(Waiting::Acquire));
        queue.set(2, &mut places[2], Some(renew(9)));
        assert_eq!(next(&mut queue, at(5)), None);
        // Urgent, but not in a hurry: the release goes first.
        queue.set(3, &mut places[3], Some(Waiting::Release));
        assert_eq!(next(&mut queue, at(5)), Some(3));
        assert_eq!(next(&mut queue, at(6)), Some(2));
        queue.set(2, &mut places[2], None);
        queue.set(3, &mut places[3], None);
        assert_eq!(next(&mut queue, at(6)), Some(1));
    }

    #[test]
    fn one_description_leaves_before_acquires() {
        let mut queue = Queue::default();
        let mut places = [None; 3];
        queue.set(1, &mut places[1], Some(Waiting::Acquire));
        queue.descriptions.extend([5, 6]);
        assert!(matches!(queue.next(START, true, true), Some(Next::Description(5))));
        assert!(matches!(queue.next(START, true, false), Some(Next::Request(Kind::Acquire, 1))));
        // They are no reason to hold other requests back.
        assert_eq!(queue.len(), 1);
        queue.set(2, &mut places[2], Some(renew(9)));
        assert!(matches!(queue.next(START, true, true), Some(Next::Request(Kind::Renewal, 2))));
    }

    #[test]
    fn a_changed_wish_moves_an_election() {
        let mut queue = Queue::default();
        let mut places = [None; 4];
        for id in [1, 2, 3] {
            queue.set(id, &mut places[usize::try_from(id).unwrap()], Some(Waiting::Acquire));
        }
        queue.set(1, &mut places[1], Some(Waiting::Acquire));
        queue.set(3, &mut places[3], Some(Waiting::Release));
        queue.set(2, &mut places[2], None);
        assert_eq!(order(&mut queue, START, &mut places), [3, 1]);
    }

    #[test]
    fn elections_of_a_class_leave_in_order() {
        let mut queue = Queue::default();
        let mut places = vec![None; 1_000];
        for id in (1..1_000).rev() {
            queue.set(id, &mut places[usize::try_from(id).unwrap()], Some(Waiting::Acquire));
        }
        let expected: Vec<u64> = (1..1_000).rev().collect();
        assert_eq!(order(&mut queue, START, &mut places), expected);
    }
}
