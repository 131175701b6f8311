//! The classes of elections that this process reports, and the series of each.
//!
//! The registry belongs to the process, as the recorder does: drivers of one process add up, and
//! the number of classes is bounded over all of them. The keys of the series are made once, since a
//! key of the `metrics` crate costs an allocation and a hash. The recorder is asked for each value
//! anew: one that is installed later sees all that follows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metrics::{Key, Label};
use tenure_driver::Verdict;

use super::table::{self, METADATA, report};
use crate::logging;
use crate::{Instant, StepDownReason};

/// The most classes of a process. The elections of all further classes count as the class `other`.
const MOST_CLASSES: usize = 100;

/// The class of elections whose own class is beyond the bound.
const OTHER: &str = "other";

static CLASSES: Mutex<Classes> = Mutex::new(Classes(BTreeMap::new()));

/// The classes of this process. None is ever removed: its gauges then show zero.
struct Classes(BTreeMap<String, Arc<Class>>);

/// The class of that name, or `other`.
pub(super) fn of(name: &str) -> Arc<Class> {
    CLASSES.lock().unwrap_or_else(PoisonError::into_inner).of(name)
}

impl Classes {
    fn of(&mut self, name: &str) -> Arc<Class> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        if self.0.len() < MOST_CLASSES {
            let new = Arc::new(Class::new(name));
            self.0.insert(name.to_owned(), Arc::clone(&new));
            return new;
        }
        let other = self.0.entry(OTHER.to_owned()).or_insert_with(|| {
            logging::warn!(
                target: "tenure", first = ?name, most = MOST_CLASSES,
                "too many classes of elections: the metrics of all further ones have the key_class `other`; \
                 Metrics::key_class can map keys to fewer"
            );
            Arc::new(Class::new(OTHER))
        });
        Arc::clone(other)
    }
}

const VERDICTS: [(Verdict, &str); 3] =
    [(Verdict::Done, "done"), (Verdict::Refused, "refused"), (Verdict::Unknown, "unknown")];

const REQUESTS: [&str; 4] = ["acquire", "look", "renew", "release"];

const HOW: [&str; 3] = ["dropped", "panicked", "failed"];

const REASONS: [&str; 9] = [
    "expired",
    "superseded",
    "resigned",
    "renew_failed",
    "work_lost",
    "unresponsive",
    "work_failed",
    "handed_over",
    "other",
];

fn name_of(reason: StepDownReason) -> &'static str {
    match reason {
        StepDownReason::Expired => "expired",
        StepDownReason::Superseded => "superseded",
        StepDownReason::Resigned => "resigned",
        StepDownReason::RenewFailed => "renew_failed",
        StepDownReason::WorkLost => "work_lost",
        StepDownReason::Unresponsive => "unresponsive",
        StepDownReason::WorkFailed => "work_failed",
        StepDownReason::HandedOver => "handed_over",
        _ => "other",
    }
}

