//! The signals that ask a service to end.

use std::io;

use crate::logging::{self, LIFE};
use crate::runtime::{Runtime as _, TokioRuntime};

/// Completes once this process is asked to end: by Ctrl-C (SIGINT), or by SIGTERM, which containers
/// and service managers send. Listens from this call on, so that no signal is missed before it is
/// first polled. For [`Candidate::run_until`](crate::Candidate::run_until).
///
/// From the first call on, for the rest of the process's life, these signals no longer end the
/// process by themselves, and neither does a second Ctrl-C. On systems without SIGTERM it waits for
/// Ctrl-C alone.
///
/// # Errors
/// If the operating system refuses to hand the signals over, or outside of a tokio runtime that has
/// I/O and timers.
pub fn shutdown_signal() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    TokioRuntime.available().map_err(io::Error::other)?;
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(async move {
            let name = tokio::select! {
                _ = interrupt.recv() => "SIGINT",
                _ = terminate.recv() => "SIGTERM",
            };
            logging::info!(target: LIFE, name, "a signal asks this process to end");
        })
    }
    #[cfg(windows)]
    {
        let mut interrupt = tokio::signal::windows::ctrl_c()?;
        Ok(async move {
            interrupt.recv().await;
            logging::info!(target: LIFE, name = "Ctrl-C", "a signal asks this process to end");
        })
    }
}
