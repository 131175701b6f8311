//! The choice of the server, and whether it still was the right one when it answered.
//!
//! Redis replicates after it has answered. So a primary that was replaced without knowing it (it
//! was cut off or paused) still grants leases that no other server will ever see. A grant counts
//! only if, *after* the server has granted it, more than half of the sentinels or nodes still name
//! that server; and a connection is opened only to a server that more than half of them name. Two
//! majorities have a member in common, and no member returns, within a request's time, to a primary
//! that was replaced. So every grant that counts at the old primary was asked for before the first
//! grant of the new one, whose quarantine therefore outlasts it.
//!
//! That requires that all candidates list the same sentinels or nodes, and all of them.

use std::sync::Arc;

use super::config::{Address, Servers};
use super::member::Members;
use super::rounds::Rounds;
use super::session::Connector;
use super::{cluster, sentinel};
use crate::store::{StoreError, StoreErrorKind};

/// The way to the server that keeps the elections.
pub(super) struct Route {
    pub(super) members: Arc<Members>,
    rounds: Rounds,
}

impl Route {
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        Self { members: Arc::new(Members::new(connector)), rounds: Rounds::default() }
    }

    /// The server that keeps the elections, as more than half of the sentinels or nodes name it.
    pub(super) async fn find(&self) -> Result<Address, StoreError> {
        let config = &self.members.connector.config;
        match &config.servers {
            Servers::One(server) => Ok(server.clone()),
            Servers::Sentinels { listed, primary } => {
                let primary = primary.clone();
                let ask = move |live| sentinel::ask(live, primary.clone());
                self.members.majority(listed, ask).await
            }
            Servers::Cluster { listed } => {
                let past = config.past();
                let ask = move |live| cluster::ask(live, past.clone());
                self.members.majority(listed, ask).await
            }
        }
    }

    /// Confirms that what the server has just promised counts.
    ///
    /// # Errors
    /// If another server keeps the elections, or that is not known: then the promise is void.
    pub(super) async fn vouch_for(&self, at: &Address) -> Result<(), StoreError> {
        if let Servers::One(_) = &self.members.connector.config.servers {
            return Ok(());
        }
        let named = self.rounds.next(|| self.find()).await?;
        if named == *at {
            return Ok(());
        }
        let detail = format!("{named} has taken the place of {at}");
        Err(StoreError::new(StoreErrorKind::NotPrimary, detail))
    }
}