/// One class, and the keys of its series.
pub(super) struct Class {
    candidates: Key,
    leading: Key,
    store_up: Key,
    watching: Key,
    pub(super) elected: Key,
    stepped_down: [(&'static str, Key); REASONS.len()],
    pub(super) renewals: Key,
    pub(super) late_renewals: Key,
    pub(super) renewal_failures: Key,
    pub(super) validity_left: Key,
    requests: Vec<(&'static str, Verdict, Key)>,
    pub(super) contradictions: Key,
    work_lost: [(&'static str, Key); 3],
    /// In the order of the table.
    pub(super) leader_names: [Key; 4],
    now: Mutex<Now>,
}

/// The gauges' values.
#[derive(Default)]
pub(super) struct Now {
    pub(super) candidates: u32,
    pub(super) leading: u32,
    pub(super) without_store: u32,
    pub(super) watching: u32,
    /// The end of the longest watch.
    pub(super) watching_until: Instant,
    /// The time until then, at the last answer.
    pub(super) watch_left: Duration,
}

impl Class {
    fn new(name: &str) -> Self {
        let class = Label::new("key_class", name.to_owned());
        let plain = |name| Key::from_parts(name, vec![class.clone()]);
        let with =
            |name, key, value| Key::from_parts(name, vec![class.clone(), Label::new(key, value)]);
        let request = |request, (verdict, label)| {
            let labels = [("request", request), ("outcome", label)]
                .map(|(key, value)| Label::new(key, value));
            let labels = [[class.clone()].as_slice(), &labels].concat();
            (request, verdict, Key::from_parts(table::REQUEST, labels))
        };
        Self {
            candidates: plain(table::CANDIDATES),
            leading: plain(table::LEADING),
            store_up: plain(table::STORE_UP),
            watching: plain(table::WATCHING),
            elected: plain(table::ELECTED),
            stepped_down: REASONS.map(|one| (one, with(table::STEPPED_DOWN, "reason", one))),
            renewals: plain(table::RENEWALS),
            late_renewals: plain(table::LATE_RENEWALS),
            renewal_failures: plain(table::RENEWAL_FAILURES),
            validity_left: plain(table::VALIDITY_LEFT),
            requests: REQUESTS
                .iter()
                .flat_map(|one| VERDICTS.map(|verdict| request(*one, verdict)))
                .collect(),
            contradictions: plain(table::CONTRADICTIONS),
            work_lost: HOW.map(|how| (how, with(table::WORK_LOST, "how", how))),
            leader_names: table::LEADER_NAMES.map(|(alias, _)| plain(alias)),
            now: Mutex::default(),
        }
    }

    pub(super) fn stepped_down(&self, reason: StepDownReason) -> Option<&Key> {
        let name = name_of(reason);
        self.stepped_down.iter().find(|(one, _)| *one == name).map(|(_, key)| key)
    }

    pub(super) fn work_lost(&self, how: &str) -> Option<&Key> {
        self.work_lost.iter().find(|(one, _)| *one == how).map(|(_, key)| key)
    }

    pub(super) fn request(&self, request: &str, verdict: Verdict) -> Option<&Key> {
        let is_it = |one: &&(&str, Verdict, Key)| one.0 == request && one.1 == verdict;
        self.requests.iter().find(is_it).map(|(.., key)| key)
    }

    /// Shows counters that have counted nothing yet: to a query for its increase, a counter that
    /// appears with its first value looks as if nothing had happened.
    pub(super) fn show_counters(&self, leader_names: bool) {
        let aliases = if leader_names { self.leader_names.as_slice() } else { &[] };
        let plain = [
            &self.elected,
            &self.renewals,
            &self.late_renewals,
            &self.renewal_failures,
            &self.contradictions,
        ];
        let labelled = self.stepped_down.iter().chain(&self.work_lost).map(|(_, key)| key);
        for key in plain.into_iter().chain(labelled).chain(aliases) {
            report(|recorder| recorder.register_counter(key, &METADATA).increment(0));
        }
    }

    /// Changes what the gauges show. They are set under the lock, so that of two drivers' values
    /// the later one remains.
    pub(super) fn change(&self, change: impl FnOnce(&mut Now)) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut now);
        let store_up = now.without_store == 0;
        if now.watching == 0 {
            now.watch_left = Duration::ZERO;
            now.watching_until = Instant::ORIGIN;
        }
        let set = |key, value: f64| {
            report(|recorder| recorder.register_gauge(key, &METADATA).set(value));
        };
        set(&self.candidates, f64::from(now.candidates));
        set(&self.leading, f64::from(now.leading));
        set(&self.store_up, f64::from(u8::from(store_up)));
        set(&self.watching, now.watch_left.as_secs_f64());
    }
}

pub(super) fn count(key: &Key) {
    report(|recorder| recorder.register_counter(key, &METADATA).increment(1));
}

pub(super) fn record(key: &Key, value: f64) {
    report(|recorder| recorder.register_histogram(key, &METADATA).record(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_beyond_the_bound_share_one() {
        let mut classes = Classes(BTreeMap::new());
        let of: Vec<_> = (0..250).map(|number| classes.of(&format!("job-{number}"))).collect();
        assert_eq!(classes.0.len(), MOST_CLASSES + 1);
        let other = classes.of(OTHER);
        for (number, class) in of.iter().enumerate() {
            assert_eq!(Arc::ptr_eq(class, &other), number >= MOST_CLASSES, "{number}");
        }
        assert!(Arc::ptr_eq(&of[7], &classes.of("job-7")), "known classes stay what they are");
    }
}
