//! The thread that owns the connection: SQLite's calls block, for as long as a disk takes.
//!
//! Requests are carried out one after the other, in the order of their calls. One whose caller has
//! given up before its turn is not carried out at all. One that was under way then is *unknown*,
//! like any other; it can be neither stopped nor mistaken for another, so the connection stays. In
//! between, the thread polls the file for candidates that wait.

use std::sync::mpsc::{Receiver, RecvError, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tenure_core::Mark;
use tokio::sync::oneshot;

use super::config::SqliteConfig;
use super::database::Database;
use super::error::SqliteError;
use super::purge::{Listed, Page, keys, purge};
use super::rights;
use super::step::{Replies, step};
use super::waiting::{Poller, Waiting};
use crate::logging;
use crate::store::watches::Watches;
use crate::store::{Key, Reply, Request};

/// The longest pause after a step of a purge, in which this process asks for nothing else.
const PURGE_PAUSE_MOST: Duration = Duration::from_millis(100);

/// An error is that of all requests of the call.
type Answer = Result<Replies, SqliteError>;

enum Task {
    Call(Job),
    /// A candidate waits from now on.
    Poll,
    Purge(Purge),
    Keys(Keys),
}

/// One request, or many renewals or looks.
struct Job {
    requests: Vec<(Key, Request)>,
    answer: oneshot::Sender<Answer>,
}

/// One step of a purge.
struct Purge {
    after: String,
    age: Duration,
    answer: oneshot::Sender<Result<Page, SqliteError>>,
}

/// One step of a listing.
struct Keys {
    after: String,
    answer: oneshot::Sender<Result<Listed, SqliteError>>,
}

/// The handle of the thread, which is started with the first task and ends with the last handle.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) config: SqliteConfig,
    pub(super) waiting: Arc<Waiting>,
    tasks: Mutex<Option<Sender<Task>>>,
}

impl Worker {
    pub(super) fn new(config: SqliteConfig) -> Self {
        Self { config, waiting: Arc::default(), tasks: Mutex::new(None) }
    }

    pub(super) async fn call(&self, requests: Vec<(Key, Request)>) -> Answer {
        let (answer, answered) = oneshot::channel();
        self.send(Task::Call(Job { requests, answer }))?;
        answered.await.unwrap_or(Err(SqliteError::NoThread))
    }

    /// Deletes the old ones of the next few rows after that key.
    pub(super) async fn purge(&self, after: String, age: Duration) -> Result<Page, SqliteError> {
        let (answer, answered) = oneshot::channel();
        self.send(Task::Purge(Purge { after, age, answer }))?;
        answered.await.unwrap_or(Err(SqliteError::NoThread))
    }

    /// The elections of the next few rows after that key.
    pub(super) async fn keys(&self, after: String) -> Result<Listed, SqliteError> {
        let (answer, answered) = oneshot::channel();
        self.send(Task::Keys(Keys { after, answer }))?;
        answered.await.unwrap_or(Err(SqliteError::NoThread))
    }

    /// Polls the file for waiting candidates. Without a thread they poll by themselves.
    pub(super) fn poll(&self) {
        if let Err(error) = self.send(Task::Poll) {
            logging::warn!(%error, "no wake-ups: waiting candidates poll");
        }
    }

    fn send(&self, mut task: Task) -> Result<(), SqliteError> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*tasks {
            match running.send(task) {
                Ok(()) => return Ok(()),
                // That thread is gone, and has not seen this task.
                Err(unsent) => task = unsent.0,
            }
        }
        let (started, queue) = channel();
        let mut file = File::new(self.config.clone(), Arc::clone(&self.waiting));
        thread::Builder::new()
            .name("tenure-sqlite".to_owned())
            .spawn(move || file.serve(&queue))
            .map_err(|_| SqliteError::NoThread)?;
        let sent = started.send(task).map_err(|_| SqliteError::NoThread);
        *tasks = Some(started);
        sent
    }
}

/// The state of the thread.
struct File {
    config: SqliteConfig,
    waiting: Arc<Waiting>,
    open: Option<Database>,
    poller: Poller,
    /// The marks seen by purges.
    watches: Watches<Key, Mark>,
    /// The thread's beginning, from which purges count.
    began: Instant,
    /// True if the rights of other users were checked.
    warned: bool,
}

