//! The connection on which notifications arrive, and what it listens to.
//!
//! The server has two channels for each table: one for the wake-ups of all elections, and one for
//! the messages to all leaders, which only leaders with an inbox need. A connection that nobody
//! needs any more is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_postgres::Error;

use super::error::{failed, is_fatal};
use super::link::Link;
use super::listeners::Listeners;
use super::live::Listening;
use super::table::quoted;
use crate::runtime::Runtime;
use crate::store::StoreError;
use crate::store::subscriptions::{Subscriber, Topic};

impl Link {
    /// The channel of such topics, and whether the connection listens to it.
    fn channel<'a>(&self, on: &'a Listening, topic: &Topic) -> (String, &'a AtomicBool) {
        match topic {
            Topic::Election(_) => (self.config.table.channel(), &on.hints),
            Topic::Inbox(_) => (self.config.table.inbox(), &on.inboxes),
        }
    }

    async fn execute(
        &self,
        on: &Listening,
        command: &str,
        channel: &str,
    ) -> Result<(), StoreError> {
        let sql = format!("{command} {}", quoted(channel));
        let done = on.session.client.batch_execute(&sql).await;
        self.concluded(on, done)
    }

    fn concluded(&self, on: &Listening, done: Result<(), Error>) -> Result<(), StoreError> {
        done.map_err(|error| {
            if is_fatal(&error) {
                on.session.dead.cancel();
            }
            failed(&self.config, &error)
        })?;
        on.session.serves();
        Ok(())
    }
}

impl Subscriber for Link {
    type Live = Listening;
    /// The number of the message.
    type Said = u128;

    fn table(&self) -> &Listeners {
        &self.listeners
    }

    fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.runtime
    }

    fn within(&self) -> Duration {
        self.config.connect_timeout
    }

    async fn connected(self: &Arc<Self>) -> Result<Arc<Listening>, StoreError> {
        self.listening().await
    }

    async fn subscribe(
        self: &Arc<Self>,
        on: &Arc<Listening>,
        topics: &[Topic],
    ) -> Result<(), StoreError> {
        let Some(first) = topics.first() else { return Ok(()) };
        let (channel, listens) = self.channel(on, first);
        if !listens.load(Ordering::Relaxed) {
            self.execute(on, "LISTEN", &channel).await?;
            listens.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn unsubscribe(
        self: &Arc<Self>,
        on: &Arc<Listening>,
        topics: &[Topic],
    ) -> Result<(), StoreError> {
        let Some(first) = topics.first() else { return Ok(()) };
        let (channel, listens) = self.channel(on, first);
        if !self.listeners.wants_any(first) && listens.swap(false, Ordering::Relaxed) {
            self.execute(on, "UNLISTEN", &channel).await?;
        }
        Ok(())
    }

    async fn beats(self: &Arc<Self>, on: &Arc<Listening>) -> Result<(), StoreError> {
        // A device on the way forgets both, and the requests of a take-over should not be the first
        // to notice.
        if let Some(live) = self.requests.current() {
            // Without haste: no request was given up, and a session that waits for a lock or a
            // standby is no dead one.
            live.session.progress.asks(self.config.connect_timeout);
        }
        self.concluded(on, on.session.client.batch_execute("").await)
    }

    fn unneeded(&self) {
        if !self.listeners.wants_anything()
            && let Some(listening) = self.listening.current()
        {
            listening.session.dead.cancel();
        }
    }
}
