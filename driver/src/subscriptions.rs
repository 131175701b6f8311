//! The keys whose hints are wanted.

use std::collections::{BTreeMap, BTreeSet};

use crate::alphabet::{ElectionId, ObserverId};

/// The elections of this process, and its observers, by their keys.
#[derive(Clone, Debug)]
pub(crate) struct Subscriptions<K> {
    elections: BTreeSet<(K, ElectionId)>,
    observers: BTreeMap<K, BTreeSet<ObserverId>>,
}

impl<K> Default for Subscriptions<K> {
    fn default() -> Self {
        Self { elections: BTreeSet::new(), observers: BTreeMap::new() }
    }
}

impl<K: Clone + Ord> Subscriptions<K> {
    /// An election joins. Whether its key is wanted from now on, and was not before.
    pub(crate) fn join(&mut self, key: &K, id: ElectionId) -> bool {
        let was_wanted = self.is_wanted(key);
        self.elections.insert((key.clone(), id));
        !was_wanted
    }

    /// An election has ended. Whether its key is no longer wanted.
    pub(crate) fn leave(&mut self, key: &K, id: ElectionId) -> bool {
        self.elections.remove(&(key.clone(), id)) && !self.is_wanted(key)
    }

    /// True if the key is wanted from now on, and was not before.
    pub(crate) fn watch(&mut self, key: &K, observer: ObserverId) -> bool {
        let was_wanted = self.is_wanted(key);
        self.observers.entry(key.clone()).or_default().insert(observer);
        !was_wanted
    }

    /// True if the key is no longer wanted.
    pub(crate) fn unwatch(&mut self, key: &K, observer: ObserverId) -> bool {
        let Some(observers) = self.observers.get_mut(key) else { return false };
        observers.remove(&observer);
        if observers.is_empty() {
            self.observers.remove(key);
        }
        !self.is_wanted(key)
    }

    pub(crate) fn remembers(&self) -> usize {
        self.elections.len() + self.observers.len()
    }

    fn is_wanted(&self, key: &K) -> bool {
        self.observers.contains_key(key) || self.of(key).next().is_some()
    }

    pub(crate) fn observers(&self, key: &K) -> impl Iterator<Item = ObserverId> {
        self.observers.get(key).into_iter().flatten().copied()
    }

    /// The elections of that key: candidates may be rivals in one process.
    pub(crate) fn of(&self, key: &K) -> impl Iterator<Item = ElectionId> {
        let all = (key.clone(), ElectionId::MIN)..=(key.clone(), ElectionId::MAX);
        self.elections.range(all).map(|(_, id)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_wanted_from_the_first_to_the_last() {
        let mut all = Subscriptions::default();
        assert!(all.join(&"a", 2));
        assert!(!all.join(&"a", 1), "a rival in the same process");
        assert!(all.join(&"b", 3));
        assert!(!all.watch(&"a", 9));
        assert_eq!(all.of(&"a").collect::<Vec<_>>(), [1, 2]);
        assert!(!all.leave(&"a", 1));
        assert!(!all.leave(&"a", 2));
        assert_eq!(all.observers(&"a").collect::<Vec<_>>(), [9]);
        assert!(!all.unwatch(&"a", 8), "another one watches");
        assert!(all.unwatch(&"a", 9));
        assert!(!all.unwatch(&"a", 9), "once");
        assert!(!all.leave(&"a", 2), "once");
        assert!(all.leave(&"b", 3));
    }
}
