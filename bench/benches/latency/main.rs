//! The times of a candidate's requests on each store, of a handover, and of a takeover after a
//! crash, on this machine and servers of its own.
//!
//! ```text
//! cargo bench -p tenure-bench --features etcd --bench latency
//! ```
//!
//! An acquire of a vacant lease and a renewal are timed one by one, one after the other, as
//! `Store::call` without a driver. A handover is measured from the call of `stop()` on the leader,
//! or of `hand_over()` to the successor's name, to the successor's election, at default settings. A
//! crash is a driver that is dropped; the takeover is measured from a TTL after the last renewal,
//! by the store's clock, of a leader that has renewed more than once. With `--beside 10000`, the
//! leader's driver leads so many other elections meanwhile, and the successor's driver waits in all
//! of them.

#![allow(clippy::print_stdout, reason = "its table is what it is for")]

mod handover;
mod place;

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use place::{Busy, Place};
use tenure::store::Store;
use tenure_bench::{Chart, Elections, Line, Operation, Percentiles};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The first calls of a connection, which are not measured: they connect and load scripts.
const FIRST_CALLS: u32 = 20;

/// Percentiles on the axis below, each beside its *k*: one of *k* times is at least as long.
const MARKS: [(f64, &str); 6] = [
    (1.0, "shortest"),
    (2.0, "50 %"),
    (10.0, "90 %"),
    (100.0, "99 %"),
    (1_000.0, "99.9 %"),
    (10_000.0, "99.99 %"),
];

#[derive(Parser)]
struct Arguments {
    /// The stores to measure; by default all that were built in.
    stores: Vec<String>,
    /// The number of acquires, and of renewals, to measure.
    #[arg(long, default_value_t = 2_000)]
    calls: u32,
    /// The number of handovers to measure.
    #[arg(long, default_value_t = 30)]
    runs: u32,
    /// The number of crashes to measure.
    #[arg(long, default_value_t = 10)]
    crashes: u32,
    /// The number of other elections of both drivers.
    #[arg(long, default_value_t = 0)]
    beside: u32,
    /// A picture of the percentiles, as SVG.
    #[arg(long)]
    plot: Option<PathBuf>,
    /// Added by cargo.
    #[arg(long, hide = true)]
    bench: bool,
    /// Measure each once, to see that it runs.
    #[arg(long)]
    test: bool,
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let Arguments { stores, calls, runs, crashes, beside, plot, test, .. } = Arguments::parse();
    let (calls, runs, crashes, beside) =
        if test { (1, 1, 1, 3) } else { (calls, runs, crashes, beside) };
    let mut places = place::places()?;
    let known: Vec<_> = places.iter().map(|place| place.name).collect();
    if let Some(unknown) = stores.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("no store {unknown:?}; built in are {}", known.join(", ")).into());
    }
    println!("| store | what | TTL, s | count | min, ms | median | p90 | p99 | max |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let what = ["acquire (vacant)", "renew", "handover", "handover to a name", "after a crash"];
    let mut charts = what.map(chart);
    for place in &mut places {
        if !stores.is_empty() && !stores.iter().any(|name| name == place.name) {
            continue;
        }
        let mut election = Elections::new((place.connect)(), 1);
        let acquires = calls_of(&mut election, Operation::Acquire, calls).await;
        let renewals = calls_of(&mut election, Operation::Renew, calls).await;
        if beside > 0 {
            place.busy = Some(Busy::start(place, beside).await?);
        }
        let mut handovers = Vec::new();
        for run in 0..runs {
            handovers.push(place.handover(run).await?);
        }
        let mut named = Vec::new();
        for run in 0..runs {
            named.push(place.hand_over(run).await?);
        }
        let mut takeovers = Vec::new();
        for run in 0..crashes {
            takeovers.push(place.takeover(run).await?);
        }
        let [default, crash] = place.configs.map(|config| config.ttl());
        let measured = [
            (tenure_bench::TTL, acquires),
            (tenure_bench::TTL, renewals),
            (default, handovers),
            (default, named),
            (crash, takeovers),
        ];
        for (chart, (ttl, times)) in charts.iter_mut().zip(measured) {
            let Some(times) = Percentiles::of(times) else { continue };
            report(place, &chart.title, ttl, &times);
            let (name, points) = (place.name.to_owned(), times.one_in());
            chart.lines.push(Line { name, points, dots: false });
        }
    }
    if let Some(path) = plot {
        for chart in &mut charts {
            chart.title.push_str(", milliseconds");
        }
        fs::write(path, Chart::svg(&charts))?;
    }
    Ok(())
}

fn chart(what: &str) -> Chart {
    let across = "so many of the times are shorter".to_owned();
    Chart { title: what.to_owned(), across, marks: MARKS.to_vec(), lines: Vec::new() }
}

/// The times of single calls of an operation, one after the other.
async fn calls_of<S: Store>(
    election: &mut Elections<S>,
    operation: Operation,
    count: u32,
) -> Vec<Duration> {
    let mut times = Vec::new();
    for call in 0..FIRST_CALLS + count {
        let time = election.measure(operation, 1).await;
        if call >= FIRST_CALLS {
            times.push(time);
        }
    }
    times
}

fn report(place: &Place, what: &str, ttl: Duration, times: &Percentiles) {
    let [least, median, p90, p99, most] =
        [0, 50, 90, 99, 100].map(|percent| format!("{:.3}", times.at(percent).as_secs_f64() * 1e3));
    println!(
        "| {} | {what} | {} | {} | {least} | {median} | {p90} | {p99} | {most} |",
        place.name,
        ttl.as_secs_f64(),
        times.count(),
    );
}
