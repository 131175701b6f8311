//! Wake-ups: one look at the file for all in this process who wait, however many elections they wait for.
//!
//! SQLite tells nobody that another process has written the file. But it can be asked for the number of the
//! file's version, which is read from the shared memory and costs next to nothing while nothing has changed.
//! Only if it has are the records of those who wait looked at. What is told is a release: a lease's end by
//! time is known to the candidate beforehand.
//!
//! A hint can be late by [`LOOK_EVERY`]. It is never missed by who waits before the release: the first hint of
//! each stream comes after the stream was noted here, so that a try follows, and what is released after that
//! is a new version.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_core::Stream;
use tokio::sync::watch;

use super::SqliteError;
use super::database::Database;
use super::worker::Worker;
use crate::Token;
use crate::store::{Hint, Key};

/// How often the file's version is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often a file is opened that could not be looked at.
const OPEN_EVERY: Duration = Duration::from_secs(1);
/// One part in so many of the thread's time is for looking at most.
const LOOK_PART: u32 = 10;

/// Who waits for which election.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<BTreeMap<Key, Waits>>);

#[derive(Debug, Default)]
struct Waits {
    wake: watch::Sender<()>,
    /// The tenure whose release they were told of.
    told: Option<Token>,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Waits>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for(&self, key: &Key) -> watch::Receiver<()> {
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

    /// Those who still wait.
    fn keys(&self) -> Vec<Key> {
        let mut waiting = self.lock();
        waiting.retain(|_, waits| waits.wake.receiver_count() > 0);
        waiting.keys().cloned().collect()
    }

    fn released(&self, key: &Key, token: Token) {
        if let Some(waits) = self.lock().get_mut(key).filter(|waits| waits.told != Some(token)) {
            waits.told = Some(token);
            waits.wake.send_replace(());
        }
    }
}

/// Hints on one election. The first comes at once.
pub(super) fn hints(worker: Arc<Worker>, key: Key) -> impl Stream<Item = Hint> + Send + 'static {
    async_stream::stream! {
        let mut woken = worker.waiting.wait_for(&key);
        worker.look();
        yield Hint;
        while woken.changed().await.is_ok() {
            yield Hint;
        }
    }
}

/// When the file was looked at, and what it was like.
pub(super) struct Looks {
    version: Option<i64>,
    due: Instant,
}

impl Looks {
    pub(super) fn new() -> Self {
        Self { version: None, due: Instant::now() }
    }

    /// How long until the next look.
    pub(super) fn pause(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    pub(super) fn look(&mut self, at: &Database, waiting: &Waiting) -> Result<(), SqliteError> {
        let began = Instant::now();
        let looked = self.look_at(at, waiting);
        self.due = began + (began.elapsed() * LOOK_PART).max(LOOK_EVERY);
        looked
    }

    /// There was no file to look at. A request may well find one sooner.
    pub(super) fn failed(&mut self) {
        *self = Self { version: None, due: Instant::now() + OPEN_EVERY };
    }

    fn look_at(&mut self, at: &Database, waiting: &Waiting) -> Result<(), SqliteError> {
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
