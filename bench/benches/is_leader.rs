//! What asking for the lead costs beside the bare reading of the clock that it can't do without.

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use criterion::Criterion;
use rustix::time::{ClockId, clock_gettime};
use tenure::store::Memory;
use tenure::{Candidate, Tenure};
use tenure_bench::{Comparison, Report, Side};

/// Long enough to hide the reading of the clock around it.
const TURN: u32 = 1_000;
const AT_MOST: f64 = 1.3;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    // The driver renews in its own thread, as it does in an application.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (candidate, tenure) = runtime.block_on(async {
        let candidate = Candidate::builder(Memory::new(), "measured").start()?;
        let tenure = candidate.elected().await?;
        Ok::<_, Box<dyn Error>>((candidate, tenure))
    })?;
    allocates_nothing(&candidate, &tenure);

    let mut report = Report::new();
    compare(&mut criterion, &mut report, "is_leader", || candidate.is_leader());
    compare(&mut criterion, &mut report, "is_current", || tenure.is_current());
    let mut control = comparison("control").at_most(AT_MOST);
    control.run(&mut criterion, |_, repetitions| read_clock(repetitions));
    report.add(control);

    assert!(candidate.is_leader(), "led all the time");
    runtime.block_on(candidate.stop())?;
    criterion.final_summary();
    report.print()?;
    Ok(())
}

fn comparison(name: &'static str) -> Comparison {
    Comparison::new("asking", name, ["asked", "CLOCK_BOOTTIME"], TURN)
}

fn compare(
    criterion: &mut Criterion,
    report: &mut Report,
    name: &'static str,
    leads: impl Fn() -> bool,
) {
    let mut comparison = comparison(name).at_most(AT_MOST);
    comparison.run(criterion, |side, repetitions| match side {
        Side::Ours => {
            let started = Instant::now();
            for _ in 0..repetitions {
                black_box(leads());
            }
            let took = started.elapsed();
            assert!(leads(), "measured while leading");
            took
        }
        Side::Bare => read_clock(repetitions),
    });
    report.add(comparison);
}

fn read_clock(repetitions: u32) -> Duration {
    let started = Instant::now();
    for _ in 0..repetitions {
        black_box(clock_gettime(ClockId::Boottime));
    }
    started.elapsed()
}

fn allocates_nothing(candidate: &Candidate, tenure: &Tenure) {
    let counted = allocation_counter::measure(|| {
        for _ in 0..1_000 {
            assert!(candidate.is_leader() && tenure.is_current());
        }
    });
    assert_eq!(counted.count_total, 0, "asking for the lead allocates");
}
