//! Many elections over one store.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::FutureExt;

use super::observer::{NewWatch, Observer, Watch};
use super::{CandidateBuilder, NotifyError, StartError, messages};
use crate::Config;
use crate::driver::Driver;
use crate::metrics::{self, Metrics};
use crate::runtime::{NoRuntime, Runtime, TokioRuntime};
use crate::shared::{Chosen, Command, Commands, DriverGone, ElectionId, Settings, ask};
use crate::store::{AnyStore, Key, Message, Store, StoreError};
use crate::trace::Log;

/// Elections that share one driver and one store: one task, one timer and one connection for all of
/// them. Clones are the same.
#[derive(Clone)]
pub struct Elections(Arc<Inner>);

struct Inner {
    store: AnyStore,
    runtime: Arc<dyn Runtime>,
    commands: Commands,
    next_id: AtomicU64,
    /// Those of the candidate that joined last; most have the same.
    settings: Mutex<Option<Arc<Settings>>>,
    /// The driver, until it is run.
    driver: Mutex<Option<Driver>>,
    log: Mutex<Option<Log>>,
    metrics: Mutex<Option<Metrics>>,
}

impl Elections {
    /// Elections at that store, in tokio. The driver starts with the first candidate.
    pub fn new(store: impl Store) -> Self {
        Self::with_runtime(store, Arc::new(TokioRuntime))
    }

    /// Elections at that store, in that runtime.
    pub fn with_runtime(store: impl Store, runtime: Arc<dyn Runtime>) -> Self {
        let store = AnyStore::new(store);
        let (commands, receiver) = Commands::new();
        let driver = Driver::new(store.clone(), Arc::clone(&runtime), receiver);
        Self(Arc::new(Inner {
            store,
            runtime,
            commands,
            next_id: AtomicU64::new(0),
            settings: Mutex::new(None),
            driver: Mutex::new(Some(driver)),
            log: Mutex::new(None),
            metrics: Mutex::new(None),
        }))
    }

    /// A candidate in the election `key`.
    pub fn candidate(&self, key: impl AsRef<str>) -> CandidateBuilder {
        CandidateBuilder::shared(self.clone(), key.as_ref())
    }

    /// The leaders of the election `key` as a stream, without a candidate in it; see [`Observer`].
    /// The poll bound and the request timeout are those of [`Config::normal`]. The stream keeps the
    /// driver, and asks the store through the connection of these elections.
    ///
    /// # Errors
    /// If the key is empty or too long, or where no async runtime with timers and I/O runs.
    pub fn observe(&self, key: impl AsRef<str>) -> Result<Observer, StartError> {
        let key = Key::new(key)?;
        self.spawn()?;
        let config = Config::normal();
        let config = if self.store().traits().push { config } else { config.without_hints() };
        let watch = Watch::new(NewWatch {
            key,
            commands: self.0.commands.clone(),
            runtime: Arc::clone(&self.0.runtime),
            poll_bound: config.poll_bound(),
            request_timeout: config.request_timeout(),
        });
        Ok(Observer::begin(watch, futures_util::future::pending().boxed()))
    }

    /// Sends a message to the leader of the election `key`, without a candidate in it; see
    /// [`Candidate::notify_leader`](crate::Candidate::notify_leader). The request timeout is that
    /// of [`Config::normal`].
    ///
    /// # Errors
    /// See [`NotifyError`]. After [`NotifyError::Store`] the message may have been sent.
    pub async fn notify_leader(
        &self,
        key: impl AsRef<str>,
        channel: impl AsRef<str>,
        payload: impl Into<Bytes>,
    ) -> Result<(), NotifyError> {
        let (key, message) = (Key::new(key)?, Message::new(channel, payload)?);
        let request = messages::request(self.store(), message)?;
        self.spawn()?;
        let Inner { commands, runtime, .. } = &*self.0;
        let within = Config::normal().request_timeout();
        messages::outcome(&ask(commands, runtime, &key, within, request).await?)
    }

    /// The elections of the store that have a record, in the order of their keys; see
    /// [`Store::keys`].
    ///
    /// # Errors
    /// If the store fails, or can't list its elections.
    pub async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        self.0.store.keys().await
    }

    /// Writes each transition of the candidates that start from now on to a [log](crate::trace).
    #[must_use]
    pub fn trace(self, log: Log) -> Self {
        *self.0.log.lock().unwrap_or_else(PoisonError::into_inner) = Some(log);
        self
    }

    /// Sets the metrics of candidates that start from now on. Default: [`Metrics::new`].
    #[must_use]
    pub fn metrics(self, metrics: Metrics) -> Self {
        *self.0.metrics.lock().unwrap_or_else(PoisonError::into_inner) = Some(metrics);
        self
    }

    pub(super) fn own_metrics(&self) -> Option<Metrics> {
        self.0.metrics.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn log(&self) -> Option<Log> {
        self.0.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The driver, for a caller that runs it itself; `None` if it was taken before.
    pub(super) fn driver(&self) -> Option<Driver> {
        let driver = self.0.driver.lock().unwrap_or_else(PoisonError::into_inner).take();
        driver.inspect(|_| metrics::describe())
    }

    /// Runs the driver in the background, if it does not run yet.
    pub(super) fn spawn(&self) -> Result<(), NoRuntime> {
        let mut driver = self.0.driver.lock().unwrap_or_else(PoisonError::into_inner);
        if driver.is_some() {
            self.0.runtime.available()?;
        }
        if let Some(driver) = driver.take() {
            metrics::describe();
            self.0.runtime.spawn(driver.run().boxed());
        }
        Ok(())
    }

    pub(super) fn store(&self) -> &AnyStore {
        &self.0.store
    }

    pub(super) fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.0.runtime
    }

    pub(super) fn send(&self, command: Command) -> Result<(), StartError> {
        self.0.commands.send(command).map_err(|DriverGone| StartError::DriverGone)
    }

    pub(super) fn settings(&self, chosen: Chosen) -> Arc<Settings> {
        let mut last = self.0.settings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = last.as_ref().filter(|settings| settings.chosen == chosen) {
            return Arc::clone(same);
        }
        let (store, commands) = (self.0.store.clone(), self.0.commands.clone());
        Arc::clone(last.insert(Arc::new(Settings { store, commands, chosen })))
    }

    pub(super) fn next_id(&self) -> ElectionId {
        self.0.next_id.fetch_add(1, Ordering::Relaxed)
    }
}

impl fmt::Debug for Elections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Elections").field(&self.0.store).finish()
    }
}
