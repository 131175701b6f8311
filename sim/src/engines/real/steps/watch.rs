//! A watch on keys of an etcd, at each of its members.
//!
//! Each watch shows the same changes, and the first one that shows a revision counts. So a member
//! may be killed, and its watch begins again where the others are; or it may be paused, and its
//! watch comes late. A watch has no times: each change is as old as its arrival here, at the most.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use etcd_client::{Client, EventType, WatchOptions};
use serde_json::json;
use tenure_servers::{EtcdServer, ServerError};

use super::{Answers, Steps};
use crate::engines::real::clock::wall_clock;

/// The watch shows a change that was just made well within this time.
const SHOWN_WITHIN: Duration = Duration::from_secs(10);
/// A watch that has ended begins again after that time.
const BEGINS_AGAIN: Duration = Duration::from_millis(10);

/// The content of a store's keys.
pub(in super::super) trait Keys: Default + Send + 'static {
    /// All keys begin with it.
    const PREFIX: &'static [u8];
    /// A key that the observer alone writes: the watch has shown all that came before.
    const MARK: &'static [u8];
    /// The mark in base 64, as etcd's JSON gateway takes it.
    const MARK_IN_BASE_64: &'static str;

    /// A key was written, or deleted.
    ///
    /// # Errors
    /// What is wrong with its value.
    fn shown(&mut self, at: u64, change: &KeyChange) -> Result<(), String>;

    /// All changes of a revision are known.
    fn revision_ended(&mut self, _at: u64) {}

    /// A server without data takes the place of the old one. Returns whether a record is to be
    /// lost.
    fn are_lost(&mut self) -> bool;

    /// True if there is a record of the election.
    fn has_a_record(&self) -> bool;

    /// All steps, by what candidates know of their times.
    fn steps(&mut self, answers: &Answers) -> Steps;
}

/// A key was written, or deleted.
#[derive(Clone, Debug)]
pub(in super::super) struct KeyChange {
    pub(super) revision: i64,
    pub(super) key: Vec<u8>,
    pub(super) value: Option<Vec<u8>>,
}

/// The observer of a cluster.
#[derive(Debug, Default)]
pub(in super::super) struct Watch<K> {
    state: Arc<Mutex<State<K>>>,
    readers: Vec<JoinHandle<()>>,
    /// True if the readers end with the servers that they watch.
    ends: Arc<AtomicBool>,
}

/// The state of the watch so far.
#[derive(Debug, Default)]
pub(super) struct State<K> {
    pub(super) keys: K,
    /// The revision of the last change that was shown.
    pub(super) revision: i64,
    marks: u32,
    pub(super) failed: Option<String>,
}

impl<K: Keys> Watch<K> {
    /// Begins to watch the members behind these ports, or goes on after the last change that was
    /// seen.
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

    /// A server without data takes the place of the old one: all that it has is shown anew. Returns
    /// whether a record is to be lost.
    pub(in super::super) fn is_replaced(&mut self) -> bool {
        let mut state = lock(&self.state);
        state.revision = 0;
        state.keys.are_lost()
    }

    /// Waits until the watch has shown everything that the server has carried out.
    pub(in super::super) fn shows_all(&self, server: &EtcdServer) -> Result<(), ServerError> {
        let marks = lock(&self.state).marks;
        let began = Instant::now();
        let marking = json!({ "key": K::MARK_IN_BASE_64, "value": "" }).to_string();
        // It is refused while the members elect a leader.
        let mut marked = server.api("kv/put", &marking);
        while lock(&self.state).marks == marks {
            if began.elapsed() > SHOWN_WITHIN {
                marked?;
                let detail = "the watch has ended, or is far behind".to_owned();
                return Err(ServerError::Protocol { port: server.port(), detail });
            }
            thread::sleep(Duration::from_millis(1));
            if marked.is_err() {
                marked = server.api("kv/put", &marking);
            }
        }
        Ok(())
    }

    /// Asks what the keys say.
    pub(in super::super) fn keys<T>(&self, ask: impl FnOnce(&mut K) -> T) -> T {
        ask(&mut lock(&self.state).keys)
    }
}

impl<K> Drop for Watch<K> {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

/// Watches a member, again and again, until no watch is to begin any more.
fn reads<K: Keys>(port: u16, state: &Mutex<State<K>>, ends: &AtomicBool, began: &Sender<u16>) {
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
async fn watch<K: Keys>(
    port: u16,
    state: &Mutex<State<K>>,
    began: &Sender<u16>,
) -> Result<(), etcd_client::Error> {
    let mut client = Client::connect([format!("127.0.0.1:{port}")], None).await?;
    let from = lock(state).revision + 1;
    let options = WatchOptions::new().with_prefix().with_start_revision(from);
    let mut stream = client.watch(K::PREFIX, Some(options)).await?;
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

impl<K: Keys> State<K> {
    /// A member has shown these changes. It shows all changes of a revision at once, and another
    /// member may have shown some revisions before.
    pub(super) fn shows(&mut self, at: u64, changes: &[KeyChange]) {
        let before = self.revision;
        for change in changes {
            if change.revision <= before {
                continue;
            }
            if change.revision > self.revision {
                self.keys.revision_ended(at);
            }
            self.revision = change.revision;
            if change.key == K::MARK {
                self.marks += 1;
            } else if let Err(why) = self.keys.shown(at, change) {
                self.failed = Some(why);
            }
        }
        self.keys.revision_ended(at);
    }
}

fn lock<K>(state: &Mutex<State<K>>) -> MutexGuard<'_, State<K>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
