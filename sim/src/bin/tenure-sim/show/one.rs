//! Showing one run, as text and as JSON.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use tenure_sim::plan::Plan;
use tenure_sim::report::text::{self, milliseconds};
use tenure_sim::search::campaign::{self, Failed, Ordered, Run, Verdict};
use tenure_sim::trace::Entry;

use super::table;
use crate::args::{Format, ShownArguments};

/// One run, and its events.
pub(crate) struct One<'a> {
    pub(crate) engine: &'a str,
    pub(crate) plan: &'a Plan,
    pub(crate) run: &'a Run,
    pub(crate) entries: &'a [Entry],
    /// True if the events are unchanged since they were recorded.
    pub(crate) is_intact: bool,
}

impl One<'_> {
    /// The verdict of one run, which need not meet all conditions.
    pub(crate) fn verdict(&self) -> Verdict {
        self.run.failure.as_ref().map_or(Verdict::Held, Verdict::of)
    }

    pub(crate) fn write(&self, out: &mut impl Write, shown: &ShownArguments) -> io::Result<()> {
        match shown.output.format {
            Format::Human => self.show(out, shown.events),
            Format::Json => writeln!(out, "{}", self.json()),
        }
    }

    fn show(&self, out: &mut impl Write, events: usize) -> io::Result<()> {
        let run = self.run;
        let mut figures = table(["engine", self.engine]);
        figures.add_row(["seed".to_owned(), run.seed.to_string()]);
        figures.add_row(["simulated".to_owned(), milliseconds(run.simulated)]);
        figures.add_row(["events".to_owned(), run.events.to_string()]);
        figures.add_row(["elections".to_owned(), run.elections.to_string()]);
        let margin = run.margin.map_or_else(|| "none".to_owned(), milliseconds);
        figures.add_row(["least safety margin".to_owned(), margin]);
        figures.add_row(["trace hash".to_owned(), run.hash.to_string()]);
        writeln!(out, "{figures}\n")?;
        let faults = run.faults().map(|(kind, count)| {
            let Ordered { ordered, effects } = count;
            if ordered == effects {
                format!("{kind} {ordered}")
            } else {
                format!("{kind} {ordered} ({effects} with an effect)")
            }
        });
        list(out, "Faults", faults)?;
        list(
            out,
            "Conditions met",
            run.sometimes.iter().map(|(name, times)| format!("{name} {times}")),
        )?;
        let broken = self.broken();
        list(out, "Beyond the assumptions", broken.iter().filter_map(Value::as_str))?;
        let compared = run.judged.iter().filter(|(_, compared)| *compared > 0);
        list(out, "Judged", compared.map(|(name, times)| format!("{name} {times}")))?;
        let never = run.judged.iter().filter(|(_, compared)| *compared == 0);
        list(out, "Judged without comparisons", never.map(|(name, _)| name))?;
        writeln!(out)?;
        match &run.failure {
            Some(failure) => text::failure(out, failure, events)?,
            None => text::events(out, self.entries, events)?,
        }
        if !self.is_intact {
            writeln!(
                out,
                "\nThe events were changed: their hash differs from the one in the last line"
            )?;
        }
        match self.verdict() {
            Verdict::Held | Verdict::Inconclusive => writeln!(out, "\nHELD: nothing was violated"),
            Verdict::Violated => writeln!(out, "\nVIOLATED"),
            Verdict::Nondeterministic => {
                writeln!(out, "\nNONDETERMINISTIC: the plan gave two traces")
            }
        }
    }

    fn json(&self) -> Value {
        let run = self.run;
        let faults: Map<String, Value> =
            run.faults().map(|(kind, count)| (kind.to_string(), json!(count))).collect();
        let sometimes: Map<String, Value> = run
            .sometimes
            .iter()
            .map(|(name, count)| ((*name).to_owned(), (*count).into()))
            .collect();
        let compared: Map<String, Value> =
            run.judged.iter().map(|(name, times)| (name.to_string(), (*times).into())).collect();
        let failed = run.failure.clone().map(|failure| Failed {
            seed: run.seed,
            failure,
            elsewhere: Vec::new(),
        });
        json!({
            "engine": self.engine,
            "seed": run.seed,
            "simulated_s": run.simulated.as_secs_f64(),
            "events": run.events,
            "elections": run.elections,
            "margin_ms": run.margin.map(campaign::milliseconds),
            "faults": faults,
            "sometimes": sometimes,
            "beyond": self.broken(),
            "judged": run.judged.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "compared": compared,
            "failed": failed,
            "trace_hash": run.hash,
            "intact": self.is_intact,
            "verdict": self.verdict(),
        })
    }

    /// The assumptions that the plan breaks.
    fn broken(&self) -> Vec<Value> {
        self.plan.broken().iter().map(|assumption| json!(assumption)).collect()
    }
}

fn list(
    out: &mut impl Write,
    what: &str,
    items: impl Iterator<Item = impl ToString>,
) -> io::Result<()> {
    let items: Vec<String> = items.map(|item| item.to_string()).collect();
    let items = if items.is_empty() { "nothing".to_owned() } else { items.join(", ") };
    writeln!(out, "{what}: {items}")
}
