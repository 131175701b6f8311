//! The lines of the log about the outages of a store: one when an outage begins, then some at a
//! bounded rate, one at its end. Where the first line could only say that there was no reply, the
//! next one follows as soon as the cause is known.
//!
//! One driver may have a hundred thousand elections, each of which notices the same outage. The log
//! has one line for all of them.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::Instant;

use crate::alphabet::ElectionId;

/// The log's interval in an outage that lasts.
const AGAIN: Duration = Duration::from_secs(60);

/// The least distance of outages logged at once. A shorter distance makes a flickering store fill
/// the log.
const APART: Duration = Duration::from_secs(10);

/// The elections whose last request was not answered, and which lines are due about them. `E` is
/// the kind of an error.
///
/// Not a part of [`Driver`](crate::Driver), since the kind of an error decides: why there is no
/// connection, only the shell can ask.
#[derive(Clone, Debug)]
pub struct Outage<E> {
    /// The kind that says least: that there was no reply.
    timeout: E,
    without: BTreeSet<ElectionId>,
    since: Instant,
    /// The time when the log last spoke of an outage, and the kind of error.
    said: Option<(Instant, E)>,
    /// True if it spoke of the present one.
    is_said: bool,
}

impl<E: Copy + PartialEq> Outage<E> {
    /// Every election is answered. `timeout` is the kind of error that says that there was no
    /// reply.
    pub fn new(timeout: E) -> Self {
        let without = BTreeSet::new();
        Self { timeout, without, since: Instant::ORIGIN, said: None, is_said: false }
    }

    /// The number of elections that the store does not answer.
    pub fn elections(&self) -> usize {
        self.without.len()
    }

    /// The store no longer answers that election. True if a line is due that it is unavailable.
    pub fn begins(&mut self, now: Instant, id: ElectionId, kind: E) -> bool {
        if self.without.is_empty() {
            self.since = now;
            self.is_said = false;
        }
        self.without.insert(id);
        if self.is_said || self.said.is_some_and(|(at, _)| now.since(at) < APART) {
            return false;
        }
        self.says(now, kind);
        true
    }

    /// A request has failed. The time since the beginning, if a line is due that the outage lasts.
    pub fn lasts(&mut self, now: Instant, kind: E) -> Option<Duration> {
        let (at, said) = self.said.filter(|_| !self.without.is_empty())?;
        // A timeout says least: the cause turns out when the connection is gone, and connecting
        // fails.
        let is_cause = said == self.timeout && kind != said;
        let bound = if self.is_said && !is_cause { AGAIN } else { APART };
        if now.since(at) < bound {
            return None;
        }
        self.says(now, kind);
        Some(now.since(self.since))
    }

    fn says(&mut self, now: Instant, kind: E) {
        self.is_said = true;
        self.said = Some((now, kind));
    }

    /// The store answers that election again. The time since the beginning, if a line is due that
    /// the outage is over.
    pub fn ends(&mut self, now: Instant, id: ElectionId) -> Option<Duration> {
        let is_last = self.without.remove(&id) && self.without.is_empty();
        (is_last && self.is_said).then(|| now.since(self.since))
    }

    /// An election is over. Whether the store would have answered it again is not known. True if a
    /// line is due that it was the last one without an answer.
    pub fn leaves(&mut self, id: ElectionId) -> bool {
        let is_last = self.without.remove(&id) && self.without.is_empty();
        is_last && self.is_said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: u8 = 0;
    const REFUSED: u8 = 1;

    fn at(seconds: u64) -> Instant {
        Instant::ORIGIN + Duration::from_secs(seconds)
    }

    #[test]
    fn an_outage_of_many_has_one_line_at_its_ends() {
        let mut outage = Outage::new(TIMEOUT);
        let begun = (0..1_000).filter(|id| outage.begins(at(5), *id, TIMEOUT)).count();
        assert_eq!((begun, outage.elections()), (1, 1_000));
        let lasts: Vec<_> = (6..130).filter_map(|now| outage.lasts(at(now), TIMEOUT)).collect();
        assert_eq!(lasts, [60, 120].map(Duration::from_secs));
        let ended: Vec<_> = (0..1_000).filter_map(|id| outage.ends(at(135), id)).collect();
        assert_eq!(ended, [Duration::from_secs(130)]);
        assert_eq!(outage.lasts(at(500), TIMEOUT), None);
    }

    #[test]
    fn the_cause_follows_soon() {
        let mut outage = Outage::new(TIMEOUT);
        assert!(outage.begins(at(5), 1, TIMEOUT));
        assert_eq!(outage.lasts(at(14), REFUSED), None);
        assert_eq!(outage.lasts(at(15), REFUSED), Some(Duration::from_secs(10)));
        assert_eq!(outage.lasts(at(30), TIMEOUT), None, "says less");
    }

    #[test]
    fn a_flickering_store_has_few_lines() {
        let mut outage = Outage::new(TIMEOUT);
        let mut lines = 0;
        for now in 0..100 {
            lines += usize::from(outage.begins(at(2 * now), 1, REFUSED));
            lines += usize::from(outage.ends(at(2 * now + 1), 1).is_some());
        }
        assert_eq!(lines, 40, "two each ten seconds");
    }

    #[test]
    fn elections_that_leave_are_no_recovery() {
        let mut outage = Outage::new(TIMEOUT);
        outage.begins(at(5), 1, TIMEOUT);
        outage.begins(at(5), 2, TIMEOUT);
        assert!(!outage.leaves(1));
        assert!(!outage.leaves(3));
        assert!(outage.leaves(2));
    }
}
