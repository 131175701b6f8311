//! Completions of the command line, for a shell to load.

use std::io::{self, Write};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Arguments;
use crate::error::{CliError, written};

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell that loads them
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<u8, CliError> {
    let mut command = Arguments::command();
    let name = command.get_name().to_owned();
    // The generator panics where its output can't be written.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    // clap_complete 4.6.11 writes the hyphen of the command's name in two ways, so that bash would
    // complete nothing after a subcommand.
    let script = String::from_utf8_lossy(&script).replace("tenure__subcmd__sim", "tenure__sim");
    written(io::stdout().lock().write_all(script.as_bytes()))?;
    Ok(0)
}
