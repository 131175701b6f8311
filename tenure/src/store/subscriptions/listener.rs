//! The listeners: each registers itself, sees to it that the task runs, and leaves nothing behind.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;

use super::Subscriber;
use super::keep::keep;
use crate::store::watchers::WatcherId;
use crate::store::{Changes, Key};

/// The pause before the task begins again that has ended with its runtime.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A listener to many elections.
pub(super) struct Listener<S: Subscriber> {
    server: Arc<S>,
    id: WatcherId,
    wake: Arc<Notify>,
}

impl<S: Subscriber> Listener<S> {
    pub(super) fn new(server: Arc<S>) -> Self {
        let (id, wake) = server.table().join();
        Self { server, id, wake }
    }

    pub(super) fn update(&self, changes: Changes) {
        for key in self.server.table().update(self.id, changes) {
            self.server.unwatched(&key);
        }
    }

    /// The next hint.
    pub(super) async fn next(&self) -> Key {
        loop {
            let task = begin(&self.server);
            if let Some(key) = self.server.table().hint(self.id) {
                return key;
            }
            tokio::select! {
                biased;
                () = self.wake.notified() => {}
                () = ended(&self.server, task) => {}
            }
        }
    }
}

impl<S: Subscriber> Drop for Listener<S> {
    fn drop(&mut self) {
        for key in self.server.table().leave(self.id) {
            self.server.unwatched(&key);
        }
    }
}

/// A reader of the messages to one leader.
pub(super) struct Inbox<S: Subscriber> {
    server: Arc<S>,
    key: Key,
    /// Taken when it is dropped.
    reader: Option<broadcast::Receiver<S::Said>>,
}

impl<S: Subscriber> Inbox<S> {
    pub(super) fn new(server: Arc<S>, key: Key) -> Self {
        let reader = Some(server.table().open(&key));
        Self { server, key, reader }
    }

    /// The next message.
    pub(super) async fn next(&mut self) -> Option<S::Said> {
        let reader = self.reader.as_mut()?;
        loop {
            let task = begin(&self.server);
            tokio::select! {
                biased;
                said = reader.recv() => match said {
                    Ok(said) => return Some(said),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
                () = ended(&self.server, task) => {}
            }
        }
    }
}

impl<S: Subscriber> Drop for Inbox<S> {
    fn drop(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.server.table().close(&self.key, reader);
        }
    }
}

/// The task that subscribes, which begins now if there is none and something to do.
fn begin<S: Subscriber>(server: &Arc<S>) -> Option<CancellationToken> {
    server.table().task(|task| {
        let keeps = keep(Arc::clone(server), task);
        server.runtime().spawn(keeps.boxed());
    })
}

/// Completes a while after the task has ended. A runtime that is ending drops each task at once.
async fn ended<S: Subscriber>(server: &Arc<S>, task: Option<CancellationToken>) {
    let Some(task) = task else { return pending().await };
    task.cancelled().await;
    let runtime = server.runtime();
    runtime.sleep_until(runtime.now() + AGAIN_AFTER).await;
}
