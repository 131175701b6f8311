//! What one connection brings, to all in this process who wait for it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::broadcast;

/// Who waits for what, by name.
pub(super) struct Fanout<T>(Mutex<BTreeMap<String, broadcast::Sender<T>>>);

impl<T: Clone> Fanout<T> {
    /// Waits for what is brought under that name, and may fall so far behind before it misses some. The first
    /// who waits decides how far.
    pub(super) fn listen(&self, name: &str, buffer: usize) -> broadcast::Receiver<T> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = names.entry(name.to_owned());
        waiting.or_insert_with(|| broadcast::Sender::new(buffer)).subscribe()
    }

    /// Hands it to who waits for it; what nobody here waits for is no news.
    pub(super) fn bring(&self, name: &str, brought: T) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = names.get(name)
            && waiting.send(brought).is_err()
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
