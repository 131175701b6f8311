//! Plans are worth something in both engines: what fails in one fails in the other.
//!
//! Requests meet faults at other moments there, so not every plan does: of the first few, one must.

use std::fs;
use std::path::Path;

use tenure_sim::engines::Engine;
use tenure_sim::evidence::mutants::{self, Arena, Plant, Sources, Workshop};
use tenure_sim::plan::{Plan, Program};

use super::simulator::Simulator;

const MUTANT: &str = "quarantine-ignored";
const FAULTS: &str = "store-loss,partition,pause";
const PROPERTY: &str = "single-leader";
/// The number of failing plans tried in the other engine.
const TRIES: u64 = 5;
/// Among how many seeds a failing plan is looked for.
const SEEDS: u64 = 400;

#[test]
fn a_plan_that_fails_in_one_engine_fails_in_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.json");
    let sources = Sources::around(env!("CARGO_MANIFEST_DIR").as_ref()).unwrap();
    let plants = mutants::all().map(|mutant| mutant.plant(&sources).unwrap());
    let plants: Vec<_> = plants.filter(Plant::is_joinable).collect();
    let work = sources.default_work();
    // Held to the end: another test would build another mutant in its place.
    let workshop = Workshop::open(sources, &work, || ()).unwrap();
    // That all of them can be built is seen nowhere else.
    let mutated = workshop.built(&plants.iter().collect::<Vec<_>>(), &[Arena::Turmoil]).unwrap();
    let one = plants.iter().zip(mutated).find(|(plant, _)| plant.name() == MUTANT);
    let mutated = &Simulator::Mutated(one.unwrap().1);
    let from_model = |first: u64| {
        (first..first + SEEDS).find(|seed| {
            mutated.draw(*seed, FAULTS, &plan);
            plain(&plan);
            mutated.replay(Engine::Model, PROPERTY, &plan)
        })
    };
    carries_over(mutated, &plan, Engine::Turmoil, from_model);
    let from_turmoil = |first: u64| {
        let (first, plan) = (first.to_string(), plan.to_str().unwrap());
        let more = ["--seed", &first, "--faults", FAULTS, "--plan-out", plan];
        let found = mutated.campaign(Engine::Turmoil, PROPERTY, &more);
        plain(Path::new(plan));
        found
    };
    carries_over(mutated, &plan, Engine::Model, from_turmoil);
}

/// With the program that both engines know.
fn plain(file: &Path) {
    let plan = Plan::parse(&fs::read_to_string(file).unwrap()).unwrap();
    let plan = Plan { program: Program::default(), ..plan };
    fs::write(file, plan.to_text()).unwrap();
}

/// `fails` writes the first failing plan of the seeds from that one on.
fn carries_over(mutated: &Simulator, plan: &Path, to: Engine, fails: impl Fn(u64) -> Option<u64>) {
    let sound = Simulator::Sound;
    let mut next = 1;
    let carried = (0..TRIES).filter(|_| {
        next = fails(next).expect("a plan that fails") + 1;
        for engine in Engine::ALL {
            assert!(!sound.replay(*engine, PROPERTY, plan), "no bug, and {engine} fails");
        }
        mutated.replay(to, PROPERTY, plan)
    });
    let carried = carried.count();
    eprintln!("{carried} of {TRIES} failing plans fail in {to} as well");
    assert!(carried > 0, "none of {TRIES} failing plans fails in {to}");
}
