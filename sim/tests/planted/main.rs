//! Proves that the checks can fail: each planted bug must violate the properties that guard against it.
//!
//! A bug is a snippet of the shipped sources and what replaces it. The sources are copied, the snippet
//! replaced, the simulator built from the copy and run. A snippet that does not stand in its file
//! exactly once is an error: a bug that is not planted proves nothing.

#![cfg(all(feature = "cli", feature = "turmoil"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bugs;
mod copy;
mod crossing;
mod simulator;

use std::time::Instant;

use tenure_sim::engine::Engine;

use bugs::{BUGS, Bug, Shows};
use copy::with_planted;
use simulator::Simulator;

#[test]
fn every_planted_bug_is_caught_by_the_properties_that_guard_against_it() {
    let mut missed = Vec::new();
    for bug in &BUGS {
        let began = Instant::now();
        with_planted(bug, |mutated| {
            let built = began.elapsed();
            missed.extend(missed_in(mutated, bug));
            eprintln!("{}: {built:.1?} to build, {:.1?} in all", bug.name, began.elapsed());
        });
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}

/// What does not catch the bug, and should.
fn missed_in(mutated: &Simulator, bug: &Bug) -> Vec<String> {
    let engines: &[(Engine, &[&str])] = match bug.shows {
        Shows::Model => &[(Engine::Model, &[])],
        Shows::Turmoil(faults) => &[(Engine::Turmoil, &["--faults", faults])],
        Shows::Both(faults) => &[(Engine::Model, &[]), (Engine::Turmoil, &["--faults", faults])],
    };
    let mut missed = Vec::new();
    for (engine, more) in engines {
        for property in bug.caught_by {
            match mutated.campaign(*engine, property, more) {
                Some(seed) => {
                    eprintln!("{}: {property} fails in {engine}, seed {seed}", bug.name);
                }
                None => missed.push(format!("{} by {property} in {engine}", bug.name)),
            }
        }
    }
    missed
}

#[test]
fn together_the_bugs_make_every_property_fail() {
    let caught: Vec<&str> = BUGS.iter().flat_map(|bug| bug.caught_by).copied().collect();
    let never: Vec<&str> =
        tenure_sim::properties::names().filter(|name| !caught.contains(name)).collect();
    assert!(never.is_empty(), "no bug shows that these can fail: {never:?}");
}
