//! The steps of an etcd cluster, from a watch on the keys of the election.
//!
//! A watch shows grants and ends of leases in the order in which they happened, and neither renewals nor refusals. It has
//! no times: each change is as old as its arrival here, at the most. Where a candidate had the answer sooner, the change
//! is as old as that, and no change is younger than the one after it. A lease that has ended by itself ended when its key
//! was deleted; one that a candidate handed back, or that has not ended, has no end that is known.

mod key;

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use etcd_client::{Client, EventType, WatchOptions};
use tenure_servers::{EtcdServer, ServerError};

use super::{Answers, Record, Step};
use crate::engines::real::clock::wall_clock;
use crate::trace::{Answer, Asked};
use key::{LEADER, Leader, MARK, PREFIX, QUARANTINE};

/// The watch shows a change that was just made well within this time.
const SHOWN_WITHIN: Duration = Duration::from_secs(10);
/// The end of a lease whose end is not known, in microseconds.
const NO_END: u64 = u64::MAX / 2_000;

/// The observer of a cluster.
#[derive(Debug, Default)]
pub(in super::super) struct Watch {
    state: Arc<Mutex<State>>,
    reader: Option<JoinHandle<()>>,
}

/// What the watch has shown so far.
#[derive(Debug, Default)]
struct State {
    changes: Vec<Change>,
    /// The revision of the last event.
    revision: i64,
    server: u32,
    holds: Option<Leader>,
    has_quarantine: bool,
    /// Whether a token was granted by the present server.
    has_granted: bool,
    marks: u32,
    failed: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    /// The wall clock in microseconds when it arrived.
    at: u64,
    server: u32,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Granted {
        leader: Leader,
        waits: bool,
    },
    /// Its key was deleted.
    Ended {
        leader: Leader,
    },
}

