//! One run of a benchmark: its comparisons under criterion, and the report at the end.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

use criterion::Criterion;
use tokio::runtime::{Builder, Runtime};

use crate::{Comparison, Report, Side};

/// The outcome of a step: its value, or the error for which the benchmark could not be run.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Criterion with the options of the command line, and the comparisons that were measured.
pub struct Session {
    criterion: Criterion,
    report: Report,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("report", &self.report).finish_non_exhaustive()
    }
}

impl Session {
    /// Runs `compare`, and prints the report of its comparisons. Each side is measured for that
    /// long after that warm-up, unless the command line says otherwise.
    ///
    /// An error goes to the standard error, and makes the process fail.
    pub fn run(
        warm_up: Duration,
        measurement: Duration,
        compare: impl FnOnce(&mut Self) -> Outcome<()>,
    ) -> ExitCode {
        let criterion = Criterion::default().warm_up_time(warm_up).measurement_time(measurement);
        let mut session =
            Self { criterion: criterion.configure_from_args(), report: Report::new() };
        match compare(&mut session).and_then(|()| session.finish()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        }
    }

    /// Measures both sides of a comparison, as [`Comparison::run`] says, for the report.
    pub fn compare(
        &mut self,
        mut comparison: Comparison,
        measure: impl FnMut(Side, u32) -> Duration,
    ) {
        comparison.run(&mut self.criterion, measure);
        self.report.add(comparison);
    }

    /// Criterion itself, for measurements without another side.
    pub fn criterion(&mut self) -> &mut Criterion {
        &mut self.criterion
    }

    fn finish(&mut self) -> Outcome<()> {
        self.criterion.final_summary();
        self.report.print()?;
        Ok(())
    }
}

/// A runtime of this thread alone: wake-ups between threads would hide the difference that is
/// measured.
///
/// # Errors
/// If the system has no room for its timers and sockets.
pub fn one_thread() -> Outcome<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}
