//! The watches of purges: a record that was not given back is deleted only after that.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Instant;

/// The marks of old records that were not given back, and since when they were seen, on the
/// purger's own clock.
#[derive(Debug)]
pub(super) struct Watches<K, M> {
    seen: BTreeMap<K, Watch<M>>,
    /// Counts the purges, to forget what the last one has not seen.
    purge: u64,
}

#[derive(Debug)]
struct Watch<M> {
    mark: M,
    since: Instant,
    demand: Duration,
    purge: u64,
}

impl<K, M> Default for Watches<K, M> {
    fn default() -> Self {
        Self { seen: BTreeMap::new(), purge: 0 }
    }
}

impl<K: Ord, M: PartialEq> Watches<K, M> {
    /// The mark of that record, if it was watched for as long as it must.
    pub(super) fn watched(&self, key: &K, now: Instant) -> Option<&M> {
        let watch = self.seen.get(key)?;
        (now.since(watch.since) >= watch.demand).then_some(&watch.mark)
    }

    /// An answer has told the record's mark, and for how long it is to be watched. `now` is after
    /// the answer.
    pub(super) fn sees(&mut self, key: K, mark: M, demand: Duration, now: Instant) {
        let before = self.seen.get(&key).filter(|before| before.mark == mark);
        let since = before.map_or(now, |before| before.since);
        self.seen.insert(key, Watch { mark, since, demand, purge: self.purge });
    }

    /// A purge has gone through all records.
    pub(super) fn ends(&mut self) {
        let purge = self.purge;
        self.seen.retain(|_, watch| watch.purge == purge);
        self.purge += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_counts_once_it_was_watched_unchanged() {
        let at = |seconds| Instant::ORIGIN + Duration::from_secs(seconds);
        let demand = Duration::from_secs(15);
        let mut watches = Watches::default();
        watches.sees("a", 1, demand, at(0));
        watches.ends();
        watches.sees("a", 1, demand, at(14));
        assert_eq!(watches.watched(&"a", at(14)), None);
        assert_eq!(watches.watched(&"a", at(15)), Some(&1));
        watches.sees("a", 2, demand, at(16));
        assert_eq!(watches.watched(&"a", at(30)), None);
        watches.ends();
        assert_eq!(watches.watched(&"a", at(31)), Some(&2));
        watches.ends();
        assert_eq!(watches.watched(&"a", at(40)), None, "the last purge has not seen it");
    }
}
