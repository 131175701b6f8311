//! Every order of everything that can happen, within bounds.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use tenure_sim::exhaustive::{self, Bounds, Faults, Outcome, Rates, Report, StopMargin, TICK, Ttl};

use crate::args::{Format, OutputArguments, threads};
use crate::show::{numbers, table};
use crate::trouble::{Trouble, written};

#[derive(Debug, Args)]
pub(crate) struct ExhaustArguments {
    /// How many candidates
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    candidates: u8,
    /// How many ticks of 50 ms
    #[arg(long, value_name = "TICKS", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=100))]
    horizon: u8,
    /// How many ticks of the fastest store clock a lease lasts
    #[arg(long, value_enum, default_value_t = Lasts::Four)]
    ttl: Lasts,
    /// How long before its lease a claim ends
    #[arg(long, value_enum, default_value_t = Margin::Tick)]
    stop_margin: Margin,
    /// Whether clocks are right, at an end of the drift bound of 10 %, or all of these
    #[arg(long, value_enum, default_value_t = Drift::Ends)]
    drift: Drift,
    /// How many messages of one candidate may be on their way at once
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    in_flight: u8,
    #[command(flatten)]
    faults: FaultArguments,
    /// Stop after so many states, and end with 2
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
    /// How often a message may arrive once more
    #[arg(long, default_value_t = 0)]
    duplicates: u8,
    /// How often a connection may break: the outcome is unknown before the timeout
    #[arg(long, default_value_t = 0)]
    breaks: u8,
    /// How often a process may stand still
    #[arg(long, default_value_t = 1)]
    pauses: u8,
    /// How often a process may crash
    #[arg(long, default_value_t = 1)]
    crashes: u8,
    /// How often another server may take the store's place, with or without its data
    #[arg(long, default_value_t = 0)]
    store_losses: u8,
    /// How often a candidate may be asked to hand over
    #[arg(long, default_value_t = 0)]
    resigns: u8,
    /// How often the rate of a clock may change
    #[arg(long, default_value_t = 0)]
    rate_changes: u8,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Lasts {
    #[value(name = "2")]
    Two,
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
    Ends,
    All,
}

impl ExhaustArguments {
    fn bounds(&self) -> Bounds {
        let faults = &self.faults;
        Bounds {
            candidates: self.candidates.into(),
            horizon: self.horizon,
            ttl: match self.ttl {
                Lasts::Two => Ttl::TwoTicks,
                Lasts::Four => Ttl::FourTicks,
            },
            margin: match self.stop_margin {
                Margin::None => StopMargin::None,
                Margin::Tick => StopMargin::Tick,
            },
            rates: match self.drift {
                Drift::None => Rates::Usual,
                Drift::Ends => Rates::Ends,
                Drift::All => Rates::All,
            },
            in_flight: self.in_flight,
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
        Outcome::Complete => 0,
        Outcome::Violated(_) => 1,
        Outcome::Cut => 2,
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
        Outcome::Complete => writeln!(out, "HELD: in every state within these bounds"),
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
    let Bounds { candidates, horizon, ttl, margin, rates, in_flight, faults } = report.bounds;
    let mut table = numbers(["bounds", ""]);
    let ms = u64::from(horizon) * TICK / 1_000_000;
    let words = [
        ("candidates", candidates.to_string()),
        ("horizon", format!("{horizon} ticks, {ms} ms")),
        ("TTL", format!("{:?}", ttl.length())),
        ("stop margin", format!("{:?}", margin.length())),
        ("rates of clocks", format!("{rates:?}").to_lowercase()),
        ("messages of one candidate on their way", in_flight.to_string()),
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
