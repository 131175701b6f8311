//! Manual pages: one for the command, and one for each of its subcommands.

use std::fs::create_dir_all;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;

use crate::Arguments;
use crate::error::{CliError, written};
use crate::output::Files;

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Write the page of the command, and one for each subcommand, to this folder [default: print
    /// the first]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(crate) fn man(arguments: &ManArguments) -> Result<u8, CliError> {
    let command = command();
    match &arguments.out {
        Some(folder) => write_all(&command, folder)?,
        None => written(page(&command).1.and_then(|text| io::stdout().lock().write_all(&text)))?,
    }
    Ok(0)
}

/// The command as pages describe it: `help` needs no page of its own.
fn command() -> Command {
    let mut command = Arguments::command().disable_help_subcommand(true);
    // Names the subcommands' pages `tenure-sim-run` and so on.
    command.build();
    command
}

fn write_all(command: &Command, folder: &Path) -> Result<(), CliError> {
    create_dir_all(folder).map_err(|why| CliError::of_file(folder, why))?;
    let subcommands = command.get_subcommands().filter(|one| !one.is_hide_set());
    let mut files = Files::default();
    for one in std::iter::once(command).chain(subcommands) {
        let (name, text) = page(one);
        let out = files.create(&folder.join(name))?;
        written(text.and_then(|text| out.holding(&text)))?;
    }
    Ok(())
}

/// The name of a page's file, and its text.
fn page(command: &Command) -> (String, io::Result<Vec<u8>>) {
    let version = env!("CARGO_PKG_VERSION");
    let page = Man::new(command.clone()).source(format!("tenure {version}")).manual("tenure");
    let mut text = Vec::new();
    (page.get_filename(), page.render(&mut text).map(|()| text))
}
