//! For each condition a history that meets it, and some that nearly do.

mod candidates;
mod faults;
mod store;

use super::*;
use crate::judge::properties::history::in_time;
use crate::plan::FaultKind;

const SECOND: u64 = 1_000_000_000;

type History = [(SimTime, Event)];

/// How often a history meets a condition.
fn times(condition: Condition, history: &History) -> u64 {
    let mut sometimes = Sometimes::default();
    for (at, event) in history {
        sometimes.observe(*at, &in_time(*at, event.clone()));
    }
    sometimes.counts()[condition.name()]
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
    assert_eq!(counts.len(), names(Scope::Model).count());
    assert!(counts.values().all(|times| *times == 0));
}

#[test]
fn an_engine_meets_what_its_faults_allow() {
    let turmoil: Vec<_> = names(Scope::Turmoil).collect();
    assert!(turmoil.len() >= 14 && turmoil.len() < names(Scope::Model).count());
    assert!(turmoil.contains(&"leader-crashed") && !turmoil.contains(&"leader-suspended"));
}
