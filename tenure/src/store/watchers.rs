//! The drivers of this process that watch elections, and the hints that they have not taken yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::Notify;

use super::Key;

/// The number of a driver.
pub(super) type WatcherId = u64;

/// The watchers of each election. What is left by the last watcher leaves nothing behind.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    watched: BTreeSet<(Key, WatcherId)>,
    hints: BTreeMap<WatcherId, Hints>,
    next: WatcherId,
}

/// Elections to be hinted: one hint has the effect of many.
#[derive(Debug, Default)]
struct Hints {
    keys: BTreeSet<Key>,
    /// Not hinted yet since they are watched.
    new: BTreeSet<Key>,
    wake: Arc<Notify>,
}

impl Watchers {
    /// A new watcher, and what wakes it when there are hints.
    pub(super) fn join(&mut self) -> (WatcherId, Arc<Notify>) {
        let id = self.next;
        self.next += 1;
        let hints = Hints::default();
        let wake = Arc::clone(&hints.wake);
        self.hints.insert(id, hints);
        (id, wake)
    }

    /// Watches an election, which [`begins`](Self::begins) later.
    pub(super) fn watch(&mut self, id: WatcherId, key: &Key) {
        self.watched.insert((key.clone(), id));
        if let Some(hints) = self.hints.get_mut(&id) {
            hints.new.insert(key.clone());
        }
    }

    /// From now on no hint is missed: the first one goes to those who watch it since the last time.
    pub(super) fn begins(&mut self, key: &Key) {
        for (_, id) in self.watched.range(of(key)) {
            if let Some(hints) = self.hints.get_mut(id)
                && hints.new.remove(key)
            {
                hints.add(key);
            }
        }
    }

    /// Returns whether it was the last watcher of that election.
    pub(super) fn unwatch(&mut self, id: WatcherId, key: &Key) -> bool {
        if let Some(hints) = self.hints.get_mut(&id) {
            hints.keys.remove(key);
            hints.new.remove(key);
        }
        self.watched.remove(&(key.clone(), id)) && !self.is_watched(key)
    }

    /// Ends a watcher, and returns the elections of which it was the last one.
    pub(super) fn leave(&mut self, id: WatcherId) -> Vec<Key> {
        let its = self.watched.iter().filter(|(_, other)| *other == id);
        let mut keys: Vec<_> = its.map(|(key, _)| key.clone()).collect();
        keys.retain(|key| self.unwatch(id, key));
        self.hints.remove(&id);
        keys
    }

    /// Hints an election to all who watch it.
    pub(super) fn wake(&mut self, key: &Key) {
        for (_, id) in self.watched.range(of(key)) {
            if let Some(hints) = self.hints.get_mut(id) {
                hints.add(key);
            }
        }
    }

    #[cfg(feature = "kubernetes")]
    pub(super) fn watches(&self, key: &Key) -> bool {
        self.watched.range(of(key)).next().is_some()
    }

    /// Hints all elections that are watched: something may have been missed.
    #[cfg(any(feature = "fred", feature = "sqlite", test))]
    pub(super) fn wake_all(&mut self) {
        for (key, id) in &self.watched {
            if let Some(hints) = self.hints.get_mut(id) {
                hints.add(key);
            }
        }
    }

    /// Takes the next hint for that watcher.
    pub(super) fn hint(&mut self, id: WatcherId) -> Option<Key> {
        self.hints.get_mut(&id)?.keys.pop_first()
    }

    pub(super) fn is_watched(&self, key: &Key) -> bool {
        self.watched.range(of(key)).next().is_some()
    }

    /// True if no election is watched.
    pub(super) fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// The number of watched elections; one with several watchers counts several times.
    #[cfg(feature = "_server")]
    pub(super) fn len(&self) -> usize {
        self.watched.len()
    }

    /// The elections that are watched; one with several watchers several times.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.watched.iter().map(|(key, _)| key)
    }
}

impl Hints {
    fn add(&mut self, key: &Key) {
        self.keys.insert(key.clone());
        self.wake.notify_one();
    }
}

fn of(key: &Key) -> std::ops::RangeInclusive<(Key, WatcherId)> {
    (key.clone(), WatcherId::MIN)..=(key.clone(), WatcherId::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_reach_those_who_watch_and_leave_nothing() {
        let [a, b] = ["a", "b"].map(|name| Key::new(name).unwrap());
        let mut watchers = Watchers::default();
        let ((one, _), (two, _)) = (watchers.join(), watchers.join());
        for (id, key) in [(one, &a), (one, &b), (two, &a)] {
            watchers.watch(id, key);
        }
        watchers.wake(&a);
        watchers.wake(&a);
        assert_eq!((watchers.hint(one), watchers.hint(two)), (Some(a.clone()), Some(a.clone())));
        assert_eq!((watchers.hint(one), watchers.hint(two)), (None, None), "many are one");
        watchers.begins(&b);
        watchers.begins(&b);
        assert_eq!((watchers.hint(one), watchers.hint(one)), (Some(b.clone()), None), "once");
        watchers.wake_all();
        assert!(!watchers.unwatch(one, &a), "the other one still watches it");
        assert_eq!((watchers.hint(one), watchers.hint(one)), (Some(b.clone()), None));
        watchers.wake(&a);
        assert_eq!(watchers.hint(one), None);
        assert_eq!(watchers.leave(two), std::slice::from_ref(&a));
        assert!(watchers.unwatch(one, &b) && !watchers.unwatch(one, &b));
        assert_eq!(watchers.leave(one), []);
        assert!(
            watchers.is_empty() && watchers.hints.is_empty() && watchers.keys().next().is_none()
        );
    }
}
