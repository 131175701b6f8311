//! The statuses with which the command ends, besides those of the program that it runs.

use std::error::Error;
use std::process::ExitCode;

use crate::interrupt::{self, Whom};

/// The program was killed by a signal: this and the signal's number, as in shells.
pub(crate) const SIGNALLED: u8 = 128;
/// The command line or a setting is wrong.
pub(crate) const USAGE: u8 = 64;
/// The store can't be used.
pub(crate) const STORE: u8 = 69;
/// The system has refused a process, or an address to listen on.
pub(crate) const SYSTEM: u8 = 71;
/// Another candidate leads, or nobody who was meant has taken over in time.
pub(crate) const NOT_LEADING: u8 = 75;
/// The lead was lost, and the command was ended for that.
pub(crate) const LOST: u8 = 76;

/// `status`, `notify`: no candidate leads. `handover`: there is nothing to hand over.
pub(crate) const NOBODY: u8 = 1;
/// `doctor`: something is wrong, and candidates can lead all the same.
pub(crate) const FINDINGS: u8 = 1;
/// `status`: it is not known.
pub(crate) const UNKNOWN: u8 = 2;

/// The end of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    With(u8),
    /// By SIGINT.
    Interrupted(Whom),
}

impl Ended {
    pub(crate) fn exit(self) -> ExitCode {
        match self {
            Self::With(status) => status.into(),
            Self::Interrupted(whom) => interrupt::end(whom).into(),
        }
    }
}

/// The reason to end at once, in words, and its status.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Failure {
    pub(crate) status: u8,
    text: String,
}

#[expect(clippy::needless_pass_by_value, reason = "errors are passed by value, as to `map_err`")]
impl Failure {
    pub(crate) fn usage(text: impl ToString) -> Self {
        Self { status: USAGE, text: text.to_string() }
    }

    pub(crate) fn system(text: impl ToString) -> Self {
        Self { status: SYSTEM, text: text.to_string() }
    }

    pub(crate) fn store(text: impl ToString) -> Self {
        Self { status: STORE, text: text.to_string() }
    }

    pub(crate) fn not_leading(text: impl ToString) -> Self {
        Self { status: NOT_LEADING, text: text.to_string() }
    }
}

impl From<tenure::SettingError> for Failure {
    fn from(error: tenure::SettingError) -> Self {
        Self::usage(error)
    }
}

impl From<tenure::StartError> for Failure {
    fn from(error: tenure::StartError) -> Self {
        Self::usage(error)
    }
}

/// An error and its causes in one line.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&error| error.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}
