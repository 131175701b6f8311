//! The command for the exhaustive search.

use std::io::{self, Write};
use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use tenure_sim::search::exhaustive::{
    self, Bounds, Faults, Outcome, Rates, Report, StopMargin, TICK, Ttl,
};

use crate::args::{Format, JobsArguments, OutputArguments};
use crate::error::{CliError, written};
use crate::show::{Table, numbers, table};

#[derive(Debug, Args)]
pub(crate) struct ExhaustArguments {
    /// The number of candidates
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    candidates: u8,
    /// The number of ticks of 50 ms, or `any` for runs of any length
    #[arg(long, value_name = "TICKS", default_value = "4")]
    horizon: Horizon,
    /// The TTL in ticks of the fastest clock
    #[arg(long, value_enum, default_value_t = TtlTicks::Two)]
    ttl: TtlTicks,
    /// The time from the end of a claim until its lease may be taken
    #[arg(long, value_enum, default_value_t = Margin::None)]
    stop_margin: Margin,
    /// The rates of candidates' clocks: exact; one slow and the others fast by the drift bound of
    /// 10 %; each at either end of the bound; or all of these
    #[arg(long, value_enum, default_value_t = Drift::Worst)]
    drift: Drift,
    /// The most messages of one candidate in flight at once
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    in_flight: u8,
    #[command(flatten)]
    faults: FaultArguments,
    /// Stop after this many states, and exit with 2: the search is then inconclusive
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    states: Option<u64>,
    #[command(flatten)]
    jobs: JobsArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// The most faults of each kind.
#[derive(Debug, Args)]
struct FaultArguments {
    /// The most faults of all kinds together
    #[arg(long, default_value_t = 1)]
    faults: u8,
    /// The most duplicated messages
    #[arg(long, default_value_t = 0)]
    duplicates: u8,
    /// The most broken connections: the outcome of a request is unknown before its timeout
    #[arg(long, default_value_t = 0)]
    breaks: u8,
    /// The most pauses of processes
    #[arg(long, default_value_t = 0)]
    pauses: u8,
    /// The most crashes of processes
    #[arg(long, default_value_t = 1)]
    crashes: u8,
    /// The most replacements of the store's server, with or without its data
    #[arg(long, default_value_t = 1)]
    store_losses: u8,
    /// The most requests to hand over
    #[arg(long, default_value_t = 1)]
    resigns: u8,
    /// The most changes of a clock's rate
    #[arg(long, default_value_t = 0)]
    rate_changes: u8,
    /// The most wishes of operators for another leader, or withdrawals of one
    #[arg(long, default_value_t = 1)]
    wishes: u8,
}

/// The number of ticks after which runs end; `None` for runs of any length.
#[derive(Clone, Copy, Debug)]
struct Horizon(Option<u8>);

#[derive(Clone, Debug, thiserror::Error)]
#[error("it must be a number of ticks from 1 to 100, or `any`")]
struct InvalidHorizon;

impl FromStr for Horizon {
    type Err = InvalidHorizon;

