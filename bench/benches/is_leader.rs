//! The cost of asking for the lead, beside a bare reading of the clock, which it can't do without.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tenure::store::Memory;
use tenure::{Candidate, Tenure};
use tenure_bench::{Comparison, Outcome, Session, Side};

/// Long enough to hide the reading of the clock around it.
const TURN: u32 = 1_000;
const AT_MOST: f64 = 1.3;

fn main() -> ExitCode {
    Session::run(Duration::from_millis(300), Duration::from_secs(2), run)
}

fn run(session: &mut Session) -> Outcome<()> {
    // The driver renews in its own thread, as it does in an application.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (candidate, tenure) = runtime.block_on(async {
        let candidate = Candidate::builder(Memory::new(), "measured").start()?;
        let tenure = candidate.elected().await?;
        Outcome::Ok((candidate, tenure))
    })?;
    allocates_nothing(&candidate, &tenure);

    compare(session, "is_leader", || candidate.is_leader());
    compare(session, "is_current", || tenure.is_current());
    session.compare(comparison("control"), |_, repetitions| read_clock(repetitions));

    assert!(candidate.is_leader(), "led all the time");
    runtime.block_on(candidate.stop())?;
    Ok(())
}

fn comparison(name: &'static str) -> Comparison {
    Comparison::new("asking", name, ["asked", "CLOCK_BOOTTIME"], TURN).at_most(AT_MOST)
}

fn compare(session: &mut Session, name: &'static str, leads: impl Fn() -> bool) {
    session.compare(comparison(name), |side, repetitions| match side {
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
