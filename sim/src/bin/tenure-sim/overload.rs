//! Many elections at a store that is too slow for them.

use std::io::{self, Write};

use clap::Args;
use serde_json::json;
use tenure_sim::engines::overload::{Outcome, Plan, run};
use tenure_sim::judge::properties::PropertyName;
use tenure_sim::search::campaign::Verdict;
use tenure_sim::search::pool;

use crate::args::{Format, JobsArguments, OutputArguments};
use crate::error::{CliError, written};
use crate::show::table;

#[derive(Debug, Args)]
pub(crate) struct OverloadArguments {
    /// The number of seeds
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000), default_value_t = 4)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of elections of the first process; the store's rates follow from it
    #[arg(long, value_parser = clap::value_parser!(u32).range(300..=20_000), default_value_t = 400)]
    elections: u32,
    /// Few elections at a store that is quick enough, with faults of processes and of their ways to it
    #[arg(long, conflicts_with = "elections")]
    faulty: bool,
    #[command(flatten)]
    jobs: JobsArguments,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn overload(arguments: &OverloadArguments) -> Result<u8, CliError> {
    let seeds: Vec<u64> = (0..arguments.seeds).map(|n| arguments.seed.wrapping_add(n)).collect();
    let outcomes = pool::map(arguments.jobs.threads(), &seeds, |seed| {
        let drawn = || Plan::drawn(*seed, arguments.elections);
        (*seed, run(&if arguments.faulty { Plan::faulty(*seed) } else { drawn() }))
    });
    let verdict = verdict(&outcomes);
    let mut out = io::stdout().lock();
    written(match arguments.output.format {
        Format::Human => human(&mut out, &outcomes, verdict),
        Format::Json => {
            let runs: Vec<_> = outcomes
                .iter()
                .map(|(seed, one)| json!({ "seed": seed, "outcome": one }))
                .collect();
            writeln!(out, "{}", json!({ "verdict": verdict, "runs": runs }))
        }
    })?;
    Ok(verdict.exit_code())
}

fn verdict(outcomes: &[(u64, Outcome)]) -> Verdict {
    if outcomes.iter().any(|(_, one)| !one.violations.is_empty()) {
        Verdict::Violated
    } else if never_compared(outcomes).next().is_some() {
        Verdict::Inconclusive
    } else {
        Verdict::Held
    }
}

/// The number of comparisons of each property, in all runs together.
fn compared(outcomes: &[(u64, Outcome)]) -> impl Iterator<Item = (PropertyName, u64)> {
    let named = outcomes.first().map_or(&[][..], |(_, one)| &one.compared);
    named.iter().map(|(name, _)| {
        let of = outcomes.iter().flat_map(|(_, one)| &one.compared);
        (*name, of.filter(|(other, _)| other == name).map(|(_, times)| times).sum())
    })
}

fn never_compared(outcomes: &[(u64, Outcome)]) -> impl Iterator<Item = PropertyName> {
    compared(outcomes).filter(|(_, times)| *times == 0).map(|(name, _)| name)
}

fn human(out: &mut impl Write, outcomes: &[(u64, Outcome)], verdict: Verdict) -> io::Result<()> {
    let heads = [
        "seed",
        "events",
        "most leaders",
        "most calls in flight",
        "handed over",
        "violations",
        "trace hash",
    ];
    let mut runs = table(heads);
    for (seed, one) in outcomes {
        let numbers = [*seed, count(one.events), count(one.leaders), count(one.in_flight)];
        let found = [one.handed_over, one.violations.len()].map(count);
        let numbers = numbers.into_iter().chain(found);
        runs.add_row(numbers.map(|number| number.to_string()).chain([one.hash.to_string()]));
    }
    let mut properties = table(["property", "compared", "violated in"]);
    for (name, compared) in compared(outcomes) {
        let violates =
            |one: &Outcome| one.violations.iter().any(|violation| violation.property == name);
        let seeds = outcomes.iter().filter(|(_, one)| violates(one)).count();
        properties.add_row([name.to_string(), compared.to_string(), seeds.to_string()]);
    }
    writeln!(out, "{runs}\n\n{properties}\n")?;
    for (seed, one) in outcomes {
        for violation in &one.violations {
            let (property, at) = (violation.property, violation.at);
            writeln!(out, "seed {seed}: {property} violated at {at}: {}", violation.finding)?;
        }
    }
    for name in never_compared(outcomes) {
        writeln!(out, "{name} compared nothing")?;
    }
    match verdict {
        Verdict::Held => writeln!(out, "HELD: nothing was violated"),
        Verdict::Inconclusive => {
            writeln!(out, "INCONCLUSIVE: not every property compared anything")
        }
        Verdict::Violated | Verdict::Nondeterministic => writeln!(out, "VIOLATED"),
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
