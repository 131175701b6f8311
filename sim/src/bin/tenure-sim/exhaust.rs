//! Every order of everything that can happen, within bounds.

use std::io::{self, Write};
use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use tenure_sim::search::exhaustive::{
    self, Bounds, Faults, Outcome, Rates, Report, StopMargin, TICK, Ttl,
};

use crate::args::{Format, OutputArguments, threads};
use crate::show::{numbers, table};
use crate::trouble::{Trouble, written};

#[derive(Debug, Args)]
pub(crate) struct ExhaustArguments {
    /// How many candidates
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    candidates: u8,
    /// How many ticks of 50 ms, or `any`: runs of any length
    #[arg(long, value_name = "TICKS", default_value = "4")]
    horizon: Horizon,
    /// How many ticks of the fastest store clock a lease lasts
    #[arg(long, value_enum, default_value_t = Lasts::Two)]
    ttl: Lasts,
    /// How long before its lease a claim ends
    #[arg(long, value_enum, default_value_t = Margin::None)]
    stop_margin: Margin,
    /// Whether clocks are right, as fast at the store and as slow at candidates as the drift bound of 10 %
    /// allows, all at either end of it, or all of these
    #[arg(long, value_enum, default_value_t = Drift::Worst)]
    drift: Drift,
    /// How many messages of one candidate may be on their way at once
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    in_flight: u8,
    #[command(flatten)]
    faults: FaultArguments,
    /// Stop after so many states, and end with 2, as where some condition is never met
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    states: Option<u64>,
    /// On how many threads [default: one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    #[command(flatten)]
    output: OutputArguments,
}

/// How often each fault may happen.
#[derive(Debug, Args)]
struct FaultArguments {
    /// How many faults may happen, of all kinds together
    #[arg(long, default_value_t = 1)]
    faults: u8,
    /// How often a message may arrive once more
    #[arg(long, default_value_t = 0)]
    duplicates: u8,
    /// How often a connection may break: the outcome is unknown before the timeout
    #[arg(long, default_value_t = 0)]
    breaks: u8,
    /// How often a process may stand still
    #[arg(long, default_value_t = 0)]
    pauses: u8,
    /// How often a process may crash
    #[arg(long, default_value_t = 1)]
    crashes: u8,
    /// How often another server may take the store's place, with or without its data
    #[arg(long, default_value_t = 1)]
    store_losses: u8,
    /// How often a candidate may be asked to hand over
    #[arg(long, default_value_t = 1)]
    resigns: u8,
    /// How often the rate of a clock may change
    #[arg(long, default_value_t = 0)]
    rate_changes: u8,
}

/// When runs end, if they do.
#[derive(Clone, Copy, Debug)]
struct Horizon(Option<u8>);

#[derive(Clone, Debug, thiserror::Error)]
#[error("it must be a number of ticks from 1 to 100, or `any`")]
struct NoHorizon;

impl FromStr for Horizon {
    type Err = NoHorizon;

    fn from_str(text: &str) -> Result<Self, NoHorizon> {
        match (text, text.parse()) {
            ("any", _) => Ok(Self(None)),
            (_, Ok(ticks @ 1..=100)) => Ok(Self(Some(ticks))),
            _ => Err(NoHorizon),
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Lasts {
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
                Lasts::Two => Ttl::TwoTicks,
                Lasts::Three => Ttl::ThreeTicks,
                Lasts::Four => Ttl::FourTicks,
            },
            margin: match self.stop_margin {
                Margin::None => StopMargin::None,
                Margin::Tick => StopMargin::Tick,
            },
            rates: match self.drift {
                Drift::None => Rates::Usual,
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
            },
        }
    }
}

pub(crate) fn exhaust(arguments: &ExhaustArguments) -> Result<u8, Trouble> {
    let (limit, jobs) = (arguments.states.unwrap_or(u64::MAX), threads(arguments.jobs));
    let began = Instant::now();
    let report = exhaustive::run(&arguments.bounds(), limit, jobs);
    let report = report.map_err(|error| Trouble::Input(error.into()))?;
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
    writeln!(out, "{}\n\n{}\n", covered(report), figures(report, took))?;
    let mut ways = table(["on some way", ""]);
    for name in &report.met {
        ways.add_row([name, "met"]);
    }
    for name in &report.unmet {
        ways.add_row([name, "never"]);
    }
    writeln!(out, "{ways}\n")?;
    match &report.outcome {
        Outcome::Complete if report.unmet.is_empty() => {
            writeln!(out, "HELD: in every state within these bounds")
        }
        Outcome::Complete => writeln!(
            out,
            "INCONCLUSIVE: it held in every state within these bounds, which never led to: {}",
            report.unmet.join(", ")
        ),
        Outcome::Cut => writeln!(out, "INCONCLUSIVE: what was looked at held, and there is more"),
        Outcome::Violated(violation) => {
            writeln!(out, "The shortest way there; {}:\n", violation.from)?;
            for step in &violation.steps {
                let ms = u64::from(step.tick) * TICK / 1_000_000;
                writeln!(out, "{ms:>6} ms  {}", step.what)?;
                step.notes.iter().try_for_each(|note| writeln!(out, "               {note}"))?;
            }
            writeln!(out, "\nVIOLATED: {}: {}", violation.property, violation.what)
        }
    }
}

fn covered(report: &Report) -> comfy_table::Table {
    let Bounds { candidates, horizon, ttl, margin, rates, in_flight, most_faults, faults } =
        report.bounds;
    let mut table = numbers(["bounds", ""]);
    let lasts = horizon.map_or_else(
        || "none: runs of any length".to_owned(),
        |ticks| format!("{ticks} ticks, {} ms", u64::from(ticks) * TICK / 1_000_000),
    );
    let words = [
        ("candidates", candidates.to_string()),
        ("horizon", lasts),
        ("TTL", format!("{:?}", ttl.length())),
        ("stop margin", format!("{:?}", margin.length())),
        ("rates of clocks", format!("{rates:?}").to_lowercase()),
        ("messages of one candidate on their way", in_flight.to_string()),
        ("faults, of all kinds together", most_faults.to_string()),
    ];
    for (name, bound) in words {
        table.add_row([name.to_owned(), bound]);
    }
    let Faults { duplicates, breaks, pauses, crashes, store_losses, resigns, rate_changes } =
        faults;
    for (name, most) in [
        ("duplicates", duplicates),
        ("broken connections", breaks),
        ("pauses", pauses),
        ("crashes", crashes),
        ("store replaced", store_losses),
        ("resignations", resigns),
        ("changes of rate", rate_changes),
    ] {
        table.add_row([name.to_owned(), most.to_string()]);
    }
    table
}

fn figures(report: &Report, (took, jobs): (Duration, usize)) -> comfy_table::Table {
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
