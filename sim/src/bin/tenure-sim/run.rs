//! Running many seeds, in each engine.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use std::{process, thread};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tenure_sim::engines::Engine;
use tenure_sim::evidence::controls::Control;
use tenure_sim::search::campaign::{self, Campaign, Seeds, Shard, Summary, Verdict};
use tenure_sim::search::shrink::{Budget, Shrunk};
use tenure_sim::trace::file;
use tokio::runtime::Builder;
use tokio::signal;

#[cfg(feature = "real")]
use crate::args::StoreArguments;
use crate::args::{
    CampaignOutputArguments, DrawnArguments, Format, JobsArguments, JudgedArguments,
};
use crate::args::{Chosen, chosen, chosen_names, wrong};
use crate::controls::Controls;
use crate::error::{CliError, written};
use crate::output::{Files, Output};
use crate::report::{CampaignReportArguments, write_campaign};
use crate::show::Progress;
use crate::shrink::with_progress;
use crate::{controls, show};

/// The first seed of a campaign.
const FIRST: u64 = 1;
/// A year.
const MINUTES_MOST: u64 = 365 * 24 * 60;

/// A first seed that no soak has had before.
fn of_today() -> u64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(FIRST)
}

/// The default number of seeds of a campaign in an engine.
const fn default_runs(engine: Engine) -> u64 {
    match engine {
        Engine::Model => 50_000,
        #[cfg(feature = "turmoil")]
        Engine::Turmoil => 500,
        #[cfg(feature = "real")]
        Engine::Real(_) => 8,
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    engines: EnginesArguments,
    /// The first seed [default: 1]
    #[arg(long)]
    seed: Option<u64>,
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), help = about_runs())]
    runs: Option<u64>,
    /// Run seeds for that long instead, in each engine, and watch the memory, descriptors and
    /// threads of this process [default first seed: the time in milliseconds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MINUTES_MOST))]
    #[arg(conflicts_with_all = ["runs", "shard", "control"])]
    minutes: Option<u64>,
    #[command(flatten)]
    jobs: JobsArguments,
    /// Run only this share of the seeds, such as 2/5
    #[arg(long, value_name = "I/N", default_value_t)]
    shard: Shard,
    #[command(flatten)]
    drawn: DrawnArguments,
    #[command(flatten)]
    judged: JudgedArguments,
    /// Write the trace of the failed run, or of the first run if none failed, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Write the plan of the failed run, or of the first run if none failed, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) plan_out: Option<PathBuf>,
    /// Shrink the plan of the failed run, and write it to this file
    #[arg(long, value_name = "FILE")]
    shrink: Option<PathBuf>,
    /// Run each plan twice and compare
    #[arg(long)]
    check_determinism: bool,
    #[arg(long, value_name = "NAME", help = controls::about(), value_parser = controls::control_or_all())]
    #[arg(conflicts_with_all = [
        "engine", "shard", "faults", "properties", "trace", "check_determinism", "mutants", "compare",
        "details",
    ])]
    control: Option<Controls>,
    #[command(flatten)]
    report: CampaignReportArguments,
    #[command(flatten)]
    pub(crate) output: CampaignOutputArguments,
}

impl RunArguments {
    /// The controls to run instead of a campaign, if any.
    pub(crate) fn controls(&self) -> Option<Vec<Control>> {
        self.control.map(Controls::all)
    }

    /// First seed, number of seeds, and threads, of each control.
    pub(crate) fn control_runs(&self) -> (u64, u64, usize) {
        (
            self.seed.unwrap_or(FIRST),
            self.runs.unwrap_or(controls::DEFAULT_RUNS),
            self.jobs.threads(),
        )
    }

    /// One campaign for each engine.
    pub(crate) fn campaigns(&self) -> Result<Vec<Campaign>, clap::Error> {
        let first = match (self.seed, self.minutes) {
            (Some(seed), _) => seed,
            (None, Some(_)) => of_today(),
            (None, None) => FIRST,
        };
        self.engines.each()?.into_iter().map(|engine| self.campaign(engine, first)).collect()
    }

