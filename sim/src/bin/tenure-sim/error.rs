//! Errors in place of a verdict.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tenure_sim::plan::json::plain;

/// The exit code of `sysexits.h` for wrong usage.
const USAGE: u8 = 64;
/// The exit code of `sysexits.h` for an error of input or output.
const OUTPUT: u8 = 74;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The command line is wrong.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// A file named on the command line is wrong.
    #[error("{}", path.display())]
    File { path: PathBuf, source: Box<dyn Error> },
    /// Files named on the command line contradict each other, or can't be carried out.
    #[error(transparent)]
    Input(Box<dyn Error>),
    /// The result can't be written.
    #[error("the result can't be written")]
    Output(#[from] io::Error),
}

impl CliError {
    pub(crate) fn of_file(path: &Path, why: impl Into<Box<dyn Error>>) -> Self {
        Self::File { path: path.to_owned(), source: why.into() }
    }

    /// Prints the error on standard error.
    pub(crate) fn report(&self) -> ExitCode {
        if let Self::Usage(error) = self {
            // Help and version are no errors.
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

/// An error with its causes, without repetitions.
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

/// The text without control characters: it may quote a file, and must not change the terminal.
fn lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// The result of writing. A reader that closes the pipe early, such as `head`, is no error.
pub(crate) fn written(result: io::Result<()>) -> Result<(), CliError> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
