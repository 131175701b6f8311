//! The state machine: bytes choose a world and what happens in it, and every promise is checked
//! after each thing that happens.
//!
//! The world and its checks are those of the core's property tests. There chance draws what
//! happens; here the coverage of the machine does.

#![no_main]
#![allow(unreachable_pub, dead_code, reason = "as the property tests have it")]

#[path = "../../core/tests/world/mod.rs"]
mod world;

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use world::op::Op;
use world::setup::{Setup, setups};

/// More happens in no world.
const MOST: usize = 200;

#[derive(Arbitrary, Debug)]
struct Given {
    setup: [u8; 8],
    store_loses_data: bool,
    ops: Vec<Op>,
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(given) = Given::arbitrary_take_rest(Unstructured::new(bytes)) else {
        return Corpus::Reject;
    };
    let may_happen = |op: &Op| given.store_loses_data || !loses_data(*op);
    let ops: Vec<Op> = given.ops.iter().copied().filter(may_happen).take(MOST).collect();
    world::run(&setup(given.setup), &ops);
    Corpus::Keep
});

fn loses_data(op: Op) -> bool {
    matches!(op, Op::RollBack | Op::LoseEverything)
}

/// Settings at the edges of validity, as the property tests draw them.
fn setup(seed: [u8; 8]) -> Setup {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed);
    let chance = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), chance);
    setups().new_tree(&mut runner).expect("nothing is filtered out").current()
}
