//! The listeners in this process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;

use crate::store::watchers::{WatcherId, Watchers};
use crate::store::{Changes, Key};

/// A topic of the server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) enum Topic {
    /// Wake-ups for that election.
    Election(Key),
    /// Messages to its leader.
    Inbox(Key),
}

/// The most unread messages of a leader before it loses the oldest.
const BUFFER: usize = 64;

/// The most unwanted topics that wait for a connection.
const LEFT_MOST: usize = 1_000;

/// The listeners, and what has to be changed at the server.
pub(in crate::store) struct Table<T> {
    state: Mutex<State<T>>,
    /// Wakes the task that subscribes.
    pub(super) changed: Notify,
}

struct State<T> {
    watchers: Watchers,
    inboxes: BTreeMap<Key, broadcast::Sender<T>>,
    /// The topics that were added or removed since the task took them.
    touched: BTreeSet<Topic>,
    /// The task that subscribes; cancelled once it has ended.
    task: Option<CancellationToken>,
}

/// Topics of one kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) wanted: Vec<Topic>,
    pub(super) unwanted: Vec<Topic>,
}

impl<T: Clone> Table<T> {
    /// Hints the listeners to that election.
    pub(in crate::store) fn wake(&self, key: &Key) {
        self.state().watchers.wake(key);
    }

    /// True if anybody listens to hints of that election.
    #[cfg(feature = "kubernetes")]
    pub(in crate::store) fn watches(&self, key: &Key) -> bool {
        self.state().watchers.watches(key)
    }

    /// Hints all listeners to all that they watch: something may have been missed.
    #[cfg(feature = "fred")]
    pub(in crate::store) fn wake_all(&self) {
        self.state().watchers.wake_all();
    }

    /// Hands a message to the inboxes of that election.
    pub(in crate::store) fn say(&self, key: &Key, said: T) {
        if let Some(inboxes) = self.state().inboxes.get(key) {
            // Without a reader it is dropped.
            let _ = inboxes.send(said);
        }
    }

    /// True if anything is listened to.
    pub(in crate::store) fn wants_anything(&self) -> bool {
        self.state().wants_anything()
    }

    /// True if anything of that kind is listened to.
    #[cfg(feature = "postgres")]
    pub(in crate::store) fn wants_any(&self, like: &Topic) -> bool {
        let state = self.state();
        match like {
            Topic::Election(_) => !state.watchers.is_empty(),
            Topic::Inbox(_) => !state.inboxes.is_empty(),
        }
    }

    pub(super) fn join(&self) -> (WatcherId, Arc<Notify>) {
        self.state().watchers.join()
    }

    /// Returns the elections that are not watched any more.
    pub(super) fn update(&self, id: WatcherId, changes: Changes) -> Vec<Key> {
        let mut state = self.state();
        for key in changes.added {
            state.watchers.watch(id, &key);
            state.touched.insert(Topic::Election(key));
        }
        let mut unwatched = changes.removed;
        unwatched.retain(|key| state.watchers.unwatch(id, key));
        self.touch(state, &unwatched);
        unwatched
    }

    /// The same.
    pub(super) fn leave(&self, id: WatcherId) -> Vec<Key> {
        let mut state = self.state();
        let unwatched = state.watchers.leave(id);
        self.touch(state, &unwatched);
        unwatched
    }

    fn touch(&self, mut state: MutexGuard<'_, State<T>>, unwatched: &[Key]) {
        state.touched.extend(unwatched.iter().cloned().map(Topic::Election));
        drop(state);
        self.changed.notify_one();
    }

    /// The next hint for that watcher.
    pub(super) fn hint(&self, id: WatcherId) -> Option<Key> {
        self.state().watchers.hint(id)
    }

    pub(in crate::store) fn open(&self, key: &Key) -> broadcast::Receiver<T> {
        let mut state = self.state();
        let inboxes = state.inboxes.entry(key.clone());
        let reader = inboxes.or_insert_with(|| broadcast::Sender::new(BUFFER)).subscribe();
        state.touched.insert(Topic::Inbox(key.clone()));
        drop(state);
        self.changed.notify_one();
        reader
    }

