//! The connection that all requests share, replaced whenever it may be stuck or leads to the wrong
//! server.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;

use super::config::{Address, RedisConfig, Servers};
use super::purge::Purging;
use super::route::Route;
use super::sentinel;
use super::session::{self, Connector, Live};
use crate::Instant;
use crate::runtime::Runtime;
use crate::store::slot::{Patience, Slot};
use crate::store::{StoreError, StoreErrorKind};

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

    /// The lack of a connection, or of members to vouch for the server's promises.
    pub(super) fn connect_error(&self) -> Option<StoreError> {
        self.current.connect_error().or_else(|| self.route.members.connect_error())
    }

    async fn connect(&self) -> Result<Live, StoreError> {
        let late = self.late();
        let at = self.route.find().await?;
        let config = &self.connector.config;
        let RedisConfig { servers, database, .. } = config;
        let mut live = self.open(&at, *database, late).await?;
        if let Servers::Sentinels { .. } = servers {
            let half_way = live.dead.clone().drop_guard();
            sentinel::is_primary(&live).await?;
            half_way.disarm();
        }
        session::load_scripts(&mut live, config).await?;
        Ok(live)
    }

    /// The last time for an attempt that begins now to say what it waited for.
    pub(super) fn late(&self) -> Instant {
        let Connector { config, runtime, .. } = &*self.connector;
        runtime.now() + config.connect_timeout * 9 / 10
    }

    /// Opens a connection to a server that keeps elections. If it can't be reached, the error says
    /// who has named it: a server may announce an address that is of no use to candidates.
    pub(super) async fn open(
        &self,
        at: &Address,
        database: u8,
        late: Instant,
    ) -> Result<Live, StoreError> {
        let Connector { config, runtime, .. } = &*self.connector;
        let opens = self.connector.open(at, &config.login, database, session::REPLY_MOST);
        let (who, setting) = match &config.servers {
            Servers::One(_) => return opens.await,
            Servers::Sentinels { .. } => ("sentinels", "replica-announce-ip"),
            Servers::Cluster { .. } => ("nodes", "cluster-announce-ip"),
        };
        let opened = tokio::select! {
            biased;
            opened = opens => opened,
            () = runtime.sleep_until(late) => {
                let detail = format!("{at} has not answered within {:?}", config.connect_timeout);
                Err(StoreError::new(StoreErrorKind::Unreachable, detail))
            }
        };
        opened.map_err(|error| {
            if error.kind() != StoreErrorKind::Unreachable {
                return error;
            }
            let listed: Vec<_> = config.servers.listed().iter().map(ToString::to_string).collect();
            let detail = format!(
                "{at}, as most of the {who} {} name it: if candidates reach it elsewhere, set its {setting}",
                listed.join(", ")
            );
            StoreError::new(StoreErrorKind::Unreachable, detail).with_source(error)
        })
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.connector.config.fmt(f)
    }
}
