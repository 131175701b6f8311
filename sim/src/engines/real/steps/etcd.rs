//! The steps of an etcd cluster, from a watch on the keys of the election at each of its members.
//!
//! Each watch shows the same changes, and the first one that shows a revision counts. So a member may be killed, and its
//! watch begins again where the others are; or it may be paused, and its watch comes late.
//!
//! A watch shows the record, its lease's key and the past: grants, releases, ends of leases and stamps, in the order in
//! which they happened, and neither renewals nor refusals. It has no times: each change is as old as its arrival here, at
//! the most. Where a candidate had the answer sooner, the change is as old as that, and no change is younger than the one
//! after it. A lease that the server has ended ended when its key was deleted; the end of any other is not known.

mod key;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use etcd_client::{Client, EventType, WatchOptions};
use tenure_servers::{EtcdServer, ServerError};

use super::{Answers, Past, Record, Stamped, Step, Steps};
use crate::engines::real::clock::wall_clock;
use crate::trace::{Answer, Asked};
use key::{LEADER, MARK, PAST, PREFIX, RECORD};

/// The watch shows a change that was just made well within this time.
const SHOWN_WITHIN: Duration = Duration::from_secs(10);
/// A watch that has ended begins again after that time.
const BEGINS_AGAIN: Duration = Duration::from_millis(10);
/// The end of a lease whose end is not known, in microseconds.
const NO_END: u64 = u64::MAX / 2_000;

/// The observer of a cluster.
#[derive(Debug, Default)]
pub(in super::super) struct Watch {
    state: Arc<Mutex<State>>,
    readers: Vec<JoinHandle<()>>,
    /// Whether the readers end with the servers that they watch.
    ends: Arc<AtomicBool>,
}

/// What the watch has shown so far.
#[derive(Debug, Default)]
struct State {
    changes: Vec<Change>,
    /// The revision of the last change that was shown.
    revision: i64,
    server: u32,
    record: Option<Record>,
    /// Whether the key of its lease was deleted, at the last revision that was shown.
    has_ended: bool,
    past: Past,
    stamped: Vec<Stamped>,
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
    Granted(Record),
    Released(Record),
    /// Its key was deleted, and it was not handed back.
    Ended(Record),
}

impl What {
    const fn record(self) -> Record {
        match self {
            Self::Granted(record) | Self::Released(record) | Self::Ended(record) => record,
        }
    }
}

impl Watch {
    /// Begins to watch the members behind these ports, or goes on after the last change that was seen.
    pub(in super::super) fn attach(&mut self, ports: &[u16]) -> Result<(), ServerError> {
        self.ends = Arc::default();
        lock(&self.state).failed = None;
        let (began, begins) = mpsc::channel();
        for &port in ports {
            let (state, ends, began) =
                (Arc::clone(&self.state), Arc::clone(&self.ends), began.clone());
            self.readers.push(thread::spawn(move || reads(port, &state, &ends, &began)));
        }
        let mut waits: Vec<_> = ports.to_vec();
        while let Some(&port) = waits.first() {
            let Ok(began) = begins.recv_timeout(SHOWN_WITHIN) else {
                let failed = lock(&self.state).failed.clone().unwrap_or_default();
                let detail = format!("no watch begins within {SHOWN_WITHIN:?}: {failed}");
                return Err(ServerError::Protocol { port, detail });
            };
            waits.retain(|&port| port != began);
        }
        Ok(())
    }

    /// The servers are about to be killed: no watch begins again.
    pub(in super::super) fn ends(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }

    /// The servers have been killed: waits until the watches have ended.
    pub(in super::super) fn detach(&mut self) {
        for reader in self.readers.drain(..) {
            // A panic of the reader has been printed.
            let _ = reader.join();
        }
    }

    /// A server without data takes the place of the old one. Returns whether a record is lost.
    pub(in super::super) fn is_replaced(&mut self) -> bool {
        let mut state = lock(&self.state);
        state.server += 1;
        (state.revision, state.past) = (0, Past::default());
        state.record.take().is_some()
    }

    /// Waits until the watch has shown everything that the server has carried out.
    pub(in super::super) fn shows_all(&self, server: &EtcdServer) -> Result<(), ServerError> {
        let marks = lock(&self.state).marks;
        let began = Instant::now();
        // It is refused while the members elect a leader.
        let mut marked = server.api("kv/put", &key::marking());
        while lock(&self.state).marks == marks {
            if began.elapsed() > SHOWN_WITHIN {
                marked?;
                let detail = "the watch has ended, or is far behind".to_owned();
                return Err(ServerError::Protocol { port: server.port(), detail });
            }
            thread::sleep(Duration::from_millis(1));
            if marked.is_err() {
                marked = server.api("kv/put", &key::marking());
            }
        }
        Ok(())
    }

    /// All steps, by what candidates know of their times.
    pub(in super::super) fn steps(&self, answers: &Answers) -> Steps {
        let mut state = lock(&self.state);
        let all = steps(std::mem::take(&mut state.changes), answers);
        Steps { all, stamped: std::mem::take(&mut state.stamped), has_gaps: true }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ends();
    }
}

