//! For each condition a history that meets it, and some that nearly do.

mod candidates;
mod faults;
mod store;

use std::collections::BTreeSet;

use super::*;
use crate::plan::{FaultKind, ns};

/// Times are in nanoseconds.
type History = [(u64, Event)];

/// The count of a condition in a history.
fn times(condition: Condition, history: &History) -> u64 {
    counts(history)[condition.name()]
}

/// The count of each condition in a history.
fn counts(history: &History) -> BTreeMap<&'static str, u64> {
    let (mut sometimes, mut state) = (Sometimes::default(), State::default());
    for (at, event) in history {
        sometimes.observe(ns(*at), event, &state);
        state.observe(ns(*at), event);
    }
    sometimes.counts()
}

#[track_caller]
fn meets(condition: Condition, history: &History) {
    assert_eq!(times(condition, history), 1, "{condition:?} by {history:?}");
}

#[track_caller]
fn misses(condition: Condition, histories: &[&History]) {
    for history in histories {
        assert_eq!(times(condition, history), 0, "{condition:?} by {history:?}");
    }
}

/// A fault that has an effect.
fn fault(kind: FaultKind, node: usize) -> Event {
    Event::Effect { kind, node: Some(node) }
}

fn healed(kind: FaultKind, node: usize) -> Event {
    Event::Healed { kind, node: Some(node) }
}

fn of_the_store(kind: FaultKind) -> Event {
    Event::Effect { kind, node: None }
}

#[test]
fn all_are_counted_from_the_beginning() {
    let counts = Sometimes::default().counts();
    assert!(counts.keys().copied().eq(every_name().collect::<BTreeSet<_>>()));
    assert!(counts.values().all(|times| *times == 0));
}

/// Conditions about acts at a real server, and about the ends of real connections.
#[test]
fn simulations_lack_conditions_of_real_servers() {
    let model: Vec<_> = names(Scope::Model).collect();
    let lacking: Vec<_> = every_name().filter(|name| !model.contains(name)).collect();
    assert_eq!(
        lacking,
        [
            "half-open-under-a-leader",
            "disconnected-under-a-leader",
            "scripts-flushed-under-a-leader",
            "data-flushed-under-a-leader",
            "grant-refused-for-memory",
            "row-locked-under-a-leader",
            "table-locked-under-a-leader",
            "pooler-under-a-leader",
            "login-refused-under-a-leader",
            "log-deleted-under-a-leader",
            "member-killed-under-a-leader",
            "raft-leader-paused-under-a-leader",
            "raft-leader-moved-under-a-leader",
            "leader-disconnected",
            "slot-moved-under-a-leader",
            "disk-full-under-a-leader",
            "certificate-expired-under-a-leader",
            "rights-revoked-under-a-leader",
        ]
    );
}

/// Conditions about messages that overtake each other, and about faults that turmoil does not have.
#[test]
fn turmoil_lacks_ten_conditions() {
    let turmoil: Vec<_> = names(Scope::Turmoil).collect();
    let lacking: Vec<_> = names(Scope::Model).filter(|name| !turmoil.contains(name)).collect();
    assert_eq!(
        lacking,
        [
            "renewal-at-the-last-moment",
            "duplicate-renewal-after-release",
            "late-duplicate-acquire-refused",
            "old-primary-acknowledged",
            "reply-after-the-next-request",
            "reply-overtaken",
            "leader-stopped-with-its-clocks",
            "leader-restored-from-a-snapshot",
            "store-rolled-back-under-a-leader",
            "failover-under-a-leader",
        ]
    );
}
