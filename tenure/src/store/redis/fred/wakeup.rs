//! Wake-ups, and messages to the leader, over the connection that carries nothing else.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::link::{Link, Live};
use crate::runtime::Runtime;
use crate::store::StoreError;
use crate::store::redis::channels::names;
use crate::store::slot::Patience;
use crate::store::subscriptions::{Subscriber, Table, Topic};

impl Subscriber for Link {
    type Live = Live;
    type Said = Bytes;

    fn table(&self) -> &Table<Bytes> {
        &self.channels.table
    }

    fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.runtime
    }

    fn within(&self) -> Duration {
        self.config.connect_timeout
    }

    async fn connected(self: &Arc<Self>) -> Result<Arc<Live>, StoreError> {
        self.live(Patience::Waits).await
    }

    async fn subscribe(
        self: &Arc<Self>,
        on: &Arc<Live>,
        topics: &[Topic],
    ) -> Result<(), StoreError> {
        on.subscribe(names(&self.config, topics)).await
    }

    async fn unsubscribe(
        self: &Arc<Self>,
        on: &Arc<Live>,
        topics: &[Topic],
    ) -> Result<(), StoreError> {
        on.unsubscribe(names(&self.config, topics)).await
    }

    async fn beats(self: &Arc<Self>, on: &Arc<Live>) -> Result<(), StoreError> {
        on.beats().await
    }
}