    fn from_str(text: &str) -> Result<Self, InvalidHorizon> {
        match (text, text.parse()) {
            ("any", _) => Ok(Self(None)),
            (_, Ok(ticks @ 1..=100)) => Ok(Self(Some(ticks))),
            _ => Err(InvalidHorizon),
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TtlTicks {
    #[value(name = "2")]
    Two,
    #[value(name = "3")]
    Three,
    #[value(name = "4")]
    Four,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Margin {
    None,
    Tick,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Drift {
    None,
    Worst,
    Ends,
    All,
}

impl ExhaustArguments {
    fn bounds(&self) -> Bounds {
        let faults = &self.faults;
        Bounds {
            candidates: self.candidates.into(),
            horizon: self.horizon.0,
            ttl: match self.ttl {
                TtlTicks::Two => Ttl::TwoTicks,
                TtlTicks::Three => Ttl::ThreeTicks,
                TtlTicks::Four => Ttl::FourTicks,
            },
            margin: match self.stop_margin {
                Margin::None => StopMargin::None,
                Margin::Tick => StopMargin::Tick,
            },
            rates: match self.drift {
                Drift::None => Rates::Exact,
                Drift::Worst => Rates::Worst,
                Drift::Ends => Rates::Ends,
                Drift::All => Rates::All,
            },
            in_flight: self.in_flight,
            most_faults: faults.faults,
            faults: Faults {
                duplicates: faults.duplicates,
                breaks: faults.breaks,
                pauses: faults.pauses,
                crashes: faults.crashes,
                store_losses: faults.store_losses,
                resigns: faults.resigns,
                rate_changes: faults.rate_changes,
                wishes: faults.wishes,
            },
        }
    }
}

pub(crate) fn exhaust(arguments: &ExhaustArguments) -> Result<u8, CliError> {
    let (limit, jobs) = (arguments.states.unwrap_or(u64::MAX), arguments.jobs.threads());
    let began = Instant::now();
    let report = exhaustive::run(&arguments.bounds(), limit, jobs);
    let report = report.map_err(|error| CliError::Input(error.into()))?;
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Human => show(&mut out, &report, (began.elapsed(), jobs)),
        Format::Json => serde_json::to_writer(&mut out, &report)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
    })?;
    Ok(match report.outcome {
        Outcome::Complete if report.unmet.is_empty() => 0,
        Outcome::Complete | Outcome::Cut => 2,
        Outcome::Violated(_) => 1,
    })
}

fn show(out: &mut impl Write, report: &Report, took: (Duration, usize)) -> io::Result<()> {
    writeln!(out, "{}\n\n{}\n", bounds_table(report), search_table(report, took))?;
    let mut conditions = table(["on some way", ""]);
    for name in &report.met {
        conditions.add_row([name, "met"]);
    }
    for name in &report.unmet {
        conditions.add_row([name, "never"]);
    }
    writeln!(out, "{conditions}\n")?;
    match &report.outcome {
        Outcome::Complete if report.unmet.is_empty() => {
            writeln!(out, "HELD: every property, in every state within these bounds")
        }
        Outcome::Complete => writeln!(
            out,
            "INCONCLUSIVE: every property held in every state within these bounds, but these \
             conditions were never met: {}",
            report.unmet.join(", ")
        ),
        Outcome::Cut => writeln!(
            out,
            "INCONCLUSIVE: every property held in the searched states, but there are more states"
        ),
        Outcome::Violated(violation) => {
            writeln!(out, "A shortest run to the violation; {}:\n", violation.from)?;
            for step in &violation.steps {
                let ms = u64::from(step.tick) * TICK / 1_000_000;
                writeln!(out, "{ms:>6} ms  {}", step.what)?;
                step.notes.iter().try_for_each(|note| writeln!(out, "               {note}"))?;
            }
            writeln!(out, "\nVIOLATED: {}: {}", violation.property, violation.what)
        }
    }
}

fn bounds_table(report: &Report) -> Table {
    let Bounds { candidates, horizon, ttl, margin, rates, in_flight, most_faults, faults } =
        report.bounds;
    let mut table = numbers(["bounds", ""]);
    let length = horizon.map_or_else(
        || "none: runs of any length".to_owned(),
        |ticks| format!("{ticks} ticks, {} ms", u64::from(ticks) * TICK / 1_000_000),
    );
    let rows = [
        ("candidates", candidates.to_string()),
        ("horizon", length),
        ("TTL", format!("{:?}", ttl.length())),
        ("stop margin", format!("{:?}", margin.length())),
        ("rates of clocks", format!("{rates:?}").to_lowercase()),
        ("messages of one candidate in flight", in_flight.to_string()),
        ("faults, of all kinds together", most_faults.to_string()),
    ];
    for (name, bound) in rows {
        table.add_row([name.to_owned(), bound]);
    }
    let Faults { duplicates, breaks, pauses, crashes, store_losses, resigns, rate_changes, wishes } =
        faults;
    for (name, most) in [
        ("duplicates", duplicates),
        ("broken connections", breaks),
        ("pauses", pauses),
        ("crashes", crashes),
        ("store replaced", store_losses),
        ("resignations", resigns),
        ("changes of rate", rate_changes),
        ("wishes", wishes),
    ] {
        table.add_row([name.to_owned(), most.to_string()]);
    }
    table
}

fn search_table(report: &Report, (took, jobs): (Duration, usize)) -> Table {
    let mut table = numbers(["search", ""]);
    for (name, figure) in [
        ("states", report.states.to_string()),
        ("steps tried", report.transitions.to_string()),
        ("depth", report.depth.to_string()),
        ("widest level", report.widest.to_string()),
        ("took", format!("{:.1} s", took.as_secs_f64())),
        ("threads", jobs.to_string()),
    ] {
        table.add_row([name.to_owned(), figure]);
    }
    table
}
