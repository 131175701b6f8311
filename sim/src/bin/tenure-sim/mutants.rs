//! Mutants of the sources: each is built, and run until it is caught.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tenure_sim::evidence::mutants::{self, Arena, Diff, Mutant, Row, Sources, Trials, Workshop};

use crate::args::{Format, JobsArguments, OutputArguments, wrong};
use crate::error::{CliError, written};
use crate::output::text_of;
use crate::show::mutants::{HEAD, lines, summary};
use crate::show::table;

#[derive(Debug, Args)]
pub(crate) struct MutantsArguments {
    /// Only this mutant; may be given more than once
    #[arg(long, value_name = "NAME")]
    only: Vec<Mutant>,
    /// Only in this engine; mutants that need not be caught there are left out. `real` is tried
    /// only if it is named
    #[arg(long, value_parser = arena)]
    engine: Option<Arena>,
    /// List the mutants, and build none
    #[arg(long, conflicts_with = "patch")]
    list: bool,
    /// Plant the changes of this unified diff instead, and run until any property fails
    #[arg(long, value_name = "FILE", conflicts_with = "only")]
    patch: Option<PathBuf>,
    /// A folder of the workspace from which mutants are made [default: the current folder]
    #[arg(long, value_name = "DIR")]
    sources: Option<PathBuf>,
    /// The folder for the copy and its builds [default: target/mutants in the workspace]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    #[command(flatten)]
    jobs: JobsArguments,
    /// Kill a mutated simulator after this many seconds in one engine
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    bound: u64,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn arena(name: &str) -> Result<Arena, String> {
    let found = Arena::ALL.into_iter().find(|arena| arena.name() == name);
    found.ok_or_else(|| format!("known are {}", Arena::ALL.map(Arena::name).join(", ")))
}

pub(crate) fn mutants(arguments: &MutantsArguments) -> Result<u8, CliError> {
    let wanted = arguments.wanted();
    if arguments.list {
        written(list(&wanted, arguments.output.format))?;
        return Ok(0);
    }
    if wanted.is_empty() {
        return Err(wrong("no such mutant has to be caught there: see '--list'".to_owned()).into());
    }
    let diff = arguments.diff()?;
    let workshop = arguments.workshop(if diff.is_some() { &[] } else { &wanted })?;
    let trials = Trials {
        workshop: &workshop,
        jobs: arguments.jobs.threads(),
        only: arguments.engine,
        bound: Duration::from_secs(arguments.bound),
    };
    let mut rows = Vec::new();
    let mut tried = Ok(());
    if let Some(diff) = diff {
        tried = trials.of_diff(&diff).map(|row| rows.push(row));
    } else {
        for mutant in &wanted {
            match trials.of(mutant) {
                Ok(row) => {
                    eprintln!("{}", summary(&row));
                    rows.push(row);
                }
                Err(error) => {
                    eprintln!("{error}");
                    tried = tried.and(Err(error));
                }
            }
        }
    }
    // The results of the other mutants are printed although one does not build.
    written(report(&rows, arguments.output.format))?;
    tried.map_err(|error| CliError::Input(error.into()))?;
    let is_caught = if arguments.patch.is_some() { Row::is_caught_somehow } else { Row::is_caught };
    Ok(u8::from(!rows.iter().all(is_caught)))
}

impl MutantsArguments {
    fn wanted(&self) -> Vec<Mutant> {
        let is_named = |mutant: &Mutant| {
            self.only.is_empty() || self.only.iter().any(|one| one.name == mutant.name)
        };
        let lists_all = self.list && self.engine.is_none();
        let is_wanted = |engine: Arena| lists_all || engine.is_wanted(self.engine);
        let shows = |mutant: &Mutant| mutant.arenas().any(is_wanted);
        mutants::all().filter(|mutant| is_named(mutant) && shows(mutant)).collect()
    }

    fn diff(&self) -> Result<Option<Diff>, CliError> {
        let Some(path) = &self.patch else { return Ok(None) };
        if self.engine == Some(Arena::Real) {
            let why = "'--patch' is not tried on real servers: build the changed sources, and use its 'run'";
            return Err(wrong(why.to_owned()).into());
        }
        let text = text_of(path)?;
        Ok(Some(Diff::new(path.display().to_string(), text)))
    }

    /// The workshop, after a check that all snippets exist, before anything is built.
    fn workshop(&self, wanted: &[Mutant]) -> Result<Workshop, CliError> {
        let around = self.sources.clone().unwrap_or_else(|| PathBuf::from("."));
        let sources = Sources::around(&around).map_err(|error| CliError::Input(error.into()))?;
        let wrong = |error: mutants::WorkshopError| CliError::Input(error.into());
        wanted.iter().try_for_each(|mutant| sources.check(mutant)).map_err(wrong)?;
        let work = self.work.clone().unwrap_or_else(|| sources.default_work());
        let waits = || eprintln!("waiting for another run that uses {}", work.display());
        Workshop::open(sources, &work, waits).map_err(wrong)
    }
}

fn list(mutants: &[Mutant], format: Format) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match format {
        Format::Human => {
            let mut table = table(["mutant", "engines", "caught by", "what is wrong"]);
            for mutant in mutants {
                let engines: Vec<_> = mutant.arenas().map(Arena::name).collect();
                let caught_by = mutant.caught_by.join(", ");
                table.add_row([mutant.name, &engines.join(", "), &caught_by, mutant.about]);
            }
            writeln!(out, "{table}")
        }
        Format::Json => {
            let each = |mutant: &Mutant| {
                let edits = mutant.edits.iter();
                let edits =
                    edits.map(|one| json!({ "file": one.file, "from": one.from, "to": one.to }));
                let guards =
                    |arena| mutant.chase_in(arena).map(|chase| chase.guards).unwrap_or_default();
                json!({
                    "name": mutant.name,
                    "about": mutant.about,
                    "engines": mutant.arenas().collect::<Vec<_>>(),
                    "turmoil faults": mutant.chase_in(Arena::Turmoil).map(|chase| chase.faults),
                    "caught by": mutant.caught_by,
                    "caught by the audit by": guards(Arena::Audit),
                    "on real servers": mutant.chase_in(Arena::Real).and_then(|chase| chase.store),
                    "caught there by": guards(Arena::Real),
                    "edits": edits.collect::<Vec<_>>(),
                })
            };
            let all: Vec<_> = mutants.iter().map(each).collect();
            serde_json::to_writer(&mut out, &all)?;
            writeln!(out)
        }
    }
}

/// All rows as one line of JSON, or as a table with a verdict.
fn report(rows: &[Row], format: Format) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if format == Format::Json {
        serde_json::to_writer(&mut out, rows)?;
        return writeln!(out);
    }
    let mut table = table(HEAD);
    for line in lines(rows) {
        table.add_row(line);
    }
    writeln!(out, "{table}\n")?;
    let caught = rows.iter().filter(|row| row.is_caught()).count();
    for row in rows.iter().filter(|row| !row.is_caught()) {
        writeln!(out, "{}", summary(row))?;
    }
    writeln!(out, "caught by properties: {caught} of {}", rows.len())
}
