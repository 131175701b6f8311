//! Many elections in one process over one connection, on servers of its own.
//!
//! ```text
//! cargo bench -p tenure-bench --features etcd --bench elections -- redis 10000
//! ```
//!
//! Each store and each number of elections is measured in a process of its own, so that the memory
//! and the descriptors of one do not count for another: the benchmark runs itself.

#![allow(clippy::print_stdout, reason = "its tables are what it is for")]

mod counter;
mod figures;
mod group;
mod limit;
mod measure;
mod meter;
mod place;
mod plot;
mod process;
mod rival;
mod scaling;
mod settings;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use figures::Figures;
use place::Kind;
use settings::Settings;
use tenure::Config;
use tenure_bench::Outcome;

/// The time of a run beside its bounds: starting servers, `redis-benchmark`, ending.
const OVERHEAD: Duration = Duration::from_secs(120);

#[derive(Parser)]
struct Arguments {
    /// Stores and numbers of elections, in any order; by default all.
    what: Vec<String>,
    /// The length of the steady state, in seconds: whole renew intervals (5 s) are best.
    #[arg(long, default_value_t = 20.0)]
    steady: f64,
    /// The longest wait until all lead, in seconds.
    #[arg(long, default_value_t = 60.0)]
    bound: f64,
    /// Leave the faults of the server out.
    #[arg(long)]
    without_faults: bool,
    /// A file for the renewals of each second, as CSV.
    #[arg(long)]
    series: Option<PathBuf>,
    /// A picture of the renewals of each second, as SVG.
    #[arg(long)]
    plot: Option<PathBuf>,
    /// A picture of what an election costs beside how many there are, as SVG.
    #[arg(long)]
    scaling: Option<PathBuf>,
    /// Measure in this process, and write the figures to that file.
    #[arg(long, hide = true)]
    figures: Option<PathBuf>,
    /// Added by cargo.
    #[arg(long, hide = true)]
    bench: bool,
    /// Measure few elections with short leases, to see that it runs.
    #[arg(long)]
    test: bool,
}

impl Arguments {
    /// The stores and numbers that were named, or all.
    fn runs(&self) -> Outcome<Vec<(Kind, usize)>> {
        let (mut kinds, mut sizes) = (Vec::new(), Vec::new());
        for word in &self.what {
            match word.parse() {
                Ok(0) => return Err("0 elections can't be measured".into()),
                Ok(size) => sizes.push(size),
                Err(_) => kinds.push(Kind::from_str(word, true).map_err(|_| {
                    let known = Kind::value_variants().iter().map(|kind| kind.word());
                    let known = known.collect::<Vec<_>>().join(", ");
                    format!("{word:?} is neither a number nor a store; built in are {known}")
                })?),
            }
        }
        if kinds.is_empty() {
            kinds = Kind::value_variants().to_vec();
        }
        let sizes_of = |kind: Kind| match (&sizes[..], self.test, kind) {
            ([_, ..], _, _) => sizes.clone(),
            ([], true, Kind::Redis) => vec![1_000],
            ([], true, _) => vec![20],
            ([], false, Kind::Redis) => vec![1, 100, 10_000, 100_000],
            ([], false, _) => vec![1, 100, 10_000],
        };
        Ok(kinds
            .iter()
            .flat_map(|&kind| sizes_of(kind).into_iter().map(move |size| (kind, size)))
            .collect())
    }

    fn settings(&self, kind: Kind) -> Outcome<Settings> {
        if !self.test {
            return Ok(Settings {
                config: Config::default(),
                steady: Duration::try_from_secs_f64(self.steady)?,
                bound: Duration::try_from_secs_f64(self.bound)?,
                outage: Duration::from_secs(3),
                rival_calls: 100_000,
                with_faults: !self.without_faults,
            });
        }
        let second = Duration::from_secs(1);
        Ok(Settings {
            config: kind.quick_config()?,
            steady: second,
            bound: 10 * second,
            outage: second / 10,
            rival_calls: 2_000,
            with_faults: kind.has_quick_faults(),
        })
    }
}

fn main() -> Outcome<()> {
    let arguments = Arguments::parse();
    let runs = arguments.runs()?;
    if let (Some(path), Some(&(kind, elections))) = (&arguments.figures, runs.first()) {
        let figures = measure::measure(kind, elections, arguments.settings(kind)?)?;
        return Ok(serde_json::to_writer(File::create(path)?, &figures)?);
    }
    let mut all = Vec::new();
    let mut failures = Vec::new();
    for (kind, elections) in runs {
        eprintln!("{} {elections}", kind.word());
        match in_a_process(&arguments, kind, elections) {
            Ok(figures) => {
                failures.extend(missing(kind, &figures));
                all.push(figures);
            }
            Err(error) => failures.push(format!("{} {elections}: {error}", kind.word())),
        }
    }
    for table in figures::tables(&all) {
        println!("{table}\n");
    }
    if let Some(path) = &arguments.series {
        write_series(path, &all)?;
    }
    if let Some(path) = &arguments.plot {
        fs::write(path, plot::svg(&all))?;
    }
    if let Some(path) = &arguments.scaling {
        fs::write(path, scaling::svg(&all))?;
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// The goals that so few elections must reach and did not.
fn missing(kind: Kind, figures: &Figures) -> Vec<String> {
    let mut missing = Vec::new();
    if figures.elections <= kind.must_lead() {
        let name = format!("{} {}", kind.word(), figures.elections);
        if figures.steady.lead.all_after.is_none() {
            missing.push(format!("{name}: {} lead", figures.steady.lead.leading));
        }
        for after in figures.faults.iter().filter(|after| after.lead.all_after.is_none()) {
            missing.push(format!("{name}, {}: {} lead", after.fault.name(), after.lead.leading));
        }
    }
    missing
}

/// Measures in a process of its own, which is killed if it takes longer than all of its bounds
/// together.
fn in_a_process(arguments: &Arguments, kind: Kind, elections: usize) -> Outcome<Figures> {
    let settings = arguments.settings(kind)?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("figures.json");
    let mut command = Command::new(std::env::current_exe()?);
    command.args([kind.word(), &elections.to_string()]).arg("--figures").arg(&path);
    command.args(["--steady", &arguments.steady.to_string()]);
    command.args(["--bound", &arguments.bound.to_string()]);
    command.args(arguments.without_faults.then_some("--without-faults"));
    command.args(arguments.test.then_some("--test"));
    let each_fault = settings.outage + settings.bound + 3 * settings.config.ttl();
    let bound = 2 * (settings.bound + settings.steady) + 3 * each_fault + OVERHEAD;
    let status = run_within(&mut command, bound)?;
    if !status.success() {
        return Err(format!("the measuring process ended with {status}").into());
    }
    Ok(serde_json::from_reader(File::open(path)?)?)
}

fn run_within(command: &mut Command, bound: Duration) -> Outcome<ExitStatus> {
    let began = Instant::now();
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if began.elapsed() > bound {
            child.kill()?;
            child.wait()?;
            return Err(format!("the measuring process did not end within {bound:?}").into());
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn write_series(path: &Path, all: &[Figures]) -> Outcome<()> {
    let mut file = File::create(path)?;
    writeln!(file, "store,elections,phase,second,renewals")?;
    for figures in all {
        for second in &figures.series {
            let (store, elections, phase) = (&figures.store, figures.elections, &second.phase);
            writeln!(file, "{store},{elections},{phase},{},{}", second.number, second.renewals)?;
        }
    }
    Ok(())
}
