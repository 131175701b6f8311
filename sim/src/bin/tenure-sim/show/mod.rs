//! Showing results as text.

pub(crate) mod mutants;
pub(crate) mod one;
mod progress;
mod screen;
mod table;

pub(crate) use progress::Progress;
pub(crate) use screen::screen;
pub(crate) use table::Table;

use std::collections::BTreeSet;
use std::io::{self, Write};

use tenure_sim::engines::Engine;
use tenure_sim::judge::properties::PropertyName;
use tenure_sim::judge::{Judging, Which};
use tenure_sim::plan::FaultKind;
use tenure_sim::plan::json::plain;
use tenure_sim::report::text::{self, milliseconds};
use tenure_sim::report::{Again, PlanFrom};
use tenure_sim::search::campaign::{Failure, Report, Seeds, Soak, Summary, Usage, Verdict};

/// All figures of all engines in columns, then the failed runs and the verdicts.
pub(crate) fn details(out: &mut impl Write, summaries: &[Summary]) -> io::Result<()> {
    writeln!(out, "{}\n", figures(summaries))?;
    for summary in summaries {
        margins(out, summary)?;
    }
    for summary in summaries {
        turnover(out, summary)?;
    }
    writeln!(out, "{}\n", faults(summaries))?;
    writeln!(out, "{}\n", judged(summaries))?;
    writeln!(out, "{}\n", sometimes(summaries))?;
    for summary in summaries {
        needed(out, summary)?;
    }
    for summary in summaries {
        soak(out, summary)?;
    }
    for failed in summaries.iter().filter(|summary| summary.failed.is_some()) {
        failure(out, failed, text::BEFORE)?;
    }
    summaries.iter().try_for_each(|summary| verdict(out, summary, usize::MAX))
}

fn figures(summaries: &[Summary]) -> Table {
    let mut table = numbers(heads("engine", summaries, &[""]));
    let mut row = |name: &str, figure: &dyn Fn(&Summary) -> String| {
        table.add_row([name.to_owned()].into_iter().chain(summaries.iter().map(figure)));
    };
    row("seeds", &|summary| summary.seeds.iter().map(seeds).collect::<Vec<_>>().join("; "));
    row("runs", &|summary| summary.runs.to_string());
    row("simulated", &|summary| format!("{:.0} s", summary.simulated.as_secs_f64()));
    row("took", &|summary| format!("{:.1} s", summary.wall.as_secs_f64()));
    row("threads", &|summary| summary.jobs.to_string());
    row("runs a second", &|summary| format!("{:.0}", Report::from(summary).runs_per_s));
    row("events a second", &|summary| format!("{:.0}", Report::from(summary).events_per_s));
    row("simulated seconds a processor second", &|summary| {
        format!("{:.0}", Report::from(summary).simulated_s_per_core_s)
    });
    row("events", &|summary| summary.events.to_string());
    row("elections", &|summary| summary.elections.to_string());
    row("least safety margin", &|summary| {
        summary.margin_min.map_or_else(|| "none".to_owned(), milliseconds)
    });
    row("in seed", &|summary| {
        summary.margin_min_seed.map_or_else(|| "-".to_owned(), |seed| seed.to_string())
    });
    row("trace hash", &|summary| summary.trace_hash.to_string());
    row("version", &|summary| summary.version.clone());
    table
}

/// The number of runs by their least safety margin.
fn margins(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    if summary.margins.runs() == 0 {
        return Ok(());
    }
    let mut table = numbers(["least safety margin in", &format!("{} runs", summary.engine)]);
    for (least, runs) in summary.margins.buckets() {
        table.add_row([format!("from {}", milliseconds(least)), runs.to_string()]);
    }
    writeln!(out, "{table}\n")
}