    fn campaign(&self, engine: Engine, first: u64) -> Result<Campaign, clap::Error> {
        engine.prepare();
        if self.check_determinism && !engine.simulates() {
            let why =
                "'--check-determinism' needs an engine that simulates: no other repeats a run";
            return Err(wrong(why.to_owned()));
        }
        let runs = self.runs.unwrap_or(default_runs(engine));
        if first.checked_add(runs - 1).is_none() {
            let what = format!("there are no {runs} seeds from '--seed {first}' on");
            return Err(wrong(what));
        }
        Ok(Campaign {
            engine,
            seeds: Seeds { shard: self.shard, ..Seeds::range(first, runs) },
            jobs: self.jobs.threads(),
            faults: self.drawn.faults(engine)?,
            properties: self.judged.properties.clone(),
            check_determinism: self.check_determinism,
        })
    }
}

/// The engines of a campaign.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct EnginesArguments {
    /// The engine
    #[arg(long, value_parser = engine_or_all(), default_value = "all")]
    engine: Engines,
    #[cfg(feature = "real")]
    #[command(flatten)]
    store: StoreArguments,
}

#[derive(Clone, Copy, Debug)]
enum Engines {
    /// All that simulate.
    All,
    One(Chosen),
}

impl EnginesArguments {
    #[cfg_attr(
        not(feature = "real"),
        expect(
            clippy::unnecessary_wraps,
            reason = "an engine with real servers may lack its store"
        )
    )]
    pub(crate) fn each(self) -> Result<Vec<Engine>, clap::Error> {
        let chosen = match self.engine {
            #[cfg(feature = "real")]
            Engines::One(Chosen::Real) => return Ok(vec![self.store.engine()?]),
            Engines::One(Chosen::Simulates(engine)) => vec![engine],
            Engines::All => Engine::ALL.to_vec(),
        };
        #[cfg(feature = "real")]
        self.store.is_unused()?;
        Ok(chosen)
    }
}

fn engine_or_all() -> impl TypedValueParser<Value = Engines> {
    let names = chosen_names().chain(["all"]);
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        "all" => Ok(Engines::All),
        _ => chosen(&name).map(Engines::One),
    })
}

fn about_runs() -> String {
    let default = |engine: &Engine| format!("{} in the {engine} engine", default_runs(*engine));
    let defaults: Vec<String> = Engine::every().map(|engine| default(&engine)).collect();
    format!("The number of seeds, in each engine [default: {}]", defaults.join(", "))
}

pub(crate) fn run(arguments: &RunArguments) -> Result<u8, CliError> {
    let code = carry_out(arguments)?;
    arguments.report.show();
    Ok(code)
}

fn carry_out(arguments: &RunArguments) -> Result<u8, CliError> {
    if let Some(controls) = arguments.controls() {
        let wanted = controls::Wanted {
            report: arguments.report.path(),
            plan: arguments.plan_out.as_deref(),
            small: arguments.shrink.as_deref(),
        };
        let runs = arguments.control_runs();
        return controls::run(&controls, runs, &wanted, arguments.output.output);
    }
    let campaigns = arguments.campaigns()?;
    let mut files = Files::default();
    let trace = files.create_if(arguments.trace.as_deref())?;
    let plan = files.create_if(arguments.plan_out.as_deref())?;
    let shrink = files.create_if(arguments.shrink.as_deref())?;
    let page = arguments.report.open(&mut files)?;
    let finished = Arc::default();
    prints_if_interrupted(Arc::clone(&finished), arguments.output);
    let summaries = run_all(&campaigns, arguments.minutes, &finished)?;
    if let Some(out) = trace {
        written(write_trace(out, &campaigns, &summaries))?;
    }
    if let (Some(out), Some((campaign, seed))) = (plan, failed_or_first(&campaigns, &summaries)) {
        written(out.holding_plan(Some(&campaign.plan(seed))))?;
    }
    if let Some(out) = shrink {
        let small = shrunk(&campaigns, &summaries);
        written(out.holding_plan(small.as_ref().map(|small| &small.plan)))?;
    }
    if let Some(wanted) = page {
        write_campaign(wanted, &summaries)?;
    }
    report(&summaries, arguments.output)
}

/// The shrunk plan of the failed run; `None` if none failed, or it does not fail again.
fn shrunk(campaigns: &[Campaign], summaries: &[Summary]) -> Option<Shrunk> {
    let (campaign, seed) = failed(campaigns, summaries)?;
    let (engine, plan) = (campaign.engine, campaign.plan(seed));
    with_progress(engine, &plan, campaign.judging(), Budget::default_for(engine)).ok()
}

