//! Measuring the speed of the engines.

#[cfg(feature = "turmoil")]
mod turmoil;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tenure_sim::engines::Engine;
use tenure_sim::judge::Judging;
use tenure_sim::plan::{
    FaultKind, LinkFault, NodePlan, Plan, ProcessFault, Scope, Settings, StoreFault, StorePlan,
    What, Work, swarm,
};
use tenure_sim::search::campaign::{Failure, Run, attempt};
use tenure_sim::search::pool;

use crate::error::{CliError, written};
use crate::show::numbers;

const NODES: usize = 5;
const TTL: Duration = Duration::from_secs(15);
/// The number of rounds; in each, one thread and then all threads are measured.
const ROUNDS: usize = 7;
/// The duration of each measurement.
const TURN: Duration = Duration::from_millis(500);

pub(crate) fn speed() -> Result<u8, CliError> {
    let mut out = io::stdout().lock();
    written(model(&mut out))?;
    #[cfg(feature = "turmoil")]
    written(turmoil::compare(&mut out))?;
    Ok(0)
}

fn model(out: &mut impl Write) -> io::Result<()> {
    let cores = pool::cores();
    let heads = ["model engine", "threads", "simulated s/s", "runs/s", "events/s", "to one thread"];
    let mut table = numbers(heads);
    for (name, plan) in [
        ("5 candidates, TTL 15 s, no faults", &healthy as &(dyn Fn(u64) -> Plan + Sync)),
        ("the same with faults", &faulty),
        ("as campaigns draw them", &|seed| swarm(seed, &FaultKind::ALL, Scope::Model)),
    ] {
        let (alone, all) = in_turn(cores, plan)?;
        for (threads, pace, ratio) in [(1, alone, "1.00".to_owned()), (cores, all.pace, all.ratio)]
        {
            let figures = [pace.simulated, pace.runs, pace.events].map(|of| format!("{of:.0}"));
            let [simulated, runs, events] = figures;
            table.add_row([name.to_owned(), threads.to_string(), simulated, runs, events, ratio]);
        }
    }
    writeln!(out, "{table}")
}

/// Amounts in a second.
#[derive(Clone, Copy, Default)]
struct Pace {
    simulated: f64,
    runs: f64,
    events: f64,
}

impl Pace {
    fn of(run: &Run) -> Self {
        // A run has far fewer events than this limit.
        let events = f64::from(u32::try_from(run.events).unwrap_or(u32::MAX));
        Self { simulated: run.simulated.as_secs_f64(), runs: 1.0, events }
    }

    fn add(&mut self, more: Self) {
        self.simulated += more.simulated;
        self.runs += more.runs;
        self.events += more.events;
    }
}

/// The pace of many threads, and its ratio to that of one.
struct Relative {
    pace: Pace,
    ratio: String,
}

/// Measures one thread and many threads in turn, because the load of a shared machine varies: the
/// median round of one thread, and the median ratio.
fn in_turn(cores: usize, plan: &(dyn Fn(u64) -> Plan + Sync)) -> io::Result<(Pace, Relative)> {
    let rounds: io::Result<Vec<(Pace, Pace)>> =
        (0..ROUNDS).map(|_| Ok((measured(1, plan)?, measured(cores, plan)?))).collect();
    let mut rounds = rounds?;
    rounds.sort_by(|one, other| one.0.simulated.total_cmp(&other.0.simulated));
    let alone = rounds[ROUNDS / 2].0;
    let ratio = |(alone, all): &(Pace, Pace)| all.simulated / alone.simulated;
    rounds.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    let (least, median, most) = (rounds[0], rounds[ROUNDS / 2], rounds[ROUNDS - 1]);
    let [least, middle, most] = [least, median, most].map(|round| ratio(&round));
    let ratio = format!("{middle:.2} ({least:.2} to {most:.2})");
    Ok((alone, Relative { pace: median.1, ratio }))
}

/// Carries out and judges the plans of one seed after another, as a campaign does.
fn measured(threads: usize, plan: &(dyn Fn(u64) -> Plan + Sync)) -> io::Result<Pace> {
    let began = Instant::now();
    let run = |sum: &mut Result<Pace, Failure>, number| {
        let Ok(pace) = sum else { return ControlFlow::Break(()) };
        if began.elapsed() >= TURN {
            return ControlFlow::Break(());
        }
        let plan = plan(number + 1);
        match attempt(Engine::Model, &plan, Judging::default()) {
            Ok(outcome) => pace.add(Pace::of(&Run::of(&plan, &outcome))),
            Err(failure) => *sum = Err(failure),
        }
        ControlFlow::Continue(())
    };
    let merge = |sum: &mut Result<Pace, Failure>, more| match (sum.as_mut(), more) {
        (Ok(pace), Ok(more)) => pace.add(more),
        (Ok(_), Err(failure)) => *sum = Err(failure),
        (Err(_), _) => {}
    };
    let sum = pool::fold(threads, u64::MAX, || Ok(Pace::default()), run, merge);
    let sum = sum.map_err(|failure| io::Error::other(format!("{failure:?}")))?;
    let took = began.elapsed().as_secs_f64();
    Ok(Pace { simulated: sum.simulated / took, runs: sum.runs / took, events: sum.events / took })
}

/// Five candidates at default settings without faults.
fn healthy(seed: u64) -> Plan {
    let node = NodePlan { clock_rate_ppm: 100, ..NodePlan::of_offset(1_000) };
    let settings = Settings::of_ttl(TTL).unwrap_or_else(|error| unreachable!("{error}"));
    Plan {
        store: StorePlan { clock_rate_ppm: -100, ..StorePlan::default() },
        latency_us: (200, 2_000),
        work: Work { every_ms: 1_000, takes_us: 500, reads_first: false },
        calm_from_ms: 300_000,
        ..Plan::quiet(seed, settings, vec![node; NODES])
    }
}

/// The same candidates with a fault every half minute.
fn faulty(seed: u64) -> Plan {
    let (mut plan, node) = (healthy(seed), None);
    for (at_s, for_s, what) in [
        (20, 20, ProcessFault::Pause.at(node)),
        (50, 20, LinkFault::Partition.at(node)),
        (80, 5, ProcessFault::Crash { power: true }.at(node)),
        (110, 30, LinkFault::Loss { permille: 200 }.at(node)),
        (140, 0, ProcessFault::Resign.at(node)),
        (170, 20, LinkFault::Hold.at(node)),
        (200, 1, What::Store(StoreFault::StoreCrash)),
        (230, 20, ProcessFault::Suspend.at(node)),
        (260, 20, What::Store(StoreFault::StoreStall)),
    ] {
        plan.at(at_s * 1_000, for_s * 1_000, what);
    }
    plan
}
