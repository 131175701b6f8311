//! Carries out a control's plans.

use super::Control;
use super::report::{Broken, Report, Tally};
use crate::engines::{Engine, EngineError};
use crate::judge::{Judging, Which};
use crate::plan::{Assumption, PlanError};
use crate::search::pool;

/// An error that stops a control.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// A plan breaks other assumptions than its control says, so its result would prove nothing.
    #[error(
        "control {control}, seed {seed}: the plan breaks {broken:?}, but should break {beyond:?}"
    )]
    Beyond {
        /// The control's name.
        control: &'static str,
        /// The plan's seed.
        seed: u64,
        /// The assumptions that the plan breaks.
        broken: Vec<Assumption>,
        /// The assumptions that it should break.
        beyond: &'static [Assumption],
    },
    /// A plan is invalid.
    #[error("control {control}, seed {seed}: {why}")]
    Plan {
        /// The control's name.
        control: &'static str,
        /// The plan's seed.
        seed: u64,
        /// The reason.
        #[source]
        why: PlanError,
    },
    /// A run did not complete.
    #[error("control {control}, seed {seed}: {why}")]
    Engine {
        /// The control's name.
        control: &'static str,
        /// The plan's seed.
        seed: u64,
        /// The reason.
        #[source]
        why: EngineError,
    },
}

/// Carries out a control's plans of `runs` seeds, on `jobs` threads, in the model engine.
///
/// The report depends on the control, the first seed and the number of runs alone.
///
/// # Errors
/// If a plan breaks other assumptions than the control says, or a run does not complete. There is
/// no report then.
pub fn run(control: &Control, seed: u64, runs: u64, jobs: usize) -> Result<Report, ControlError> {
    let add = |tally: &mut Tally, number| one(control, seed.wrapping_add(number), tally);
    let tally = pool::try_fold(jobs, runs, Tally::default, add, Tally::absorb)?;
    Ok(Report::new(control, seed, runs, tally))
}

fn one(control: &Control, seed: u64, tally: &mut Tally) -> Result<(), ControlError> {
    let plan = control.plan(seed);
    let Control { name: control, beyond, .. } = *control;
    plan.check().map_err(|why| ControlError::Plan { control, seed, why })?;
    let broken = plan.broken();
    if broken != beyond {
        return Err(ControlError::Beyond { control, seed, broken, beyond });
    }
    let outcome = Engine::Model.run(&plan, Judging::KeepJudging(Which::All));
    let outcome = outcome.map_err(|why| ControlError::Engine { control, seed, why })?;
    for violation in outcome.judge.violations() {
        let what = violation.finding.to_string();
        tally.add(violation.property, Broken { runs: 1, first_seed: seed, what });
    }
    Ok(())
}
