//! The promises G1, G2, G3, G5, G6 and G7 under arbitrary interleavings of faults.
//!
//! What is checked is in `world/checks.rs`, `world/node.rs`, `world/store.rs` and
//! `world/recovery.rs`, each check with a letter that its failure names: (a) single leader · (b)
//! margin kept · (c) tokens increase · (d) one step-down for each election · (e) no resurrection ·
//! (f) no release under work · (g) draining is covered · (h) deadlines lie ahead · (i) own lease
//! only · (j) progress · (k) determinism.

use crate::world::op::{Edge, Fate, Op, ops};
use crate::world::setup::{Setup, setups};
use crate::world::{self, Sights};
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};
use std::cell::Cell;
use std::panic;
use std::sync::Once;

const CASES: u32 = 5_000;
const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/properties.regressions");

#[test]
fn promises_hold_while_the_store_loses_nothing() {
    let seen = explore(false);
    assert!(seen.is_none_or(Sights::everything_but_losses), "inconclusive: {seen:?}");
}

#[test]
fn promises_hold_while_the_store_loses_data() {
    let seen = explore(true);
    let conclusive = |seen: Sights| {
        seen.everything_but_losses()
            && seen.superseded
            && seen.lost_while_led
            && seen.losses_told
            && seen.leaders_watch_pasts
    };
    assert!(seen.is_none_or(conclusive), "inconclusive: {seen:?}");
}

/// Written by hand, since random operations rarely reach it: an acquire is delayed while the leader
/// renews, and is granted by a store that lost all data. A quarantine that counts from its sending
/// would end too soon.
#[test]
fn a_quarantine_is_counted_from_the_reply() {
    let fate = Fate::Arrives;
    let first_answered = [Op::Request { pick: 0, fate }, Op::Reply { pick: 0, fate }];
    let [leader, successor] = [0, 1];
    let due =
        |node| [Op::PassTo { edge: Edge::Deadline, node, just_before: false }, Op::Wake { node }];
    let renewed_past_the_acquire = [Op::Request { pick: 1, fate }, Op::Reply { pick: 0, fate }];

    let mut ops = Vec::new();
    ops.extend(first_answered);
    ops.extend(due(leader));
    ops.extend(renewed_past_the_acquire);
    ops.push(Op::LoseEverything);
    // From now on the old leader is cut off, and the successor's requests are answered.
    for _ in 0..8 {
        ops.extend(first_answered);
        ops.extend(due(successor));
    }
    let seen = world::run(&Setup::slow_and_fast(), &ops);
    assert!(seen.takeovers && seen.watches_pasts && seen.lost_while_led, "{seen:?}");
}

/// Returns the situations that were seen; `None` with too few cases to see all of them.
fn explore(store_loses_data: bool) -> Option<Sights> {
    let mut config = Config {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = CASES;
    }
    let cases = config.cases;
    let seen = Cell::new(Sights::default());
    let found = quietly(|| {
        TestRunner::new(config).run(&(setups(), ops(store_loses_data)), |(setup, ops)| {
            seen.set(seen.get().or(world::run(&setup, &ops)));
            Ok(())
        })
    });
    found.unwrap_or_else(|failure| panic!("{failure}"));
    (cases >= CASES).then(|| seen.get())
}

/// Shrinking panics thousands of times; only what it ends with is worth printing.
fn quietly<T>(explore: impl FnOnce() -> T) -> T {
    thread_local!(static QUIET: Cell<bool> = const { Cell::new(false) });
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                loud(panic);
            }
        }));
    });
    QUIET.set(true);
    let found = explore();
    QUIET.set(false);
    found
}

impl Sights {
    fn everything_but_losses(self) -> bool {
        self.leads
            && self.takeovers
            && self.watches_pasts
            && self.expiries
            && self.drains_covered
            && self.drains_extended
            && self.late_renewals
            && self.refused_acquires
            && self.releases
            && self.admitted_late
            && self.renewed_early
            && self.taken
            && self.taken_from_a_leader
            && self.suspends
            && self.clock_steps
    }
}
