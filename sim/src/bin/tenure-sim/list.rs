//! Lists engines, faults, assumptions, properties, conditions and controls.

use std::io::{self, Write};

use clap::Args;
use serde_json::{Value, json};
use tenure_sim::engines::Engine;
use tenure_sim::evidence::controls;
use tenure_sim::judge::properties::{self, Terms};
use tenure_sim::plan::{Assumption, FaultKind};
use tenure_sim::search::campaign::expected;

use crate::args::{Format, OutputArguments};
use crate::error::{CliError, written};
use crate::show::table;

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

pub(crate) fn list(arguments: &ListArguments) -> Result<u8, CliError> {
    let mut out = io::stdout().lock();
    let all = all();
    written(match arguments.output.format {
        Format::Human => SECTIONS.iter().try_for_each(|name| section(&mut out, &all, name)),
        Format::Json => writeln!(out, "{all}"),
    })?;
    Ok(0)
}

const SECTIONS: [&str; 6] =
    ["engines", "faults", "assumptions", "properties", "sometimes", "controls"];

fn all() -> Value {
    let engines = Engine::every().map(|engine| json!({ "name": engine, "about": run_by(engine) }));
    let faults = FaultKind::ALL.into_iter().map(|kind| {
        let draws = |engine: &Engine| engine.scope().kinds().contains(&kind);
        json!({
            "name": kind,
            "about": kind.about(),
            "beyond the assumptions": kind.is_beyond_the_assumptions(),
            "engines": Engine::every().filter(draws).collect::<Vec<_>>(),
        })
    });
    let assumptions =
        Assumption::ALL.into_iter().map(|one| json!({ "name": one, "about": about(one) }));
    let properties = properties::all(&Terms::default())
        .into_iter()
        .map(|property| property.about())
        .map(|about| json!({ "name": about.name, "assumes": about.rests_on }));
    let controls = controls::ALL.into_iter().map(|control| {
        json!({
            "name": control.name,
            "about": control.about,
            "beyond": control.beyond,
            "must break": control.must_break,
            "may break": control.may_break,
        })
    });
    json!({
        "controls": controls.collect::<Vec<_>>(),
        "engines": engines.collect::<Vec<_>>(),
        "faults": faults.collect::<Vec<_>>(),
        "assumptions": assumptions.collect::<Vec<_>>(),
        "properties": properties.collect::<Vec<_>>(),
        "sometimes": conditions(),
    })
}

/// Each condition with the engines whose campaigns should meet it.
fn conditions() -> Vec<Value> {
    let mut conditions: Vec<(&str, Vec<Engine>)> = Vec::new();
    for engine in Engine::every() {
        for name in expected(engine) {
            match conditions.iter_mut().find(|(known, _)| *known == name) {
                Some((_, engines)) => engines.push(engine),
                None => conditions.push((name, vec![engine])),
            }
        }
    }
    let json = |(name, engines)| json!({ "name": name, "engines": engines });
    conditions.into_iter().map(json).collect()
}

const fn run_by(engine: Engine) -> &'static str {
    match engine {
        Engine::Model => "the state machine alone, in a queue of events",
        #[cfg(feature = "turmoil")]
        Engine::Turmoil => "the shipped driver, Redis adapter and scripts, over simulated TCP",
        #[cfg(feature = "real")]
        Engine::Real(target) => target.about(),
    }
}

const fn about(assumption: Assumption) -> &'static str {
    match assumption {
        Assumption::CandidateClocks => "no leader's clock is slow by more than the drift bound",
        Assumption::Waits => "no waiting candidate's clock is fast by more than the drift bound",
        Assumption::LossIsFinal => "after a loss of data the next leader waits out all old leases",
        Assumption::WallClock => "after a loss of data the wall clock is not behind the last grant",
        Assumption::OneMemory => "no process is restored from a snapshot",
        Assumption::PromptEffects => "no effect comes later than the stop margin after its check",
        Assumption::TakeOverFirst => "a leader takes a resource over before it reads it",
        Assumption::Processor => "every process gets a processor when it needs one",
    }
}

/// The table of one section: the name first, then the other fields.
fn section(out: &mut impl Write, all: &Value, name: &str) -> io::Result<()> {
    let rows = all[name].as_array().map_or(&[][..], Vec::as_slice);
    let first = rows.first().and_then(Value::as_object);
    let fields = || first.into_iter().flatten().map(|(field, _)| field.as_str());
    let others: Vec<&str> = fields().filter(|field| *field != "name").collect();
    let mut table = table([name].iter().chain(&others));
    for row in rows {
        table.add_row(["name"].iter().chain(&others).map(|field| cell(&row[*field])));
    }
    writeln!(out, "{table}\n")
}

fn cell(value: &Value) -> String {
    match value {
        Value::Array(items) if items.is_empty() => "-".to_owned(),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(", "),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
