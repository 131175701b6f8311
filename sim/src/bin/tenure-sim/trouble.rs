//! Why a command comes to no verdict.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tenure_sim::plan::json::plain;

/// As `sysexits.h` has it: the command was used incorrectly.
const USAGE: u8 = 64;
/// As `sysexits.h` has it: an error while doing input or output.
const OUTPUT: u8 = 74;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// The command line is wrong.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// A file named on the command line is wrong.
    #[error("{}", path.display())]
    File { path: PathBuf, source: Box<dyn Error> },
    /// Files named on the command line do not belong together, or can't be carried out.
    #[error(transparent)]
    Input(Box<dyn Error>),
    /// The result can't be written.
    #[error("the result can't be written")]
    Output(#[from] io::Error),
}

impl Trouble {
    pub(crate) fn of_file(path: &Path, why: impl Into<Box<dyn Error>>) -> Self {
        Self::File { path: path.to_owned(), source: why.into() }
    }

    /// Says what is wrong on standard error.
    pub(crate) fn tell(&self) -> ExitCode {
        if let Self::Usage(error) = self {
            // Help and version are asked for; anything else is a mistake.
            let code = if error.use_stderr() { USAGE } else { 0 };
            return if error.print().is_ok() { code.into() } else { OUTPUT.into() };
        }
        eprintln!("tenure-sim: {}", lines(&in_full(self)));
        match self {
            Self::Output(_) => OUTPUT.into(),
            Self::Usage(_) | Self::File { .. } | Self::Input(_) => USAGE.into(),
        }
    }
}

/// An error and what caused it, unless it says so itself.
fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let why = error.to_string();
        if !text.ends_with(&why) {
            text = format!("{text}: {why}");
        }
        cause = error.source();
    }
    text
}

/// What is told may quote a file: no line of it can change the terminal that it is shown on.
fn lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// Whoever reads has seen enough, as `head` does, and that is no error.
pub(crate) fn written(result: io::Result<()>) -> Result<(), Trouble> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
