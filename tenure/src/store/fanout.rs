//! Distributes what arrives on one connection to its listeners in this process.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::broadcast;

/// The listeners of each name.
pub(super) struct Fanout<T>(Mutex<BTreeMap<String, broadcast::Sender<T>>>);

impl<T: Clone> Fanout<T> {
    /// Listens to that name; a listener that falls more than `buffer` values behind misses some. The first
    /// listener decides the buffer.
    pub(super) fn listen(&self, name: &str, buffer: usize) -> broadcast::Receiver<T> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let listeners = names.entry(name.to_owned());
        listeners.or_insert_with(|| broadcast::Sender::new(buffer)).subscribe()
    }

    /// Hands a value to the listeners of that name; without listeners it is dropped.
    pub(super) fn publish(&self, name: &str, value: T) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listeners) = names.get(name)
            && listeners.send(value).is_err()
        {
            names.remove(name);
        }
    }
}

impl<T> Default for Fanout<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}
