//! Wake-ups: one poll of the file for all candidates in this process that wait, in all elections.
//!
//! SQLite does not notify a process that another one has written the file. But it has a number for the file's
//! version, which is read from the shared memory and costs next to nothing while nothing has changed. Only after a
//! change are the records of waiting candidates read. Hints are sent for releases only: candidates know the end of
//! a lease by time beforehand.
//!
//! A hint can be late by [`POLL_EVERY`]. No release after the beginning of a stream is missed: the first hint of
//! each stream is sent after the stream was registered here, so that an attempt follows, and a later release is a
//! new version.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::database::Database;
use super::error::SqliteError;
use crate::Token;
use crate::store::Key;

/// How often the file's version is read.
const POLL_EVERY: Duration = Duration::from_millis(50);
/// How often opening the file is retried after a failed poll.
const OPEN_EVERY: Duration = Duration::from_secs(1);
/// At most this fraction of the thread's time, one part in so many, is spent on polls.
const POLL_PART: u32 = 10;

/// The candidates that wait, by election.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<BTreeMap<Key, Waits>>);

#[derive(Debug, Default)]
struct Waits {
    wake: watch::Sender<()>,
    /// The tenure whose release they were notified of.
    notified: Option<Token>,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Waits>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait_for(&self, key: &Key) -> watch::Receiver<()> {
        self.lock().entry(key.clone()).or_default().wake.subscribe()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(super) fn wake(&self, key: &Key) {
        if let Some(waits) = self.lock().get(key) {
            waits.wake.send_replace(());
        }
    }

    pub(super) fn wake_all(&self) {
        for waits in self.lock().values() {
            waits.wake.send_replace(());
        }
    }

    /// The elections in which candidates still wait.
    fn keys(&self) -> Vec<Key> {
        let mut waiting = self.lock();
        waiting.retain(|_, waits| waits.wake.receiver_count() > 0);
        waiting.keys().cloned().collect()
    }

    fn released(&self, key: &Key, token: Token) {
        if let Some(waits) = self.lock().get_mut(key).filter(|waits| waits.notified != Some(token))
        {
            waits.notified = Some(token);
            waits.wake.send_replace(());
        }
    }
}

/// The time and the result of the last poll of the file.
pub(super) struct Poller {
    version: Option<i64>,
    due: Instant,
}

impl Poller {
    pub(super) fn new() -> Self {
        Self { version: None, due: Instant::now() }
    }

    /// The time until the next poll.
    pub(super) fn pause(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    pub(super) fn poll(&mut self, at: &Database, waiting: &Waiting) -> Result<(), SqliteError> {
        let began = Instant::now();
        let polled = self.read_releases(at, waiting);
        self.due = began + (began.elapsed() * POLL_PART).max(POLL_EVERY);
        polled
    }

    /// The file could not be polled. A request may open it sooner.
    pub(super) fn failed(&mut self) {
        *self = Self { version: None, due: Instant::now() + OPEN_EVERY };
    }

    fn read_releases(&mut self, at: &Database, waiting: &Waiting) -> Result<(), SqliteError> {
        let keys = waiting.keys();
        at.place.is_kept()?;
        let version = at.version()?;
        if self.version == Some(version) {
            return Ok(());
        }
        for key in keys {
            if let Some(token) = at.released(&key)? {
                waiting.released(&key, token);
            }
        }
        self.version = Some(version);
        Ok(())
    }
}
