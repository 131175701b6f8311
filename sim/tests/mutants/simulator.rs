//! The `tenure-sim` command, with a bug in it or without one.

use std::path::Path;
use std::process::{Command, Output};

use tenure_sim::engines::Engine;
use tenure_sim::evidence::mutants::Mutated;

pub(crate) enum Simulator {
    /// The one of this workspace.
    Sound,
    Mutated(Mutated),
}

impl Simulator {
    /// Runs seeds until that property fails. Gives the seed, if it does.
    pub(crate) fn campaign(&self, engine: Engine, property: &str, more: &[&str]) -> Option<u64> {
        let runs = if engine == Engine::Model { "20000" } else { "400" };
        let usual = ["run", "--engine", engine.name(), "--runs", runs, "--format", "json"];
        let ran = self.run(&[&usual[..], &["--properties", property], more].concat());
        if ran.stdout.is_empty() {
            return None;
        }
        let summary: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        let is_violated = ran.status.code() == Some(1)
            && summary["verdict"] == "violated"
            && summary["properties"][property]["violated"].as_u64() >= Some(1);
        is_violated.then(|| summary["failed"]["seed"].as_u64().unwrap())
    }

    /// Writes the plan that a seed stands for in turmoil.
    pub(crate) fn draw(&self, seed: u64, faults: &str, plan: &Path) {
        let seed = seed.to_string();
        let drawn = self.run(&["plan", "--engine", "turmoil", "--seed", &seed, "--faults", faults]);
        assert!(drawn.status.success(), "{drawn:?}");
        std::fs::write(plan, drawn.stdout).unwrap();
    }

    /// True if that property fails in a plan's run.
    pub(crate) fn replay(&self, engine: Engine, property: &str, plan: &Path) -> bool {
        let plan = plan.to_str().unwrap();
        let ran = self.run(&[
            "replay",
            "--engine",
            engine.name(),
            "--plan",
            plan,
            "--properties",
            property,
        ]);
        match ran.status.code() {
            Some(0) => false,
            Some(1) => true,
            _ => panic!("{ran:?}"),
        }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = match self {
            Self::Sound => Command::new(env!("CARGO_BIN_EXE_tenure-sim")),
            Self::Mutated(mutated) => mutated.command(),
        };
        command.args(arguments).output().unwrap()
    }
}