/// The times between leads.
fn turnover(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    if summary.turnover.is_empty() {
        return Ok(());
    }
    let first = format!("times in {} runs", summary.engine);
    let mut table = numbers([&first, "count", "median", "99 of 100 within", "longest"]);
    for (interval, durations) in &summary.turnover {
        let at =
            |permille| durations.quantile(permille).map_or_else(|| "-".to_owned(), milliseconds);
        let longest = milliseconds(durations.longest());
        let count = durations.count().to_string();
        table.add_row([interval.about().to_owned(), count, at(500), at(990), longest]);
    }
    writeln!(out, "{table}\n")
}

fn faults(summaries: &[Summary]) -> Table {
    let mut table = numbers(heads("fault", summaries, &["ordered", "took effect"]));
    for kind in FaultKind::ALL {
        let cells = summaries.iter().map(|summary| summary.faults.get(&kind));
        if cells.clone().any(|cell| cell.is_some()) {
            let cells = cells.flat_map(|cell| match cell {
                Some(count) => [count.ordered.to_string(), count.effects.to_string()],
                None => ["-".to_owned(), "-".to_owned()],
            });
            table.add_row([kind.name().to_owned()].into_iter().chain(cells));
        }
    }
    table
}

fn judged(summaries: &[Summary]) -> Table {
    let each = ["judged", "exercised", "comparisons", "violated"];
    let mut table = numbers(heads("property", summaries, &each));
    for name in names(summaries.iter().map(|summary| summary.properties.keys())) {
        let cells = summaries.iter().flat_map(|summary| match summary.properties.get(name) {
            Some(judged) => [judged.checked, judged.exercised, judged.compared, judged.violated]
                .map(|count| count.to_string()),
            None => std::array::from_fn(|_| "-".to_owned()),
        });
        table.add_row([name.to_owned()].into_iter().chain(cells));
    }
    table
}

fn sometimes(summaries: &[Summary]) -> Table {
    let mut table = numbers(heads("sometimes", summaries, &["met", "in runs", "after seeds"]));
    for name in names(summaries.iter().map(|summary| summary.sometimes.keys())) {
        let cells = summaries.iter().flat_map(|summary| {
            let of = [&summary.sometimes, &summary.sometimes_runs, &summary.sometimes_needed];
            of.map(|map| map.get(name).map_or_else(|| "-".to_owned(), u64::to_string))
        });
        table.add_row([name.to_owned()].into_iter().chain(cells));
    }
    table
}

/// The fewest and the most seeds that a condition needed, compared with the seeds of the campaign.
fn needed(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let needed = || summary.sometimes_needed.iter().map(|(name, needed)| (needed, name));
    let (Some((few, easy)), Some((many, hard))) = (needed().min(), needed().max()) else {
        return Ok(());
    };
    let of = summary.seeds.iter().map(|seeds| seeds.count).sum::<u64>();
    writeln!(
        out,
        "{}: of {of} seeds, {easy} needed {few}, the fewest, and {hard} {many}, the most",
        summary.engine
    )
}

/// This process's resources at the beginning, in the middle and at the end.
fn soak(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let blocks = summary.soak.as_ref().map_or(&[][..], Soak::blocks);
    if blocks.is_empty() {
        return Ok(());
    }
    let after = format!("held by this process ({})", summary.engine);
    let mut table = numbers([&after, "memory", "descriptors", "threads"]);
    let mut last = None;
    for block in [1, blocks.len() / 3, 2 * blocks.len() / 3, blocks.len()] {
        if block == 0 || last.replace(block) == Some(block) {
            continue;
        }
        let Usage { memory, descriptors, threads } = blocks[block - 1];
        let memory = format!("{} KiB", memory >> 10);
        let of = format!("after block {block}");
        table.add_row([of, memory, descriptors.to_string(), threads.to_string()]);
    }
    writeln!(out, "\n{table}\n")
}

