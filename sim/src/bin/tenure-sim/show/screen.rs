//! The first screen of a campaign: whether the promises held, what was tried, and what to do next.

use std::env;
use std::io::{self, Write};
use std::time::Duration;

use clap::Parser;
use tenure_sim::engines::Engine;
use tenure_sim::report::quoted;
use tenure_sim::report::text::{self, milliseconds};
use tenure_sim::search::campaign::{Summary, Verdict};

use super::{Table, failure, heads, numbers, seeds, verdict};
use crate::Arguments;

/// The most named things of a kind that is missing.
const NAMED: usize = 3;

/// The verdicts, the figures that say how much they rest on, the failed runs, and the commands that
/// show more.
///
/// No run with real servers can be repeated, so the last events of a failed one are shown here.
pub(crate) fn screen(out: &mut impl Write, summaries: &[Summary]) -> io::Result<()> {
    summaries.iter().try_for_each(|summary| verdict(out, summary, NAMED))?;
    writeln!(out, "\n{}", figures(summaries))?;
    for failed in summaries.iter().filter(|summary| summary.failed.is_some()) {
        let simulates = failed.engine.parse::<Engine>().is_ok_and(Engine::simulates);
        failure(out, failed, if simulates { 0 } else { text::BEFORE })?;
    }
    next(out, summaries)
}

fn figures(summaries: &[Summary]) -> Table {
    let mut table = numbers(heads("", summaries, &[""]));
    let mut row = |name: &str, figure: &dyn Fn(&Summary) -> String| {
        table.add_row([name.to_owned()].into_iter().chain(summaries.iter().map(figure)));
    };
    row("seeds", &|summary| summary.seeds.iter().map(seeds).collect::<Vec<_>>().join("; "));
    row("elections", &|summary| summary.elections.to_string());
    row("simulated time", &|summary| days(summary.simulated));
    row("properties that compared something", &|summary| {
        let judged = summary.properties.len();
        format!("{} of {judged}", judged - summary.unexercised().len())
    });
    row("comparisons", &|summary| {
        summary.properties.values().map(|judged| judged.compared).sum::<u64>().to_string()
    });
    row("faults that took effect", &|summary| {
        let (effects, ordered) = summary
            .faults
            .values()
            .fold((0, 0), |(effects, ordered), one| (effects + one.effects, ordered + one.ordered));
        format!("{effects} of {ordered}")
    });
    row("conditions met / never met", &|summary| {
        let never = summary.unmet().len();
        format!("{} / {never}", summary.sometimes.len() - never)
    });
    row("least safety margin", &|summary| {
        summary.margin_min.map_or_else(|| "none".to_owned(), milliseconds)
    });
    row("in seed", &|summary| {
        summary.margin_min_seed.map_or_else(|| "-".to_owned(), |seed| seed.to_string())
    });
    row("took", &|summary| format!("{:.1} s", summary.wall.as_secs_f64()));
    table
}

/// The commands that a reader may want next.
fn next(out: &mut impl Write, summaries: &[Summary]) -> io::Result<()> {
    let worst = summaries.iter().map(Summary::verdict).max();
    match worst {
        Some(Verdict::Inconclusive) => {
            writeln!(out, "\nMore seeds may meet what is missing: --runs, for each engine")?;
        }
        Some(Verdict::Held) => {
            writeln!(out, "\nSee a property fail: {FAILS}")?;
        }
        // The commands that show the failed run stand before.
        Some(Verdict::Violated | Verdict::Nondeterministic) | None => {}
    }
    for (what, further) in
        [("All figures", &["--details"][..]), ("As a page", &["--report", "campaign.html"])]
    {
        if let Some(command) = with(further) {
            writeln!(out, "{what}: {command}")?;
        }
    }
    writeln!(out, "In a checkout, tenure-sim is: {IN_A_CHECKOUT}")
}

/// A run that breaks an assumption, and so a promise: found, made small, and shown.
const FAILS: &str = "tenure-sim run --control drift --shrink small.json --report drift.html --open";

const IN_A_CHECKOUT: &str = if cfg!(feature = "real") {
    "cargo run --release -p tenure-sim --features real --"
} else {
    "cargo run --release -p tenure-sim --"
};

/// This command with further arguments, for a shell; `None` if it does not accept them, as it has
/// them already.
fn with(further: &[&str]) -> Option<String> {
    let given = env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let words = ["tenure-sim".to_owned()].into_iter().chain(given);
    let words: Vec<String> = words.chain(further.iter().map(|&word| word.to_owned())).collect();
    Arguments::try_parse_from(&words).ok()?;
    Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
}

/// A long time in the unit in which it has few digits.
fn days(time: Duration) -> String {
    let hours = time.as_secs_f64() / 3600.0;
    match hours {
        48.0.. => format!("{:.1} days", hours / 24.0),
        2.0.. => format!("{hours:.1} hours"),
        _ => format!("{:.0} s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_for_readers() {
        let shown = [59, 7_199, 7_200, 172_800].map(|s| days(Duration::from_secs(s)));
        assert_eq!(shown, ["59 s", "7199 s", "2.0 hours", "2.0 days"]);
    }
}
