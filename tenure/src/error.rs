//! One error for all.

use std::{fmt, io};

use crate::store::{LimitError, StoreError};
use crate::trace::TraceError;
use crate::{
    ConfigError, HandOverError, NotifyError, SettingError, StartError, StopError, Stopped,
};

/// Any error from the settings to the end of an election, for functions that only hand errors on
/// with `?`. Its text and its causes are those of the error within. Its `Debug` is that text too,
/// since a `main` that returns it prints it so.
///
/// Errors of work, of a [fence](crate::fence) and of certificates are not among them.
///
/// ```
/// use std::time::Duration;
/// use tenure::{Candidate, Config, store::Memory};
///
/// async fn report_once() -> Result<(), tenure::Error> {
///     let config = Config::builder(Duration::from_secs(10)).build()?;
///     let candidate = Candidate::builder(Memory::new(), "nightly-report").config(config).start()?;
///     let work = async |tenure: tenure::Tenure| println!("leads under {}", tenure.token());
///     candidate.run_until(tenure::shutdown_signal()?, work).await?;
///     Ok(())
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tenure::Error> { report_once().await }
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A variable or a URL.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// Settings that contradict each other.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A key, a name or metadata.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// A candidate could not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A candidate has stopped, and does no more.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// A stop did not end as it should.
    #[error(transparent)]
    Stop(#[from] StopError),
    /// The lead was not handed over.
    #[error(transparent)]
    HandOver(#[from] HandOverError),
    /// A message was not sent.
    #[error(transparent)]
    Notify(#[from] NotifyError),
    /// A request to the store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A log of this process was not opened or not written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The operating system refused something, such as its signals.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
