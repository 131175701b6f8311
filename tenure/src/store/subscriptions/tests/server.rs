//! A server in memory.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::runtime::Runtime;
use crate::store::fake::{Clock, Wire};
use crate::store::subscriptions::{Subscriber, Table, Topic};
use crate::store::{StoreError, StoreErrorKind};

/// A server in memory: what it is asked, and how it answers.
#[derive(Default)]
pub(super) struct Server {
    pub(super) clock: Clock,
    runtime: Option<Arc<dyn Runtime>>,
    pub(super) table: Table<&'static str>,
    pub(super) remote: Mutex<Remote>,
}

#[derive(Default)]
pub(super) struct Remote {
    answers: Answers,
    pub(super) wire: Option<Arc<Wire>>,
    pub(super) subscribed: BTreeSet<Topic>,
    /// The number of topics in each command; negative for the opposite.
    commands: Vec<i32>,
    pub(super) beats: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Answers {
    #[default]
    Well,
    WithRefusals,
    Never,
    /// There is no connection.
    Away,
}

const WITHIN: Duration = Duration::from_secs(5);
pub(super) const JUST_WITHIN: Duration = Duration::from_millis(4_999);

impl Server {
    pub(super) fn new() -> Arc<Self> {
        let clock = Clock::default();
        let runtime: Option<Arc<dyn Runtime>> = Some(Arc::new(clock.clone()));
        Arc::new(Self { clock, runtime, ..Self::default() })
    }

    pub(super) fn is(&self, answers: Answers) {
        self.remote.lock().unwrap().answers = answers;
    }

    /// The connection breaks.
    pub(super) fn cut(&self) {
        let mut remote = self.remote.lock().unwrap();
        remote.subscribed.clear();
        remote.wire.take().unwrap().dead.cancel();
    }

    pub(super) fn commands(&self) -> Vec<i32> {
        std::mem::take(&mut self.remote.lock().unwrap().commands)
    }

    pub(super) fn subscribed(&self) -> Vec<Topic> {
        self.remote.lock().unwrap().subscribed.iter().cloned().collect()
    }

    async fn command(&self, on: &Arc<Wire>, topics: &[Topic], sign: i32) -> Result<(), StoreError> {
        let answers = {
            let mut remote = self.remote.lock().unwrap();
            assert!(remote.wire.as_ref().is_some_and(|wire| Arc::ptr_eq(wire, on)));
            remote.commands.push(sign * i32::try_from(topics.len()).unwrap());
            if remote.answers == Answers::Well {
                for topic in topics {
                    let is_new = if sign > 0 {
                        remote.subscribed.insert(topic.clone())
                    } else {
                        remote.subscribed.remove(topic)
                    };
                    assert!(is_new, "{topic:?} for nothing");
                }
            }
            remote.answers
        };
        match answers {
            Answers::Well | Answers::Away => Ok(()),
            Answers::WithRefusals => Err(StoreError::new(StoreErrorKind::Permission, "")),
            Answers::Never => std::future::pending().await,
        }
    }
}

impl Subscriber for Server {
    type Live = Wire;
    type Said = &'static str;

    fn table(&self) -> &Table<&'static str> {
        &self.table
    }

    fn runtime(&self) -> &Arc<dyn Runtime> {
        self.runtime.as_ref().unwrap()
    }

    fn within(&self) -> Duration {
        WITHIN
    }

    async fn connected(self: &Arc<Self>) -> Result<Arc<Wire>, StoreError> {
        std::future::poll_fn(|_| {
            let mut remote = self.remote.lock().unwrap();
            if remote.answers == Answers::Away {
                return std::task::Poll::Pending;
            }
            let wire = remote.wire.take().filter(|wire| !wire.dead.is_cancelled());
            let wire = wire.unwrap_or_default();
            remote.wire = Some(Arc::clone(&wire));
            std::task::Poll::Ready(Ok(wire))
        })
        .await
    }

    async fn subscribe(
        self: &Arc<Self>,
        on: &Arc<Wire>,
        topics: &[Topic],
    ) -> Result<(), StoreError> {
        self.command(on, topics, 1).await
    }

    async fn unsubscribe(
        self: &Arc<Self>,
        on: &Arc<Wire>,
        topics: &[Topic],
    ) -> Result<(), StoreError> {
        self.command(on, topics, -1).await
    }

    async fn beats(self: &Arc<Self>, _: &Arc<Wire>) -> Result<(), StoreError> {
        let answers = {
            let mut remote = self.remote.lock().unwrap();
            remote.beats += 1;
            remote.answers
        };
        match answers {
            Answers::Well | Answers::Away => Ok(()),
            Answers::WithRefusals => Err(StoreError::new(StoreErrorKind::Permission, "")),
            Answers::Never => std::future::pending().await,
        }
    }

    fn unneeded(&self) {
        if !self.table.wants_anything()
            && let Some(wire) = self.remote.lock().unwrap().wire.take()
        {
            wire.dead.cancel();
        }
    }
}
