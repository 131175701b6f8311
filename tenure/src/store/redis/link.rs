//! The connection that all requests share, replaced whenever it may be stuck or leads to the wrong
//! server.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;

use super::config::{RedisConfig, Servers};
use super::purge::Purging;
use super::route::Route;
use super::sentinel;
use super::session::{self, Connector, Live};
use crate::runtime::Runtime;
use crate::store::StoreError;
use crate::store::slot::{Patience, Slot};

pub(super) struct Link {
    pub(super) connector: Arc<Connector>,
    pub(super) route: Route,
    pub(super) current: Slot<Live>,
    pub(super) purging: Purging,
}

impl Link {
    pub(super) fn new(config: RedisConfig, runtime: Arc<dyn Runtime>) -> Self {
        let current = Slot::new(&runtime, config.connect_timeout);
        let connector = Arc::new(Connector::new(config, runtime));
        let route = Route::new(Arc::clone(&connector));
        Self { connector, route, current, purging: Purging::default() }
    }

    /// The connection, opened anew if there is none.
    pub(super) async fn live(
        self: &Arc<Self>,
        patience: Patience,
    ) -> Result<Arc<Live>, StoreError> {
        let link = Arc::clone(self);
        let connect = || async move { link.connect().await }.boxed();
        self.current.get(patience, connect).await
    }

    /// Why there is no connection, or why no promise of the server can be vouched for.
    pub(super) fn connect_error(&self) -> Option<StoreError> {
        self.current.connect_error().or_else(|| self.route.members.connect_error())
    }

    async fn connect(&self) -> Result<Live, StoreError> {
        let at = self.route.find().await?;
        let RedisConfig { servers, login, database, .. } = &self.connector.config;
        let live = self.connector.open(&at, login, *database, session::REPLY_MOST).await?;
        if let Servers::Sentinels { .. } = servers {
            let half_way = live.dead.clone().drop_guard();
            sentinel::is_primary(&live).await?;
            half_way.disarm();
        }
        session::load_scripts(&live).await?;
        Ok(live)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.connector.config.fmt(f)
    }
}
