//! The elections whose wake-ups are wanted, as they change.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::Key;

/// Says to a store whose wake-ups are wanted. The store has the other half, [`Watched`].
#[derive(Debug)]
pub(crate) struct Interest(Arc<Shared>);

/// The elections whose wake-ups a store is to pass on, as they change.
#[derive(Debug)]
pub struct Watched {
    shared: Arc<Shared>,
    /// The half that does not change, for a set that never does.
    _fixed: Option<Interest>,
}

/// The changes since the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// Watched from now on, in order. May name an election that was watched already.
    pub added: Vec<Key>,
    /// No longer watched, in order. May name an election that never was.
    pub removed: Vec<Key>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    keys: BTreeSet<Key>,
    /// Added or removed, and not reported yet.
    touched: BTreeSet<Key>,
    is_over: bool,
}

impl Interest {
    /// Both halves. No election is watched yet.
    pub(crate) fn new() -> (Self, Watched) {
        let shared = Arc::new(Shared::default());
        (Self(Arc::clone(&shared)), Watched { shared, _fixed: None })
    }

    /// Wants the wake-ups of that election.
    pub(crate) fn add(&self, key: &Key) {
        let mut state = self.0.state();
        if state.keys.insert(key.clone()) {
            self.touches(&mut state, key);
        }
    }

    /// No longer wants them. Some may still come.
    pub(crate) fn remove(&self, key: &Key) {
        let mut state = self.0.state();
        if state.keys.remove(key) {
            self.touches(&mut state, key);
        }
    }

    #[cfg(test)]
    pub(crate) fn remembers(&self) -> usize {
        let state = self.0.state();
        state.keys.len() + state.touched.len()
    }

    /// Notes a change, unless nobody will ask for it: many stores pass no wake-ups on.
    fn touches(&self, state: &mut State, key: &Key) {
        if Arc::strong_count(&self.0) == 1 {
            state.touched.clear();
            return;
        }
        state.touched.insert(key.clone());
        self.0.changed.notify_one();
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        self.0.state().is_over = true;
        self.0.changed.notify_one();
    }
}

impl Watched {
    /// These elections, for ever.
    pub fn only(keys: impl IntoIterator<Item = Key>) -> Self {
        let (interest, watched) = Interest::new();
        for key in keys {
            interest.add(&key);
        }
        Self { _fixed: Some(interest), ..watched }
    }

    /// Waits until elections are added or removed, and returns all that were since the last time;
    /// at first, all that are watched. `None` once nothing is wanted any more: the stream of hints
    /// may end then.
    ///
    /// No change is lost if this future is dropped.
    pub async fn changed(&mut self) -> Option<Changes> {
        loop {
            {
                let mut state = self.shared.state();
                if state.is_over {
                    return None;
                }
                let touched = std::mem::take(&mut state.touched);
                if !touched.is_empty() {
                    let (added, removed) =
                        touched.into_iter().partition(|key| state.keys.contains(key));
                    return Some(Changes { added, removed });
                }
            }
            self.shared.changed.notified().await;
        }
    }

    /// True if that election is watched.
    pub fn contains(&self, key: &Key) -> bool {
        self.shared.state().keys.contains(key)
    }

    /// All that are watched, in order: what to subscribe to over a new connection, and then to
    /// hint.
    pub fn keys(&self) -> Vec<Key> {
        self.shared.state().keys.iter().cloned().collect()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // No step panics half way, so a poisoned set is intact.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn keys(names: &[&str]) -> Vec<Key> {
        names.iter().map(|name| Key::new(name).unwrap()).collect()
    }

    fn changes(added: &[&str], removed: &[&str]) -> Changes {
        Changes { added: keys(added), removed: keys(removed) }
    }

    fn now(watched: &mut Watched) -> Option<Changes> {
        watched.changed().now_or_never().flatten()
    }

    #[test]
    fn changes_are_reported_once_in_order() {
        let (interest, mut watched) = Interest::new();
        assert_eq!(watched.changed().now_or_never(), None);
        for key in keys(&["b", "a", "c"]) {
            interest.add(&key);
        }
        assert_eq!(now(&mut watched), Some(changes(&["a", "b", "c"], &[])));
        for key in keys(&["a", "b"]) {
            interest.add(&key);
        }
        assert_eq!(watched.changed().now_or_never(), None, "nothing new");
        let [a, b, d] = &keys(&["a", "b", "d"])[..] else { panic!() };
        interest.remove(a);
        interest.add(d);
        interest.remove(b);
        interest.add(b);
        assert_eq!(now(&mut watched), Some(changes(&["b", "d"], &["a"])));
        assert_eq!(watched.keys(), keys(&["b", "c", "d"]));
        assert!(watched.contains(b) && !watched.contains(a));
        drop(interest);
        assert_eq!(watched.changed().now_or_never(), Some(None));
    }

    #[test]
    fn a_waiting_store_is_woken() {
        let (interest, mut watched) = Interest::new();
        let [a] = &keys(&["a"])[..] else { panic!() };
        {
            let mut waits = Box::pin(watched.changed());
            assert!((&mut waits).now_or_never().is_none());
            interest.add(a);
            assert_eq!(waits.now_or_never(), Some(Some(changes(&["a"], &[]))));
        }
        let mut waits = Box::pin(watched.changed());
        assert!((&mut waits).now_or_never().is_none());
        drop(interest);
        assert_eq!(waits.now_or_never(), Some(None));
    }

    /// Else each election that ever was would be kept.
    #[test]
    fn changes_that_nobody_asks_for_are_forgotten() {
        let (interest, watched) = Interest::new();
        interest.add(&keys(&["a"])[0]);
        drop(watched);
        for number in 0..2_000 {
            let key = Key::new(format!("job-{number}")).unwrap();
            interest.add(&key);
            interest.remove(&key);
        }
        assert_eq!(interest.remembers(), 1);
    }

    #[test]
    fn a_fixed_set_stays() {
        let mut watched = Watched::only(keys(&["a"]));
        assert_eq!(now(&mut watched), Some(changes(&["a"], &[])));
        assert_eq!(watched.changed().now_or_never(), None);
        assert!(watched.contains(&keys(&["a"])[0]));
    }
}
