//! Users' own workloads.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_sim::Simulation;
use tenure_sim::plan::{Assumption, Plan};
use tenure_sim::search::campaign::Failure;
use tenure_sim::simulation::{Effect, Leader, SimulationError, Workload};

use super::{failed, property};

/// Keeps the last value only, and may or may not look at the token.
#[derive(Default)]
struct Register {
    is_fenced: bool,
    fence: u64,
    regressions: u64,
}

impl Register {
    fn fenced() -> Self {
        Self { is_fenced: true, ..Self::default() }
    }
}

impl Workload for Register {
    type Intent = ();

    fn name(&self) -> &'static str {
        "never-back"
    }

    fn intend(&self, _: Leader) -> Option<()> {
        Some(())
    }

    fn effect(&mut self, effect: Effect<()>) {
        assert!(effect.checked <= effect.at);
        if self.is_fenced && effect.by.token < self.fence {
            return;
        }
        self.regressions += u64::from(effect.by.token < self.fence);
        self.fence = effect.by.token;
    }

    fn verify(&self) -> Result<(), String> {
        if self.regressions == 0 { Ok(()) } else { Err("an older value after a newer".to_owned()) }
    }
}

#[test]
fn a_workload_that_checks_tokens_holds() {
    let report = Simulation::new().runs(400).workload(Register::fenced).run().unwrap();
    assert_eq!(report.summary.runs, 400);
    let judged = report.summary.properties["never-back"];
    assert!(judged.checked > 300 && judged.violated == 0, "{judged:?}");
}

#[test]
fn one_that_does_not_fails_with_a_small_plan_that_can_be_replayed() {
    let simulation = Simulation::new().runs(400).workload(Register::default);
    let failed = failed(&simulation);
    assert_eq!(property(&failed), "never-back");
    assert_eq!(failed.plan.faults.len(), 1, "{:?}", failed.plan.faults);
    let told = failed.to_string();
    assert!(told.contains(&format!("TENURE_SIM_SEED={} TENURE_SIM_RUNS=1", failed.seed)), "{told}");

    let plan = Plan::parse(told.lines().last().unwrap()).unwrap();
    assert_eq!(plan, failed.plan);
    let SimulationError::Failed(again) = simulation.replay(&plan).unwrap_err() else { panic!() };
    assert_eq!(property(&again), "never-back");
    Simulation::new().workload(Register::fenced).replay(&plan).unwrap();
}

/// The same, and relies on no process being paused.
#[derive(Default)]
struct Prompt(Register);

impl Workload for Prompt {
    type Intent = ();

    fn assumes(&self) -> &'static [Assumption] {
        &Assumption::ALL
    }

    fn intend(&self, leader: Leader) -> Option<()> {
        self.0.intend(leader)
    }

    fn effect(&mut self, effect: Effect<()>) {
        self.0.effect(effect);
    }

    fn verify(&self) -> Result<(), String> {
        self.0.verify()
    }
}

#[test]
fn what_a_workload_does_not_rest_on_is_not_held_against_it() {
    let report = Simulation::new().runs(400).workload(Prompt::default).run().unwrap();
    let judged = report.summary.properties["workload"].checked;
    assert!((1..400).contains(&judged), "judged in {judged} runs");
}

/// Says at the end of a run that it went on for too long.
struct Ends;

impl Workload for Ends {
    type Intent = ();

    fn intend(&self, _: Leader) -> Option<()> {
        None
    }

    fn effect(&mut self, _: Effect<()>) {
        panic!("nobody meant to do anything");
    }

    fn verify(&self) -> Result<(), String> {
        Ok(())
    }

    fn finish(&self) -> Result<(), String> {
        Err("over".to_owned())
    }
}

#[test]
fn the_end_of_a_run_is_judged_and_nothing_lands_that_nobody_meant() {
    let failed = failed(&Simulation::new().runs(10).workload(|| Ends));
    assert!(
        matches!(&failed.failure, Failure::Violated { what, .. } if what == "over"),
        "{failed}"
    );
    assert_eq!(failed.plan.faults.len(), 0, "no fault is needed");
}

static RUNS_SO_FAR: AtomicU64 = AtomicU64::new(0);

/// Means something else in each run.
struct Whimsical(u64);

impl Workload for Whimsical {
    type Intent = u64;

    fn intend(&self, _: Leader) -> Option<u64> {
        Some(self.0)
    }

    fn effect(&mut self, _: Effect<u64>) {}

    fn verify(&self) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn a_workload_that_does_not_repeat_itself_is_an_error_that_says_so() {
    let new = || Whimsical(RUNS_SO_FAR.fetch_add(1, Ordering::Relaxed));
    let failed = failed(&Simulation::new().runs(100).workload(new));
    assert!(matches!(failed.failure, Failure::Nondeterministic { .. }), "{failed}");
    assert!(failed.to_string().contains("hash map"), "{failed}");
}

/// Panics when something is stale.
#[derive(Default)]
struct Asserts(u64);

impl Workload for Asserts {
    type Intent = ();

