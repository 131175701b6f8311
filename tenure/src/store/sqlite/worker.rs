//! The thread that owns the connection: SQLite's calls block, for as long as a disk takes.
//!
//! Requests are carried out one after the other, in the order of their calls. One whose caller has
//! given up before its turn is not carried out at all. One that was under way then is *unknown*, like
//! any other; it can be neither stopped nor mistaken for another, so the connection stays.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use super::database::Database;
use super::step::step;
use super::time::Clocks;
use super::{SqliteConfig, SqliteError};
use crate::store::{Key, Reply, Request};

type Answer = Result<Reply, SqliteError>;

struct Job {
    key: Key,
    request: Request,
    answer: oneshot::Sender<Answer>,
}

/// The way to the thread, which is started with the first request and ends with the last handle.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) config: SqliteConfig,
    jobs: Mutex<Option<Sender<Job>>>,
}

impl Worker {
    pub(super) fn new(config: SqliteConfig) -> Self {
        Self { config, jobs: Mutex::new(None) }
    }

    pub(super) async fn call(&self, key: &Key, request: Request) -> Answer {
        let (answer, answered) = oneshot::channel();
        self.send(Job { key: key.clone(), request, answer })?;
        answered.await.unwrap_or(Err(SqliteError::NoThread))
    }

    fn send(&self, mut job: Job) -> Result<(), SqliteError> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*jobs {
            match running.send(job) {
                Ok(()) => return Ok(()),
                // That thread is gone, and has not seen this job.
                Err(unsent) => job = unsent.0,
            }
        }
        let (started, queue) = channel();
        let config = self.config.clone();
        thread::Builder::new()
            .name("tenure-sqlite".to_owned())
            .spawn(move || serve(&config, &queue))
            .map_err(|_| SqliteError::NoThread)?;
        let sent = started.send(job).map_err(|_| SqliteError::NoThread);
        *jobs = Some(started);
        sent
    }
}

/// Until the last handle is gone, one request at a time.
fn serve(config: &SqliteConfig, jobs: &Receiver<Job>) {
    let mut open = None;
    for Job { key, request, answer } in jobs {
        let awaited = || !answer.is_closed();
        if !awaited() {
            continue;
        }
        let outcome = database(&mut open, config)
            .and_then(|database| step(database, Clocks::read, &key, &request, awaited));
        if outcome.as_ref().is_err_and(|error| !error.leaves_connection_usable()) {
            // Whatever went wrong, the next request begins with an open file.
            open = None;
        }
        // A caller that has gone has been told nothing, which is what it believes.
        let _ = answer.send(outcome);
    }
}

fn database<'a>(
    open: &'a mut Option<Database>,
    config: &SqliteConfig,
) -> Result<&'a Database, SqliteError> {
    match open {
        Some(database) => Ok(database),
        None => Ok(open.insert(Database::open(config)?)),
    }
}
