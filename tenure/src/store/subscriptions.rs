//! Wake-ups and messages through a server that has to be told what is listened to.
//!
//! [`Table`] has the listeners in this process: one for all elections of a driver, and one for each
//! inbox. A single task for each store ([`keep`]) brings the server's subscriptions in line with
//! it: many in one command, over each new connection again, and none any more of what nobody
//! listens to. It runs while there is something to listen to.
//!
//! An idle connection may be dead without a word: a device on the way has forgotten it, and drops
//! what the server sends. So the server is asked for a sign of life every three `connect_timeout`s
//! (at most a [minute](keep::BEAT_MOST)), and the connection is replaced without an answer within
//! one. Wake-ups and messages are missed for 20 s at most by default.
//!
//! Not guaranteed: anything that was sent before the server has answered a subscription. So each
//! election is hinted once after that.

mod keep;
mod listener;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;

use self::listener::{Inbox, Listener};
use super::slot::Connection;
use super::{Key, StoreError, Watched};
use crate::runtime::Runtime;

pub(super) use self::table::{Table, Topic};

/// A server with subscriptions.
pub(super) trait Subscriber: Send + Sync + 'static {
    /// The connection on which notifications arrive.
    type Live: Connection;
    /// A message to a leader, as it arrives.
    type Said: Clone + Send + 'static;

    fn table(&self) -> &Table<Self::Said>;

    fn runtime(&self) -> &Arc<dyn Runtime>;

    /// The time for a command before the connection is given up.
    fn within(&self) -> Duration;

    /// The connection, opened anew if there is none.
    fn connected(
        self: &Arc<Self>,
    ) -> impl Future<Output = Result<Arc<Self::Live>, StoreError>> + Send;

    /// Subscribes to these, all elections or all inboxes. After an error the connection is either
    /// dead or as usable as before.
    fn subscribe(
        self: &Arc<Self>,
        on: &Arc<Self::Live>,
        topics: &[Topic],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The opposite.
    fn unsubscribe(
        self: &Arc<Self>,
        on: &Arc<Self::Live>,
        topics: &[Topic],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// A heartbeat: asks the server for any answer on the connection on which notifications arrive.
    /// After an error the connection is either dead or as usable as before.
    fn beats(
        self: &Arc<Self>,
        on: &Arc<Self::Live>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Nothing is listened to any more. A connection for that alone ends now.
    fn unneeded(&self) {}

    /// No driver watches that election any more.
    fn unwatched(&self, key: &Key) {
        let _ = key;
    }
}

/// The hints of a store: a stream for one driver.
pub(super) fn hints<S: Subscriber>(
    server: Arc<S>,
    mut watched: Watched,
) -> impl Stream<Item = Key> + Send + 'static {
    async_stream::stream! {
        let listener = Listener::new(server);
        loop {
            tokio::select! {
                biased;
                changes = watched.changed() => match changes {
                    Some(changes) => listener.update(changes),
                    None => return,
                },
                key = listener.next() => yield key,
            }
        }
    }
}

/// The messages to the leader of one election. A reader that falls far behind misses some.
pub(super) fn inbox<S: Subscriber>(
    server: Arc<S>,
    key: Key,
) -> impl Stream<Item = S::Said> + Send + 'static {
    async_stream::stream! {
        let mut inbox = Inbox::new(server, key);
        while let Some(said) = inbox.next().await {
            yield said;
        }
    }
}
