//! The connection that all requests share, replaced whenever it may be stuck or leads to the wrong server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::config::{Address, Login, RedisConfig, Servers};
use super::rounds::Rounds;
use super::session::{self, Live};
use super::wakeup::Channels;
use super::{route, sentinel};
use crate::runtime::Runtime;
use crate::store::{StoreError, StoreErrorKind};

pub(super) struct Link {
    pub(super) config: RedisConfig,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) channels: Arc<Channels>,
    pub(super) rounds: Rounds,
    current: Mutex<Option<Arc<Live>>>,
    /// The connections to those who know which server to use.
    knowing: Mutex<BTreeMap<Address, Arc<Live>>>,
    /// Held while connecting, so that a crowd of callers opens one connection.
    connecting: tokio::sync::Mutex<()>,
}

impl Link {
    pub(super) fn new(config: RedisConfig, runtime: Arc<dyn Runtime>) -> Self {
        Self {
            config,
            runtime,
            channels: Arc::default(),
            rounds: Rounds::default(),
            current: Mutex::new(None),
            knowing: Mutex::default(),
            connecting: tokio::sync::Mutex::new(()),
        }
    }

    /// The connection, opened anew if there is none.
    pub(super) async fn live(&self) -> Result<Arc<Live>, StoreError> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let _turn = self.connecting.lock().await;
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let late = self.runtime.sleep_until(self.runtime.now() + self.config.connect_timeout);
        let live = tokio::select! {
            biased;
            live = self.connect() => Arc::new(live?),
            () = late => {
                let within = self.config.connect_timeout;
                let detail = format!("no connection within {within:?}");
                return Err(StoreError::new(StoreErrorKind::Unreachable, detail));
            }
        };
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&live));
        Ok(live)
    }

    fn current(&self) -> Option<Arc<Live>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|live| !live.dead.is_cancelled()).cloned()
    }

    async fn connect(&self) -> Result<Live, StoreError> {
        let at = route::find(self).await?;
        let RedisConfig { servers, login, database, .. } = &self.config;
        let live = session::open(self, &at, login, *database).await?;
        if let Servers::Sentinels { .. } = servers {
            let half_way = live.dead.clone().drop_guard();
            sentinel::is_primary(&live).await?;
            half_way.disarm();
        }
        Ok(live)
    }

    /// A connection to one of those who know which server to use, opened anew if there is none. Whoever
    /// asks for it bounds the time.
    pub(super) async fn knowing(
        &self,
        at: &Address,
        login: &Login,
    ) -> Result<Arc<Live>, StoreError> {
        let known = self.knowing.lock().unwrap_or_else(PoisonError::into_inner).get(at).cloned();
        if let Some(live) = known.filter(|live| !live.dead.is_cancelled()) {
            return Ok(live);
        }
        let live = Arc::new(session::open(self, at, login, 0).await?);
        let mut knowing = self.knowing.lock().unwrap_or_else(PoisonError::into_inner);
        knowing.insert(at.clone(), Arc::clone(&live));
        Ok(live)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let knowing = self.knowing.get_mut().unwrap_or_else(PoisonError::into_inner);
        for live in std::mem::take(knowing).into_values().chain(self.current()) {
            live.dead.cancel();
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}