/// Watches a member, again and again, until no watch is to begin any more.
fn reads(port: u16, state: &Mutex<State>, ends: &AtomicBool, began: &Sender<u16>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            lock(state).failed = Some(error.to_string());
            return;
        }
    };
    while !ends.load(Ordering::Relaxed) {
        // A member that was killed has ended the watch.
        if let Err(error) = runtime.block_on(watch(port, state, began)) {
            lock(state).failed = Some(format!("port {port}: {error}"));
        }
        thread::sleep(BEGINS_AGAIN);
    }
}

/// Watches until the member ends the watch.
async fn watch(
    port: u16,
    state: &Mutex<State>,
    began: &Sender<u16>,
) -> Result<(), etcd_client::Error> {
    let mut client = Client::connect([format!("127.0.0.1:{port}")], None).await?;
    let from = lock(state).revision + 1;
    let options = WatchOptions::new().with_prefix().with_start_revision(from);
    let mut stream = client.watch(PREFIX, Some(options)).await?;
    // The first message says that the server watches.
    stream.message().await?;
    // The receiver waits for the first time alone.
    let _ = began.send(port);
    while let Some(message) = stream.message().await? {
        let at = wall_clock();
        let events = message.events().iter().filter_map(|event| {
            let pair = event.kv()?;
            let value = (event.event_type() == EventType::Put).then(|| pair.value().to_vec());
            Some(KeyChange { revision: pair.mod_revision(), key: pair.key().to_vec(), value })
        });
        lock(state).shows(at, &events.collect::<Vec<_>>());
    }
    Ok(())
}

/// A key was written, or deleted.
#[derive(Clone, Debug)]
struct KeyChange {
    revision: i64,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

impl State {
    /// A member has shown these changes. It shows all changes of a revision at once, and another member may have shown some
    /// revisions before.
    fn shows(&mut self, at: u64, events: &[KeyChange]) {
        let before = self.revision;
        for KeyChange { revision, key, value } in events {
            if *revision <= before {
                continue;
            }
            if *revision > self.revision {
                self.transaction_ended(at);
            }
            self.revision = *revision;
            self.shown(at, key, value.as_deref());
        }
        self.transaction_ended(at);
    }

    /// A key was written, or deleted.
    fn shown(&mut self, at: u64, key: &[u8], value: Option<&[u8]>) {
        match (key, value) {
            (RECORD, Some(value)) => match key::record(value, self.revision) {
                Some(record) => self.record_is(at, record),
                None => self.is_wrong(value),
            },
            (PAST, Some(value)) => match key::past(value) {
                Some(past) => self.stamped.extend(self.past.becomes(at, past, self.server)),
                None => self.is_wrong(value),
            },
            (LEADER, value) => self.has_ended = value.is_none(),
            (MARK, _) => self.marks += 1,
            _ => {}
        }
    }

    fn is_wrong(&mut self, value: &[u8]) {
        let why = format!("{} is neither a record nor a past", String::from_utf8_lossy(value));
        self.failed = Some(why);
    }

    fn record_is(&mut self, at: u64, record: Record) {
        let before = self.record.replace(record);
        let what = match before.filter(|before| before.token == record.token) {
            None => What::Granted(record),
            Some(before) if record.released && !before.released => What::Released(record),
            // It was granted again, or tells more of its holder.
            Some(_) => return,
        };
        self.changes.push(Change { at, server: self.server, what });
    }

    /// All changes of a revision are known: a key that was deleted alone was deleted by the server.
    fn transaction_ended(&mut self, at: u64) {
        if std::mem::take(&mut self.has_ended)
            && let Some(record) = self.record.filter(|record| !record.released)
        {
            self.changes.push(Change { at, server: self.server, what: What::Ended(record) });
        }
    }
}

/// The steps of these changes.
fn steps(mut changes: Vec<Change>, answers: &Answers) -> Vec<Step> {
    let mut latest = u64::MAX;
    for change in changes.iter_mut().rev() {
        let answered = match change.what {
            What::Granted(record) => answers.granted(record.token),
            What::Released(record) => answers.released(record.token),
            What::Ended(_) => None,
        };
        latest = change.at.min(answered.unwrap_or(u64::MAX)).min(latest);
        change.at = latest;
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut kept: Option<Record> = None;
    // The mark of a lease that the server has ended: it has watched in a candidate's stead.
    let mut ended = None;
    let mut server = 0;
    for (place, Change { at, server: by, what }) in changes.iter().copied().enumerate() {
        if by != server {
            (server, kept, ended) = (by, None, None);
        }
        let before = kept;
        let record = what.record();
        let (request, answer, after) = match what {
            What::Granted(Record { token, .. }) => {
                let ends = changes[place + 1..].iter().find_map(|change| match change.what {
                    What::Ended(record) if record.token == token => Some(change.at),
                    What::Ended(_) | What::Granted(_) | What::Released(_) => None,
                });
                let after =
                    Record { marked_at: at, ends_at: Some(ends.unwrap_or(NO_END)), ..record };
                let seen = before.map_or(0, |before| before.token);
                let asks = Asked::Acquire { seen, watched: ended.take() };
                (asks, Answer::Granted { token }, Some(after))
            }
            What::Released(Record { token, .. }) => {
                let after = before.map(|before| Record { released: true, ..before });
                (Asked::Release { token }, Answer::Released, after)
            }
            What::Ended(_) => {
                ended = before.map(|before| before.mark());
                continue;
            }
        };
        kept = after;
        let holder = record.holder;
        steps.push(Step { at, holder, request, answer, before, after, server });
    }
    steps
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