    fn intend(&self, _: Leader) -> Option<()> {
        Some(())
    }

    fn effect(&mut self, effect: Effect<()>) {
        assert!(effect.by.token >= self.0, "a stale effect");
        self.0 = effect.by.token;
    }

    fn verify(&self) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn a_panic_is_a_failure_with_its_message_and_a_small_plan() {
    let failed = failed(&Simulation::new().runs(400).workload(Asserts::default));
    let Failure::Broke { what } = &failed.failure else { panic!("{failed}") };
    assert_eq!(what, "panicked: a stale effect");
    assert_eq!(failed.plan.faults.len(), 1);
}

/// Reads before it takes its fence over: what it has read is old by the time that it may write.
#[derive(Default)]
struct Hasty {
    fence: u64,
    value: u64,
    counted: u64,
    /// The value that the present tenure believes.
    read: u64,
    reads_after: bool,
}

#[derive(Clone, Hash)]
enum Step {
    TakeOver { read: u64 },
    Count,
}

impl Workload for Hasty {
    type Intent = Step;

    fn name(&self) -> &'static str {
        "no-count-lost"
    }

    fn intend(&self, leader: Leader) -> Option<Step> {
        let is_ours = self.fence == leader.token;
        Some(if is_ours { Step::Count } else { Step::TakeOver { read: self.value } })
    }

    fn effect(&mut self, effect: Effect<Step>) {
        match effect.intent {
            Step::TakeOver { read } if effect.by.token >= self.fence => {
                self.fence = effect.by.token;
                self.read = if self.reads_after { self.value } else { read };
            }
            Step::Count if effect.by.token == self.fence => {
                self.read += 1;
                self.value = self.read;
                self.counted += 1;
            }
            Step::TakeOver { .. } | Step::Count => {}
        }
    }

    fn verify(&self) -> Result<(), String> {
        if self.value == self.counted { Ok(()) } else { Err("a count is lost".to_owned()) }
    }
}

#[test]
fn a_workload_that_reads_before_its_fence_is_caught() {
    let failed = failed(&Simulation::new().workload(Hasty::default));
    assert_eq!(property(&failed), "no-count-lost");
    let careful = || Hasty { reads_after: true, ..Hasty::default() };
    Simulation::new().workload(careful).run().unwrap();
}

#[test]
fn a_failure_tells_its_fault_and_the_events_before() {
    let failed = failed(&Simulation::new().runs(400).workload(Register::default));
    let told = failed.to_string();
    let fault = failed.plan.faults[0].kind().name();
    assert!(told.contains(&format!("Faults: {fault}")), "{told}");
    assert!(told.contains("Beyond the assumptions: "), "{told}");
    assert!(told.contains("never-back violated at "), "{told}");
    // As the command tells it, and not as the code has it.
    assert!(told.contains("Store 0: ") && !told.contains("StoreStep"), "{told}");
}

/// Runs itself in a process of its own, and counts the panics there.
#[test]
fn a_panicking_workload_prints_one_backtrace() {
    const WITHIN: &str = "TENURE_SIM_TEST_PANICS";
    if std::env::var_os(WITHIN).is_some() {
        return Simulation::new().runs(400).workload(Asserts::default).check();
    }
    let test = std::env::current_exe().unwrap();
    let run = Command::new(test)
        .args([
            "--exact",
            "--nocapture",
            "simulation::workloads::a_panicking_workload_prints_one_backtrace",
        ])
        .env("RUST_BACKTRACE", "1")
        .env(WITHIN, "1")
        .output()
        .unwrap();
    assert!(!run.status.success());
    let told = String::from_utf8(run.stderr).unwrap();
    let of_workload = told.matches("\na stale effect\n").count();
    assert_eq!(of_workload, 1, "{told}");
    // That of the workload, and that of the check which then fails.
    assert_eq!(told.matches("stack backtrace:").count(), 2, "{told}");
    assert!(told.contains("The run broke down: panicked: a stale effect"), "{told}");
}

/// Never writes.
#[derive(Default)]
struct Idle;

impl Workload for Idle {
    type Intent = ();

    fn intend(&self, _: Leader) -> Option<()> {
        None
    }

    fn effect(&mut self, _: Effect<()>) {}

    fn verify(&self) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn a_workload_without_effects_is_an_error() {
    let error = Simulation::new().runs(10).workload(Idle::default).run().unwrap_err();
    assert!(matches!(error, SimulationError::Empty { runs: 10, .. }), "{error}");
    assert!(
        error.to_string().ends_with("no effect was judged by the workload's property \"workload\""),
        "{error}"
    );
}
