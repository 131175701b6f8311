//! The result, for people.

use std::io::{self, Write};
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use tenure_sim::campaign::{Failure, Run, Summary, Verdict};
use tenure_sim::trace::Entry;

/// How many events before a violation are shown.
const BEFORE: usize = 40;

pub(crate) fn summary(out: &mut impl Write, summary: &Summary, flags: &str) -> io::Result<()> {
    let mut figures = table(["", ""]);
    let pace = summary.simulated.as_secs_f64() / summary.wall.as_secs_f64().max(1e-9);
    let margin = summary.margin_min.map_or("none".into(), milliseconds);
    figures.add_row(["engine".into(), "turmoil".to_owned()]);
    figures.add_row(["seeds".into(), seeds(summary)]);
    figures.add_row(["simulated".into(), format!("{:.0} s", summary.simulated.as_secs_f64())]);
    let wall = summary.wall.as_secs_f64();
    figures.add_row(["took".into(), format!("{wall:.1} s, {pace:.0} simulated seconds a second")]);
    figures.add_row(["elections".into(), summary.elections.to_string()]);
    figures.add_row(["least safety margin".into(), margin]);
    figures.add_row(["trace hash".into(), summary.trace_hash()]);
    writeln!(out, "{figures}\n")?;

    let mut happened = table(["fault", "happened"]);
    for (kind, count) in &summary.faults {
        happened.add_row([kind.name().to_owned(), count.to_string()]);
    }
    writeln!(out, "{happened}\n")?;

    let mut properties = table(["property", "runs judged", "violated"]);
    for (name, judged) in &summary.properties {
        properties.add_row([
            (*name).to_owned(),
            judged.checked.to_string(),
            judged.violated.to_string(),
        ]);
    }
    writeln!(out, "{properties}\n")?;

    let mut sometimes = table(["sometimes", "met"]);
    for (name, count) in &summary.sometimes {
        sometimes.add_row([(*name).to_owned(), count.to_string()]);
    }
    writeln!(out, "{sometimes}\n")?;
    verdict(out, summary, flags)
}

fn verdict(out: &mut impl Write, summary: &Summary, flags: &str) -> io::Result<()> {
    if let Some(failed) = &summary.failed {
        failure(out, failed, flags)?;
    }
    match summary.verdict() {
        Verdict::Held => writeln!(out, "HELD: nothing was violated, every condition was met"),
        Verdict::Violated => writeln!(out, "VIOLATED"),
        Verdict::Inconclusive => {
            let unmet = summary.unmet().join(", ");
            writeln!(out, "INCONCLUSIVE: nothing was violated; never met: {unmet}")
        }
        Verdict::Nondeterministic => writeln!(out, "NONDETERMINISTIC: a plan gave two traces"),
    }
}

fn failure(out: &mut impl Write, run: &Run, flags: &str) -> io::Result<()> {
    match &run.failure {
        Some(Failure::Violated(violation, entries)) => {
            writeln!(out, "What happened in seed {} before the violation:\n", run.seed)?;
            for entry in &entries[entries.len().saturating_sub(BEFORE)..] {
                event(out, entry)?;
            }
            let at = milliseconds(Duration::from_nanos(violation.at));
            writeln!(out, "\n{} violated at {at}: {}", violation.property, violation.what)?;
        }
        Some(Failure::Broke(why)) => writeln!(out, "Seed {} broke down: {why}", run.seed)?,
        Some(Failure::Nondeterministic { again }) => writeln!(
            out,
            "Seed {}: the first run's trace has the hash {:016x}, the second one's {again:016x}",
            run.seed, run.hash
        )?,
        None => {}
    }
    writeln!(out, "Again: tenure-sim replay --seed {}{flags}\n", run.seed)
}

fn event(out: &mut impl Write, entry: &Entry) -> io::Result<()> {
    let at = milliseconds(Duration::from_nanos(entry.at));
    writeln!(out, "{at:>12}  {:?}", entry.event)
}

fn seeds(summary: &Summary) -> String {
    let last = summary.seed.wrapping_add(summary.runs.saturating_sub(1));
    format!("{} runs, {} to {last}", summary.runs, summary.seed)
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.0} ms", duration.as_secs_f64() * 1_000.0)
}

fn table<const N: usize>(heads: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if heads.iter().any(|head| !head.is_empty()) {
        table.set_header(heads);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
