//! Wake-ups and messages to the leader, which arrive between the replies.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use redis::{PushInfo, PushKind, RedisResult, Value};

use super::channels::{Channels, names};
use super::link::Link;
use super::session::Live;
use crate::runtime::Runtime;
use crate::store::StoreError;
use crate::store::slot::Patience;
use crate::store::subscriptions::{Subscriber, Table, Topic};

impl Subscriber for Link {
    type Live = Live;
    type Said = Bytes;

    fn table(&self) -> &Table<Bytes> {
        &self.connector.channels.table
    }

    fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.connector.runtime
    }

    fn within(&self) -> Duration {
        self.connector.config.connect_timeout
    }

    async fn connected(self: &Arc<Self>) -> Result<Arc<Live>, StoreError> {
        self.live(Patience::Waits).await
    }

    async fn subscribe(
        self: &Arc<Self>,
        on: &Arc<Live>,
        topics: &[Topic],
    ) -> Result<(), StoreError> {
        let names = names(&self.connector.config, topics);
        answered(on, on.connection.clone().subscribe(&names[..]).await)
    }

    async fn unsubscribe(
        self: &Arc<Self>,
        on: &Arc<Live>,
        topics: &[Topic],
    ) -> Result<(), StoreError> {
        let names = names(&self.connector.config, topics);
        answered(on, on.connection.clone().unsubscribe(&names[..]).await)
    }

    async fn beats(self: &Arc<Self>, on: &Arc<Live>) -> Result<(), StoreError> {
        on.ask(&redis::cmd("PING")).await.map(drop)
    }
}

/// After a refusal, by an access rule for instance, the connection is still usable.
fn answered(on: &Live, answer: RedisResult<()>) -> Result<(), StoreError> {
    answer.map_err(|error| {
        if error.code().is_none() {
            on.dead.cancel();
        }
        on.failed(&error)
    })
}

impl Channels {
    /// Hands a message that the server has pushed to its listeners. Other pushes are ignored.
    pub(super) fn pushed(&self, push: &PushInfo) {
        if push.kind != PushKind::Message {
            return;
        }
        let [Value::BulkString(channel), Value::BulkString(said)] = &push.data[..] else { return };
        if let Ok(channel) = std::str::from_utf8(channel) {
            self.said(channel, said);
        }
    }
}
