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
use crate::store::StoreError;
use crate::store::slot::Slot;

pub(super) struct Link {
    pub(super) config: RedisConfig,
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) channels: Arc<Channels>,
    pub(super) rounds: Rounds,
    current: Slot<Live>,
    /// The connections to those who know which server to use.
    knowing: Mutex<BTreeMap<Address, Arc<Live>>>,
}

impl Link {
    pub(super) fn new(config: RedisConfig, runtime: Arc<dyn Runtime>) -> Self {
        Self {
            config,
            runtime,
            channels: Arc::default(),
            rounds: Rounds::default(),
            current: Slot::default(),
            knowing: Mutex::default(),
        }
    }

    /// The connection, opened anew if there is none.
    pub(super) async fn live(&self) -> Result<Arc<Live>, StoreError> {
        self.current.get(&*self.runtime, self.config.connect_timeout, || self.connect()).await
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
        for live in std::mem::take(knowing).into_values().chain(self.current.current()) {
            live.dead.cancel();
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}
