//! The elections that a store remembers to save requests.
//!
//! No store is told that a candidate has left, and a tenure may end without a release, as its store
//! may be away. So what was not used for an hour is dropped before much more is added.

use std::collections::HashMap;
use std::time::{Duration, Instant as StdInstant};

use super::Key;

const KEPT: Duration = Duration::from_secs(3_600);
/// Fewer are kept without looking for old ones.
const LEAST: usize = 1_024;

pub(super) struct Recent<T> {
    kept: HashMap<Key, (T, StdInstant)>,
    /// Old ones are looked for when there are so many.
    full: usize,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { kept: HashMap::new(), full: LEAST }
    }
}

impl<T> Recent<T> {
    /// Returns what was kept of that election before.
    pub(super) fn insert(&mut self, key: &Key, value: T, now: StdInstant) -> Option<T> {
        if self.kept.len() >= self.full && !self.kept.contains_key(key) {
            self.kept.retain(|_, (_, since)| now.duration_since(*since) < KEPT);
            self.full = LEAST.max(2 * self.kept.len());
        }
        self.kept.insert(key.clone(), (value, now)).map(|(before, _)| before)
    }

    pub(super) fn get(&self, key: &Key) -> Option<&T> {
        self.kept.get(key).map(|(value, _)| value)
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<T> {
        self.kept.remove(key).map(|(value, _)| value)
    }

    /// Makes room.
    #[cfg(feature = "cas")]
    pub(super) fn remove_any(&mut self) {
        if let Some(key) = self.kept.keys().next().cloned() {
            self.kept.remove(&key);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_for_an_hour_makes_room() {
        let (mut recent, began) = (Recent::default(), StdInstant::now());
        let key = |name: &str, number: u32| Key::new(format!("{name}-{number}")).unwrap();
        for round in 0..10 {
            let now = began + KEPT * round;
            for number in 0..100 {
                recent.insert(&key("used", number), round, now);
            }
            for number in 0..2_000 {
                recent.insert(&key("left", 2_000 * round + number), round, now);
            }
            assert!(recent.len() < 5_000, "{} after {round} hours", recent.len());
        }
        assert_eq!(recent.get(&key("used", 7)), Some(&9));
        assert_eq!(recent.remove(&key("used", 7)), Some(9));
        assert_eq!(recent.get(&key("used", 7)), None);
    }
}
