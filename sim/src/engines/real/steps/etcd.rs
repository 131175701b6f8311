//! The steps of an etcd cluster, from a watch on the keys of the election at each of its members.
//!
//! Each watch shows the same changes, and the first one that shows a revision counts. So a member may be killed, and its
//! watch begins again where the others are; or it may be paused, and its watch comes late.
//!
//! A watch shows grants and ends of leases in the order in which they happened, and neither renewals nor refusals. It has
//! no times: each change is as old as its arrival here, at the most. Where a candidate had the answer sooner, the change
//! is as old as that, and no change is younger than the one after it. A lease that has ended by itself ended when its key
//! was deleted; one that a candidate handed back, or that has not ended, has no end that is known.

mod key;

use std::sync::atomic::{AtomicBool, Ordering};
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
        (state.revision, state.holds, state.has_quarantine) = (0, None, false);
        std::mem::take(&mut state.has_granted)
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
    pub(in super::super) fn steps(&self, answers: &Answers) -> Vec<Step> {
        steps(std::mem::take(&mut lock(&self.state).changes), answers)
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
            let key = pair.key().to_vec();
            Some(KeyChange {
                revision: pair.mod_revision(),
                key,
                value,
                created: pair.create_revision(),
            })
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
    /// The key's create revision.
    created: i64,
}

impl State {
    /// A member has shown these changes. It shows all changes of a revision at once, and another member may have shown some
    /// revisions before.
    fn shows(&mut self, at: u64, events: &[KeyChange]) {
        let before = self.revision;
        for KeyChange { revision, key, value, created } in events {
            if *revision > before {
                self.shown(at, key, value.as_deref(), *created);
                self.revision = *revision;
            }
        }
        self.transaction_ended();
    }

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
            What::Granted { leader: Leader { token, holder }, .. } => {
                let seen = before.map_or(0, |before: Record| before.token);
                let ends = changes[place + 1..].iter().find_map(|change| match change.what {
                    What::Ended { leader } if leader.token == token => Some(change.at),
                    What::Ended { .. } | What::Granted { .. } => None,
                });
                let ends_at = ends.filter(|_| answers.asked_for(token).is_none());
                let ends_at = Some(ends_at.unwrap_or(NO_END));
                let after = Record { token, holder, ends_at, ..Record::default() };
                (holder, Asked::Acquire { seen, watched: None }, Answer::Granted { token }, after)
            }
            What::Ended { leader: Leader { token, holder } } => {
                let Some(before) = before else { continue };
                let after = Record { released: true, ..before };
                if answers.asked_for(token).is_none() {
                    continue;
                }
                (holder, Asked::Release { token }, Answer::Released, after)
            }
        };
        record = Some(after);
        let after = record;
        steps.push(Step { at, holder, request, answer, before, after, server });
    }
    steps
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