    pub(super) fn close(&self, key: &Key, reader: broadcast::Receiver<T>) {
        let mut state = self.state();
        drop(reader);
        if state.inboxes.get(key).is_some_and(|inboxes| inboxes.receiver_count() == 0) {
            state.inboxes.remove(key);
            state.touched.insert(Topic::Inbox(key.clone()));
        }
        drop(state);
        self.changed.notify_one();
    }

    /// The task that subscribes. If there is none and something to do, `begin` gets a new one.
    pub(super) fn task(&self, begin: impl FnOnce(CancellationToken)) -> Option<CancellationToken> {
        let mut state = self.state();
        if state.task.is_none() && state.wants_anything() {
            let task = CancellationToken::new();
            state.task = Some(task.clone());
            drop(state);
            begin(task.clone());
            return Some(task);
        }
        state.task.clone()
    }

    /// The task has ended, by itself or with its runtime.
    pub(super) fn task_ended(&self, task: &CancellationToken) {
        let mut state = self.state();
        if !task.is_cancelled() {
            state.task = None;
            task.cancel();
        }
    }

    /// Ends the task unless there is something to listen to. There is no connection now.
    pub(super) fn is_over(&self, task: &CancellationToken) -> bool {
        let mut state = self.state();
        if state.wants_anything() {
            state.forget_left();
            return false;
        }
        state.touched.clear();
        state.task = None;
        task.cancel();
        true
    }

    /// There is a new connection: everything has to be subscribed to.
    pub(super) fn begin_anew(&self) {
        let mut state = self.state();
        let elections = state.watchers.keys().cloned().map(Topic::Election);
        let inboxes = state.inboxes.keys().cloned().map(Topic::Inbox);
        state.touched = elections.chain(inboxes).collect();
    }

    /// Puts topics back whose subscription was refused.
    pub(super) fn put_back(&self, topics: &BTreeSet<Topic>) {
        self.state().touched.extend(topics.iter().cloned());
    }

    /// Takes the next topics, at most so many.
    pub(super) fn batch(&self, most: usize) -> Batch {
        let mut state = self.state();
        let mut batch = Batch::default();
        while let Some(topic) = state.touched.first()
            && batch.fits(topic, most)
            && let Some(topic) = state.touched.pop_first()
        {
            let of_it = if state.wants(&topic) { &mut batch.wanted } else { &mut batch.unwanted };
            of_it.push(topic);
        }
        batch
    }

    /// Hints the elections that the server has subscribed to: to all who watch them, or, if it had
    /// done so before, to those who are new.
    pub(super) fn subscribed(&self, topics: &[Topic], is_new: bool) {
        let mut state = self.state();
        for topic in topics {
            match topic {
                Topic::Election(key) => {
                    state.watchers.begins(key);
                    if is_new {
                        state.watchers.wake(key);
                    }
                }
                Topic::Inbox(_) => {}
            }
        }
    }

    /// The number of topics for the task.
    #[cfg(test)]
    pub(super) fn touched(&self) -> usize {
        self.state().touched.len()
    }

    /// True if nothing is left.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let state = self.state();
        !state.wants_anything() && state.touched.is_empty() && state.task.is_none()
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        // No step panics half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn wants_anything(&self) -> bool {
        !self.watchers.is_empty() || !self.inboxes.is_empty()
    }

    /// Without a connection there is no subscription to end. Otherwise each election that is left
    /// in an outage would leave its topic until the end of that.
    fn forget_left(&mut self) {
        let wanted = self.watchers.len() + self.inboxes.len();
        if self.touched.len() > LEFT_MOST + 2 * wanted {
            let mut touched = std::mem::take(&mut self.touched);
            touched.retain(|topic| self.wants(topic));
            self.touched = touched;
        }
    }

    fn wants(&self, topic: &Topic) -> bool {
        match topic {
            Topic::Election(key) => self.watchers.is_watched(key),
            Topic::Inbox(key) => self.inboxes.contains_key(key),
        }
    }
}

impl Batch {
    fn fits(&self, topic: &Topic, most: usize) -> bool {
        let Some(first) = self.wanted.first().or(self.unwanted.first()) else { return true };
        let is_same = std::mem::discriminant(first) == std::mem::discriminant(topic);
        is_same && self.wanted.len() + self.unwanted.len() < most
    }

    pub(super) fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty()
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        let state = State {
            watchers: Watchers::default(),
            inboxes: BTreeMap::new(),
            touched: BTreeSet::new(),
            task: None,
        };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }
}
