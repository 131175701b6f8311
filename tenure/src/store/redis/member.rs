//! Members: the sentinels, or the nodes of a cluster, which know the server that keeps the elections.
//!
//! A majority decides before the slower members have answered, and a caller may give up at any time. A question
//! that is dropped half way costs the connection, so each is asked in a task of its own, which runs until the
//! answer or the bound. A member is asked one question at a time: a member that hangs has one question to answer
//! when it recovers, and not those of all callers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::config::Address;
use super::session::{self, Connector, Live};
use crate::store::{StoreError, StoreErrorKind};

/// A sentinel or a node of a cluster.
#[derive(Default)]
pub(super) struct Member {
    live: Mutex<Option<Arc<Live>>>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Member {
    /// The connection to it, if there is one that works.
    pub(super) fn live(&self) -> Option<Arc<Live>> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.as_ref().filter(|live| !live.dead.is_cancelled()).cloned()
    }

    /// The connection to it, opened anew if there is none. The caller has the turn, and bounds the time.
    async fn connected(
        &self,
        connector: &Connector,
        at: &Address,
    ) -> Result<Arc<Live>, StoreError> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        let login = connector.config.members_login();
        let live = Arc::new(connector.open(at, login, 0, session::TOPOLOGY_MOST).await?);
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&live));
        Ok(live)
    }
}

/// The longest wait for an answer. A connection that is dead but not known to be delays all questions to that
/// member for that long, and leaders with short leases need time for another attempt.
const ANSWER_MOST: Duration = Duration::from_secs(1);

/// All members that are configured.
pub(super) struct Members {
    pub(super) connector: Arc<Connector>,
    all: BTreeMap<Address, Arc<Member>>,
}

impl Members {
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        let listed = connector.config.servers.listed().iter();
        let all = listed.map(|at| (at.clone(), Arc::default())).collect();
        Self { connector, all }
    }

    /// Asks a member when it is its turn. From then on the question is asked even if the caller has given up.
    ///
    /// Connecting takes at most `connect_timeout`, and the answer [`ANSWER_MOST`].
    pub(super) async fn ask<T, A>(
        self: &Arc<Self>,
        at: &Address,
        question: impl FnOnce(Arc<Live>) -> A + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        A: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let member = self.all.get(at).cloned().unwrap_or_default();
        let turn = Arc::clone(&member.turn).lock_owned().await;
        let (answered, answer) = oneshot::channel();
        let (members, at) = (Arc::clone(self), at.clone());
        let asks = async move {
            let _turn = turn;
            let connector = &members.connector;
            let bound = connector.config.connect_timeout;
            let connected = member.connected(connector, &at);
            let answer = match within(connector, &at, bound, connected).await {
                Ok(live) => within(connector, &at, ANSWER_MOST, question(live)).await,
                Err(error) => Err(error),
            };
            // The caller may have given up.
            drop(answered.send(answer));
        };
        self.connector.runtime.spawn(asks.boxed());
        let ended = || StoreError::new(StoreErrorKind::Unreachable, "the runtime has ended");
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        for live in self.all.values().filter_map(|member| member.live()) {
            live.dead.cancel();
        }
    }
}

async fn within<T>(
    connector: &Connector,
    at: &Address,
    bound: Duration,
    done: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::select! {
        biased;
        done = done => done,
        () = connector.runtime.sleep_until(connector.runtime.now() + bound) => {
            let detail = format!("{at} has not answered within {bound:?}");
            Err(StoreError::new(StoreErrorKind::Unreachable, detail))
        }
    }
}
