//! Deadlines, at most one for each key.

use super::Found;
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::SimTime;
use crate::trace::Who;

/// The deadlines that are not met yet. An excused one is kept, and never missed.
#[derive(Clone, Debug)]
pub(super) struct Due<K = Who>(Recent<K, SimTime>);

impl<K> Default for Due<K> {
    fn default() -> Self {
        Self(Recent::default())
    }
}

impl<K: Copy + PartialEq> Due<K> {
    pub(super) fn is_set(&self, key: K) -> bool {
        self.0.get(key).is_some()
    }

    pub(super) fn set(&mut self, key: K, deadline: SimTime) {
        self.0.insert(key, deadline);
    }

    /// Ends a deadline. True if it could have been missed: it was set, and not excused.
    pub(super) fn end(&mut self, key: K) -> bool {
        self.0.remove(key).is_some_and(|deadline| deadline < SimTime::NEVER)
    }

    /// Excuses the deadlines of these keys.
    pub(super) fn excuse(&mut self, excused: impl Fn(K) -> bool) {
        let excused = self.0.iter_mut().filter(|(key, _)| excused(*key));
        excused.for_each(|(_, deadline)| *deadline = SimTime::NEVER);
    }

    pub(super) fn retain(&mut self, keep: impl Fn(K) -> bool) {
        self.0.retain(keep);
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = K> {
        self.0.iter().map(|(key, _)| *key)
    }

    /// A deadline that was missed by that time.
    pub(super) fn missed(&self, at: SimTime) -> Option<(K, SimTime)> {
        self.0.iter().find(|(_, deadline)| at > *deadline).copied()
    }

    /// The finding about a deadline that was missed by that time, if one was.
    pub(super) fn in_time(&self, at: SimTime, missed: impl Fn(K, SimTime) -> Finding) -> Found {
        self.missed(at).map_or(Ok(()), |(key, deadline)| Err(missed(key, deadline)))
    }
}

#[cfg(test)]
mod tests {
    use super::Due;
    use crate::plan::ns;

    fn due() -> Due<u64> {
        let mut due = Due::default();
        due.set(1, ns(10));
        due.set(2, ns(20));
        due
    }

    #[test]
    fn a_deadline_is_missed_after_its_time() {
        let mut due = due();
        assert_eq!((due.missed(ns(10)), due.missed(ns(11))), (None, Some((1, ns(10)))));
        assert!(due.end(1));
        assert!(!due.end(1));
        assert_eq!((due.missed(ns(20)), due.missed(ns(21))), (None, Some((2, ns(20)))));
    }

    #[test]
    fn an_excused_deadline_is_kept_and_never_missed() {
        let mut due = due();
        due.excuse(|key| key == 1);
        assert_eq!(due.missed(ns(11)), None);
        assert!(due.is_set(1));
        assert!(!due.end(1));
        assert!(due.end(2));
    }
}
