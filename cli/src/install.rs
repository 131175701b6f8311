//! `tenure completions` and `tenure man`: what is installed beside the command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::exit::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell that loads them.
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// Write the page of tenure, and one for each subcommand, to this folder [default: print the
    /// first].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(crate) fn completions(options: &Completions, mut command: Command) -> Result<u8, Failure> {
    // The generator panics where its output can't be written.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "tenure", &mut script);
    printed(&script)
}

pub(crate) fn manual(options: &Manual, command: Command) -> Result<u8, Failure> {
    let mut command = command.disable_help_subcommand(true);
    // Names the subcommands' pages `tenure-run` and so on.
    command.build();
    let Some(folder) = &options.out else { return printed(&page(&command)?.1) };
    fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    for one in std::iter::once(&command).chain(command.get_subcommands()) {
        let (name, text) = page(one)?;
        let file = folder.join(name);
        fs::write(&file, text).map_err(|error| unwritten(&file, &error))?;
    }
    Ok(0)
}

/// The name of a page's file, and its text.
fn page(command: &Command) -> Result<(String, Vec<u8>), Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let page = Man::new(command.clone()).source(format!("tenure {version}")).manual("tenure");
    let mut text = Vec::new();
    page.render(&mut text).map_err(Failure::system)?;
    Ok((page.get_filename(), text))
}

fn printed(text: &[u8]) -> Result<u8, Failure> {
    output::print(text).map(|_| 0)
}

fn unwritten(file: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("--out: {} can't be written: {error}", file.display()))
}
