//! Errors of a server that a test wants to own.

use std::io;
use std::time::Duration;

/// A failure to start a server, or to get its answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The program is not installed.
    #[error("`{program}` is not installed; install it with: {install}")]
    Missing {
        /// The name of the program.
        program: &'static str,
        /// The command that installs it.
        install: &'static str,
    },
    /// The process ended, or stayed silent, instead of becoming ready.
    #[error("`{program}` was not ready on port {port} within {bound:?}; its log ends with:\n{log}")]
    NotReady {
        /// The name of the program.
        program: &'static str,
        /// The port it was told to use.
        port: u16,
        /// The bound on the wait for its start.
        bound: Duration,
        /// The end of what it wrote to its log.
        log: String,
    },
    /// The server's answer is not one of its protocol, or an error.
    #[error("the server on port {port} answered with something unexpected: {detail}")]
    Protocol {
        /// The server's port.
        port: u16,
        /// The decoder's error.
        detail: String,
    },
    /// The operating system refused something.
    #[error("{doing} failed")]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
}

/// Names the operation of an I/O error.
pub(crate) fn doing(doing: &'static str) -> impl FnOnce(io::Error) -> ServerError {
    move |source| ServerError::Io { doing, source }
}
