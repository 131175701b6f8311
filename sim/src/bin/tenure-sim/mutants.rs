//! Mutants of the sources: they are built, and each is run until it is caught.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tenure_sim::evidence::mutants::{
    self, Arena, Bug, Diff, Mutant, Row, Sources, Trials, Workshop, WorkshopError,
};

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
    /// Plant the bug of this unified diff instead, and run until any property fails; may be given
    /// more than once, for a bug each
    #[arg(long, value_name = "FILE", conflicts_with = "only")]
    patch: Vec<PathBuf>,
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
    let sources = arguments.sources()?;
    // All patches fit before anything is built.
    let bugs = arguments.bugs(&wanted, &sources)?;
    let workshop = arguments.workshop(sources)?;
    let trials = Trials {
        workshop: &workshop,
        jobs: arguments.jobs.threads(),
        bound: Duration::from_secs(arguments.bound),
    };
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    trials.of(&bugs, |tried| match tried {
        Ok(row) => {
            eprintln!("{}", summary(&row));
            rows.push(row);
        }
        Err(error) => {
            eprintln!("{error}");
            errors.push(error);
        }
    });
    rows.sort_by_key(|row| wanted.iter().position(|mutant| mutant.name == row.mutant));
    // The results of the other mutants are printed although one does not build.
    written(report(&rows, arguments.output.format))?;
    if let Some(error) = errors.into_iter().next() {
        return Err(CliError::Input(error.into()));
    }
    let is_caught =
        if arguments.patch.is_empty() { Row::is_caught } else { Row::is_caught_somehow };
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

    fn sources(&self) -> Result<Sources, CliError> {
        let around = self.sources.clone().unwrap_or_else(|| PathBuf::from("."));
        Sources::around(&around).map_err(|error| CliError::Input(error.into()))
    }

    fn bugs(&self, wanted: &[Mutant], sources: &Sources) -> Result<Vec<Bug>, CliError> {
        if self.patch.is_empty() {
            let bugs = wanted.iter().map(|mutant| Bug::of(mutant, sources, self.engine));
            return bugs.collect::<Result<_, _>>().map_err(misfit);
        }
        if self.engine == Some(Arena::Real) {
            let why = "'--patch' is not tried on real servers: build the changed sources, and use its 'run'";
            return Err(wrong(why.to_owned()).into());
        }
        let bugs = self.patch.iter().map(|path| {
            let diff = Diff::new(path.display().to_string(), text_of(path)?);
            Bug::of_diff(&diff, sources, self.engine).map_err(misfit)
        });
        bugs.collect()
    }

    fn workshop(&self, sources: Sources) -> Result<Workshop, CliError> {
        let work = self.work.clone().unwrap_or_else(|| sources.default_work());
        let waits = || eprintln!("waiting for another run that uses {}", work.display());
        Workshop::open(sources, &work, waits).map_err(misfit)
    }
}

fn misfit(error: WorkshopError) -> CliError {
    CliError::Input(error.into())
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
                    "patch": mutant.patch(),
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