/// The failed run, with that many of its last events, and the commands that show it again.
fn failure(out: &mut impl Write, summary: &Summary, events: usize) -> io::Result<()> {
    let Some(failed) = &summary.failed else { return Ok(()) };
    writeln!(out, "\nSeed {} in the {} engine:", failed.seed, summary.engine)?;
    text::failure(out, &failed.failure, events)?;
    let judged = summary.properties.keys().filter_map(|name| name.parse().ok());
    let judged: Vec<PropertyName> = judged.collect();
    let again = Again {
        engine: &summary.engine,
        plan: PlanFrom::Seed { seed: failed.seed, faults: &summary.allowed },
        judging: Judging::StopAtFirst(Which::Named(&judged)),
    };
    writeln!(out, "\nAgain: {}", again.replay())?;
    if summary.engine.parse::<Engine>().is_ok_and(|engine| !engine.simulates()) {
        writeln!(
            out,
            "Keep its plan: the same command with --plan-out FILE\n\nThat plan elsewhere:"
        )?;
        failed.elsewhere.iter().try_for_each(|one| text::elsewhere(out, one))?;
        return writeln!(out);
    }
    match &failed.failure {
        Failure::Violated { property, .. } => {
            writeln!(out, "Smaller: {}\n", again.shrink(Some(property.as_str())))
        }
        Failure::Broke { .. } => writeln!(out, "Smaller: {}\n", again.shrink(None)),
        Failure::Refused { .. } | Failure::Nondeterministic { .. } => writeln!(out),
    }
}

/// The verdict of a campaign, with at most that many names of each kind of thing that is missing.
fn verdict(out: &mut impl Write, summary: &Summary, most: usize) -> io::Result<()> {
    let engine = &summary.engine;
    match (summary.verdict(), &summary.failed) {
        (Verdict::Held, _) => {
            writeln!(out, "{engine}: HELD: nothing was violated, and nothing is missing")
        }
        (Verdict::Violated, Some(failed)) => {
            let what = match &failed.failure {
                Failure::Violated { property, .. } => property.as_str(),
                Failure::Refused { .. } => "a plan can't be carried out",
                Failure::Broke { .. } | Failure::Nondeterministic { .. } => "a run broke down",
            };
            writeln!(out, "{engine}: VIOLATED: {}, in seed {}", plain(what), failed.seed)
        }
        (Verdict::Violated, None) => {
            writeln!(out, "{engine}: GROWS: {}", summary.growth().join("; "))
        }
        (Verdict::Inconclusive, _) => {
            let missing = summary.missing(most).join("; ");
            writeln!(out, "{engine}: INCONCLUSIVE: nothing was violated; {missing}")
        }
        (Verdict::Nondeterministic, failed) => {
            let seed = failed.as_ref().map_or(summary.seed, |failed| failed.seed);
            writeln!(out, "{engine}: NONDETERMINISTIC: the plan of seed {seed} gave two traces")
        }
    }
}

fn seeds(seeds: &Seeds) -> String {
    let range = format!("{} to {}", seeds.first, seeds.first + seeds.count.saturating_sub(1));
    if seeds.shard.is_whole() { range } else { format!("{range}, shard {}", seeds.shard) }
}

/// All names that occur, in order.
fn names<'a>(of: impl Iterator<Item = impl Iterator<Item = &'a String>>) -> BTreeSet<&'a str> {
    of.flatten().map(String::as_str).collect()
}

/// The head of the first column, then those for each engine.
fn heads(first: &str, summaries: &[Summary], each: &[&str]) -> Vec<String> {
    let head = |summary: &Summary, each: &&str| format!("{} {each}", summary.engine);
    let heads = summaries.iter().flat_map(|of| each.iter().map(move |each| head(of, each)));
    [first.to_owned()].into_iter().chain(heads).collect()
}

/// A table of words.
pub(crate) fn table(heads: impl IntoIterator<Item = impl ToString>) -> Table {
    Table::new(heads, false)
}

/// A table with numbers in all columns but the first.
pub(crate) fn numbers(heads: impl IntoIterator<Item = impl ToString>) -> Table {
    Table::new(heads, true)
}