/// Prints summaries. Gives the exit code of the worst verdict.
pub(crate) fn report(
    summaries: &[Summary],
    arguments: CampaignOutputArguments,
) -> Result<u8, CliError> {
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Human if arguments.details => show::details(&mut out, summaries),
        Format::Human => show::screen(&mut out, summaries),
        Format::Json => campaign::write(&mut out, summaries),
    })?;
    let worst = summaries.iter().map(Summary::verdict).max();
    Ok(worst.unwrap_or(Verdict::Inconclusive).exit_code())
}

/// The summaries of the engines that have finished.
type Finished = Mutex<Vec<Summary>>;

/// At Ctrl-C, ends this process with what has been finished.
fn prints_if_interrupted(finished: Arc<Finished>, output: CampaignOutputArguments) {
    let Ok(runtime) = Builder::new_current_thread().enable_io().build() else { return };
    thread::spawn(move || {
        if runtime.block_on(signal::ctrl_c()).is_err() {
            return;
        }
        let summaries = lock(&finished).clone();
        if !summaries.is_empty() {
            // The line of the progress may be half full.
            eprintln!("\ninterrupted: what follows had been finished");
            // There is nobody left to tell.
            let _ = report(&summaries, output);
        }
        process::exit(INTERRUPTED)
    });
}

/// The exit code of a process that SIGINT has ended, as a shell shows it.
const INTERRUPTED: i32 = 128 + 2;

fn lock(finished: &Finished) -> MutexGuard<'_, Vec<Summary>> {
    finished.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Carries out the campaigns one after another, until one has failed.
fn run_all(
    campaigns: &[Campaign],
    minutes: Option<u64>,
    finished: &Finished,
) -> Result<Vec<Summary>, CliError> {
    for campaign in campaigns {
        let progress = Progress::new(campaign.engine.name(), "runs");
        let summary = match minutes {
            None => campaign.run(|| progress.add(Some(campaign.seeds.len()))),
            Some(minutes) => {
                let (lasting, block) = (Duration::from_secs(60 * minutes), block(campaign));
                campaign.soak(lasting, block, || progress.add(None)).map_err(|why| {
                    CliError::Input(format!("what this process holds can't be read: {why}").into())
                })?
            }
        };
        drop(progress);
        let failed = summary.failed.is_some();
        lock(finished).push(summary);
        if failed {
            break;
        }
    }
    Ok(lock(finished).clone())
}

/// The seeds that a soak runs between two looks at what this process holds: some seconds' worth
/// where runs are simulated, one for each thread where they are real.
fn block(campaign: &Campaign) -> u64 {
    let threads = campaign.jobs as u64;
    match campaign.engine {
        Engine::Model => 500 * threads,
        #[cfg(feature = "turmoil")]
        Engine::Turmoil => 50 * threads,
        #[cfg(feature = "real")]
        Engine::Real(_) => threads,
    }
}

/// The failed run, or the first run if none failed.
fn failed_or_first<'a>(
    campaigns: &'a [Campaign],
    summaries: &[Summary],
) -> Option<(&'a Campaign, u64)> {
    let first = || campaigns.first().and_then(|first| Some((first, first.seeds.nth(0)?)));
    failed(campaigns, summaries).or_else(first)
}

fn failed<'a>(campaigns: &'a [Campaign], summaries: &[Summary]) -> Option<(&'a Campaign, u64)> {
    campaigns.iter().zip(summaries).find_map(|(campaign, summary)| {
        summary.failed.as_ref().map(|failed| (campaign, failed.seed))
    })
}

/// Writes the trace of the failed run, or of the first. A run that broke down has no trace: the
/// file is empty.
fn write_trace(mut out: Output, campaigns: &[Campaign], summaries: &[Summary]) -> io::Result<()> {
    let Some((campaign, seed)) = failed_or_first(campaigns, summaries) else { return Ok(()) };
    let plan = campaign.plan(seed);
    let failed = summaries.iter().find_map(|summary| summary.failed.as_ref());
    let failure = failed.map(|failed| &failed.failure);
    if let Ok(outcome) = campaign::again(campaign.engine, &plan, campaign.judging(), failure) {
        let engine = (campaign.engine.name(), campaign.engine.tick());
        file::write(&mut out, engine, &plan, &outcome.trace, outcome.simulated)?;
    }
    out.finish()
}