impl Watch {
    /// Begins to watch a server that has just started, or goes on after the last change that was seen.
    pub(in super::super) fn attach(&mut self, server: &EtcdServer) -> Result<(), ServerError> {
        let (port, state) = (server.port(), Arc::clone(&self.state));
        let (began, begins) = mpsc::channel();
        self.reader = Some(thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let watched = runtime
                .map_err(etcd_client::Error::from)
                .and_then(|runtime| runtime.block_on(watch(port, &state, began)));
            // A server that was killed has ended the watch.
            lock(&state).failed = watched.err().map(|error| error.to_string());
        }));
        let failed = || lock(&self.state).failed.clone().unwrap_or_default();
        begins
            .recv_timeout(SHOWN_WITHIN)
            .map_err(|_| ServerError::Protocol { port, detail: failed() })
    }

    /// The server has been killed: waits until the watch has ended.
    pub(in super::super) fn detach(&mut self) {
        if let Some(reader) = self.reader.take() {
            // A panic of the reader has been printed.
            let _ = reader.join();
        }
    }

    /// A server without data takes the place of the old one. Returns whether a record is lost.
    pub(in super::super) fn is_replaced(&mut self) -> bool {
        let mut state = lock(&self.state);
        state.server += 1;
        (state.revision, state.holds, state.has_quarantine) = (0, None, false);
        std::mem::take(&mut state.has_granted)
    }

    /// Waits until the watch has shown everything that the server has carried out.
    pub(in super::super) fn shows_all(&self, server: &EtcdServer) -> Result<(), ServerError> {
        let marks = lock(&self.state).marks;
        server.api("kv/put", &key::marking())?;
        let began = Instant::now();
        while lock(&self.state).marks == marks {
            if began.elapsed() > SHOWN_WITHIN {
                let detail = "the watch has ended, or is far behind".to_owned();
                return Err(ServerError::Protocol { port: server.port(), detail });
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// All steps, by what candidates know of their times.
    pub(in super::super) fn steps(&self, answers: &Answers) -> Vec<Step> {
        steps(std::mem::take(&mut lock(&self.state).changes), answers)
    }
}

/// Watches until the server ends the watch.
async fn watch(
    port: u16,
    state: &Mutex<State>,
    began: Sender<()>,
) -> Result<(), etcd_client::Error> {
    let mut client = Client::connect([format!("127.0.0.1:{port}")], None).await?;
    let from = lock(state).revision + 1;
    let options = WatchOptions::new().with_prefix().with_start_revision(from);
    let mut stream = client.watch(PREFIX, Some(options)).await?;
    // The first message says that the server watches.
    stream.message().await?;
    // The receiver may have given up.
    let _ = began.send(());
    while let Some(message) = stream.message().await? {
        let at = wall_clock();
        let mut state = lock(state);
        for event in message.events() {
            if let Some(pair) = event.kv() {
                let is_put = event.event_type() == EventType::Put;
                state.shown(at, pair.key(), is_put.then(|| pair.value()), pair.create_revision());
                state.revision = pair.mod_revision();
            }
        }
        state.transaction_ended();
    }
    Ok(())
}

impl State {
    /// A key was written, or deleted.
    fn shown(&mut self, at: u64, key: &[u8], value: Option<&[u8]>, created: i64) {
        match (key, value) {
            (LEADER, Some(value)) => {
                let Some(leader) = Leader::read(value, created) else {
                    self.failed = Some(format!("{} is no lease", String::from_utf8_lossy(value)));
                    return;
                };
                // A renewal with another TTL writes the same tenure again.
                if self.holds.replace(leader) != Some(leader) {
                    self.has_granted = true;
                    let what = What::Granted { leader, waits: self.has_quarantine };
                    self.changes.push(Change { at, server: self.server, what });
                }
            }
            (LEADER, None) => {
                if let Some(leader) = self.holds.take() {
                    let what = What::Ended { leader };
                    self.changes.push(Change { at, server: self.server, what });
                }
            }
            (QUARANTINE, value) => self.has_quarantine = value.is_some(),
            (MARK, _) => self.marks += 1,
            _ => {}
        }
    }

    /// A grant may have begun the quarantine itself.
    fn transaction_ended(&mut self) {
        if let Some(Change { what: What::Granted { waits, .. }, .. }) = self.changes.last_mut() {
            *waits |= self.has_quarantine;
        }
    }
}

/// The steps of these changes.
fn steps(mut changes: Vec<Change>, answers: &Answers) -> Vec<Step> {
    let mut latest = u64::MAX;
    for change in changes.iter_mut().rev() {
        let answered = match change.what {
            What::Granted { leader, .. } => answers.granted(leader.token),
            What::Ended { leader } => answers.released(leader.token),
        };
        latest = change.at.min(answered.unwrap_or(u64::MAX)).min(latest);
        change.at = latest;
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut record = None;
    let mut server = 0;
    for (place, Change { at, server: by, what }) in changes.iter().copied().enumerate() {
        if by != server {
            (server, record) = (by, None);
        }
        let before = record;
        let (holder, request, answer, after) = match what {
            What::Granted { leader: Leader { token, holder }, waits } => {
                let seen = before.map_or(0, |before: Record| before.token);
                let waits = answers.waits(token).unwrap_or(waits);
                let ends = changes[place + 1..].iter().find_map(|change| match change.what {
                    What::Ended { leader } if leader.token == token => Some(change.at),
                    What::Ended { .. } | What::Granted { .. } => None,
                });
                let lease_end = ends.filter(|_| !answers.was_asked_for(token)).unwrap_or(NO_END);
                let after = Record { token, holder, lease_end, ..Record::default() };
                (holder, Asked::Acquire { seen }, Answer::Granted { token, waits }, after)
            }
            What::Ended { leader: Leader { token, holder } } => {
                let Some(before) = before else { continue };
                let after = Record { released: true, ..before };
                if !answers.was_asked_for(token) {
                    continue;
                }
                (holder, Asked::Release { token }, Answer::Released, after)
            }
        };
        record = Some(after);
        let after = record;
        steps.push(Step { at, now: at, holder, request, answer, before, after, server });
    }
    steps
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