impl File {
    fn new(config: SqliteConfig, waiting: Arc<Waiting>) -> Self {
        let (poller, watches) = (Poller::new(), Watches::default());
        Self { config, waiting, open: None, poller, watches, began: Instant::now(), warned: false }
    }

    /// Until the last handle is gone, one task at a time.
    fn serve(&mut self, tasks: &Receiver<Task>) {
        loop {
            let task = if self.waiting.is_empty() {
                tasks.recv().map_err(|RecvError| RecvTimeoutError::Disconnected)
            } else {
                tasks.recv_timeout(self.poller.pause())
            };
            match task {
                Ok(Task::Call(job)) => self.answer(job),
                Ok(Task::Purge(step)) => self.purge(step),
                Ok(Task::Keys(step)) => self.keys(step),
                Ok(Task::Poll) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if !self.waiting.is_empty() && self.poller.pause().is_zero() {
                self.poll();
            }
        }
    }

    fn answer(&mut self, Job { requests, answer }: Job) {
        let awaited = || !answer.is_closed();
        if !awaited() {
            return;
        }
        let outcome = database(&mut self.open, &self.config, &mut self.warned)
            .and_then(|database| step(database, &requests, awaited));
        match &outcome {
            Ok(replies) => {
                for ((key, _), reply) in requests.iter().zip(replies) {
                    // This connection's own writes do not change the version that it sees. An error
                    // is that of one election: the others go on.
                    if matches!(reply, Ok(Reply::Released)) {
                        self.waiting.wake(key);
                    }
                }
            }
            Err(error) => self.failed(error),
        }
        // For a caller that has given up, the outcome is unknown.
        let _ = answer.send(outcome);
    }

    fn purge(&mut self, Purge { after, age, answer }: Purge) {
        let awaited = || !answer.is_closed();
        if !awaited() {
            return;
        }
        let began = Instant::now();
        let outcome =
            database(&mut self.open, &self.config, &mut self.warned).and_then(|database| {
                let clock = || crate::Instant::ORIGIN + self.began.elapsed();
                purge(database, (&mut self.watches, clock), &after, age, awaited)
            });
        if let Err(error) = &outcome {
            self.failed(error);
        }
        let has_written = outcome.as_ref().is_ok_and(|page| page.deleted > 0);
        // For a caller that has given up, the outcome is unknown.
        let _ = answer.send(outcome);
        if has_written {
            // The lock is free for as long as it was taken: other processes must not miss it
            // between two steps.
            thread::sleep(began.elapsed().min(PURGE_PAUSE_MOST));
        }
    }

    fn keys(&mut self, Keys { after, answer }: Keys) {
        if answer.is_closed() {
            return;
        }
        let outcome = database(&mut self.open, &self.config, &mut self.warned)
            .and_then(|database| keys(database, &after));
        if let Err(error) = &outcome {
            self.failed(error);
        }
        // Its caller may have given up.
        let _ = answer.send(outcome);
    }

    fn poll(&mut self) {
        let polled = database(&mut self.open, &self.config, &mut self.warned)
            .and_then(|database| self.poller.poll(database, &self.waiting));
        if let Err(error) = polled {
            logging::debug!(%error, "the file could not be polled for waiting candidates");
            self.failed(&error);
        }
    }

    /// Closes the file after an error: the next task opens it again, which may be another file
    /// without a lease.
    fn failed(&mut self, error: &SqliteError) {
        if error.leaves_connection_usable() {
            return;
        }
        self.poller.failed();
        let was_open = self.open.take().is_some();
        if was_open && matches!(error, SqliteError::Replaced { .. }) {
            self.waiting.wake_all();
        }
    }
}

fn database<'a>(
    open: &'a mut Option<Database>,
    config: &SqliteConfig,
    warned: &mut bool,
) -> Result<&'a Database, SqliteError> {
    let database = match open.take() {
        Some(database) => database,
        None => Database::open(config)?,
    };
    if !*warned {
        rights::warn(config);
        *warned = true;
    }
    Ok(open.insert(database))
}
