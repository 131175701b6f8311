//! The connection that all requests share, replaced whenever it may be stuck or leads to the wrong server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;

use super::config::{Address, RedisConfig, Servers};
use super::member::Member;
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
    /// Those who know which server to use.
    members: BTreeMap<Address, Arc<Member>>,
}

impl Link {
    pub(super) fn new(config: RedisConfig, runtime: Arc<dyn Runtime>) -> Self {
        let listed = config.servers.listed().iter();
        let members = listed.map(|at| (at.clone(), Arc::default())).collect();
        Self {
            config,
            runtime,
            channels: Arc::default(),
            rounds: Rounds::default(),
            current: Slot::default(),
            members,
        }
    }

    /// The connection, opened anew if there is none.
    pub(super) async fn live(self: &Arc<Self>) -> Result<Arc<Live>, StoreError> {
        let (link, within) = (Arc::clone(self), self.config.connect_timeout);
        let connect = || async move { link.connect().await }.boxed();
        self.current.get(&self.runtime, within, connect).await
    }

    async fn connect(self: &Arc<Self>) -> Result<Live, StoreError> {
        let at = route::find(self).await?;
        let RedisConfig { servers, login, database, .. } = &self.config;
        let live = session::open(self, &at, login, *database, session::REPLY_MOST).await?;
        if let Servers::Sentinels { .. } = servers {
            let half_way = live.dead.clone().drop_guard();
            sentinel::is_primary(&live).await?;
            half_way.disarm();
        }
        session::load_scripts(&live).await?;
        Ok(live)
    }

    /// One of those who know which server to use.
    pub(super) fn member(&self, at: &Address) -> Arc<Member> {
        self.members.get(at).cloned().unwrap_or_default()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for live in
            self.members.values().filter_map(|member| member.live()).chain(self.current.current())
        {
            live.dead.cancel();
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}
