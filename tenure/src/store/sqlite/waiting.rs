//! Wake-ups: one poll of the file for all candidates in this process that wait, in all elections.
//!
//! SQLite does not notify a process that another one has written the file. But it has a number for
//! the file's version, which is read from the shared memory and costs next to nothing while nothing
//! has changed. Only after a change are the records of waiting candidates read. Hints are sent for
//! releases and wishes only: candidates know the end of a lease by time beforehand.
//!
//! A hint can be late by [`POLL_EVERY`]. None after the beginning of a stream is missed: the first
//! hint of each stream is sent after the stream was registered here, so that an attempt follows,
//! and a later release or wish is a new version.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::database::Database;
use super::error::SqliteError;
use super::record::Hint;
use crate::store::watchers::{WatcherId, Watchers};
use crate::store::{Changes, Key};

/// The poll interval of the file's version.
const POLL_EVERY: Duration = Duration::from_millis(50);
/// The interval of opening the file again after a failed poll.
const OPEN_EVERY: Duration = Duration::from_secs(1);
/// At most this fraction of the thread's time, one part in so many, is spent on polls.
const POLL_PART: u32 = 10;

/// The elections in which candidates wait.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    watchers: Watchers,
    /// The last notification of an election's watchers.
    notified: BTreeMap<Key, Hint>,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().watchers.is_empty()
    }

    pub(super) fn wake(&self, key: &Key) {
        self.lock().watchers.wake(key);
    }

    pub(super) fn wake_all(&self) {
        self.lock().watchers.wake_all();
    }

    fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<_> = self.lock().watchers.keys().cloned().collect();
        keys.dedup();
        keys
    }

    /// The file has that for the watchers of an election now.
    fn has(&self, key: &Key, hint: Option<Hint>) {
        let mut state = self.lock();
        match hint.filter(|_| state.watchers.is_watched(key)) {
            None => drop(state.notified.remove(key)),
            hint if state.notified.get(key) == hint.as_ref() => {}
            Some(hint) => {
                state.notified.insert(key.clone(), hint);
                state.watchers.wake(key);
            }
        }
    }
}

/// The waiting candidates of one driver.
pub(super) struct Waits {
    waiting: Arc<Waiting>,
    id: WatcherId,
    wake: Arc<Notify>,
}

impl Waits {
    pub(super) fn new(waiting: Arc<Waiting>) -> Self {
        let (id, wake) = waiting.lock().watchers.join();
        Self { waiting, id, wake }
    }

    /// Each new one is hinted once it is registered.
    pub(super) fn update(&self, changes: Changes) {
        let mut state = self.waiting.lock();
        for key in changes.added {
            state.watchers.watch(self.id, &key);
            state.watchers.begins(&key);
        }
        for key in changes.removed {
            if state.watchers.unwatch(self.id, &key) {
                state.notified.remove(&key);
            }
        }
    }

    pub(super) async fn next(&self) -> Key {
        loop {
            if let Some(key) = self.waiting.lock().watchers.hint(self.id) {
                return key;
            }
            self.wake.notified().await;
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        let mut state = self.waiting.lock();
        for key in state.watchers.leave(self.id) {
            state.notified.remove(&key);
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
        let polled = self.read_hints(at, waiting);
        self.due = began + (began.elapsed() * POLL_PART).max(POLL_EVERY);
        polled
    }

    /// The file could not be polled. A request may open it sooner.
    pub(super) fn failed(&mut self) {
        *self = Self { version: None, due: Instant::now() + OPEN_EVERY };
    }

    fn read_hints(&mut self, at: &Database, waiting: &Waiting) -> Result<(), SqliteError> {
        let keys = waiting.keys();
        at.place.is_kept()?;
        let version = at.version()?;
        if self.version == Some(version) {
            return Ok(());
        }
        for key in keys {
            let hint = match at.hint(&key) {
                // Of this election alone, whose candidates meet it with each request.
                Err(SqliteError::Damaged { .. } | SqliteError::TooLarge { .. }) => None,
                read => read?,
            };
            waiting.has(&key, hint);
        }
        self.version = Some(version);
        Ok(())
    }
}
