//! Members: the sentinels, or the nodes of a cluster, which know the server that keeps the
//! elections.
//!
//! A majority decides before the slower members have answered, and a caller may give up at any
//! time. A question that is dropped half way costs the connection, so each is asked in a task of
//! its own, which runs until the answer or the bound. A member is asked one question at a time: a
//! member that hangs has one question to answer when it recovers, and not those of all callers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::config::Address;
use super::session::{self, Connector, Live};
use crate::store::slot::{Patience, Slot};
use crate::store::{StoreError, StoreErrorKind};

/// A sentinel or a node of a cluster.
struct Member {
    current: Slot<Live>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Member {
    fn new(connector: &Connector) -> Self {
        let within = connector.config.connect_timeout;
        // A majority is awaited for half of that time, and several attempts must fit into it.
        let current = Slot::with_pause(&connector.runtime, within, within / 8);
        Self { current, turn: Arc::default() }
    }

    /// The connection to it, opened anew if there is none.
    async fn live(
        &self,
        connector: &Arc<Connector>,
        at: &Address,
    ) -> Result<Arc<Live>, StoreError> {
        let (connector, at) = (Arc::clone(connector), at.clone());
        let connect = || {
            async move {
                let login = connector.config.members_login();
                connector.open(&at, login, 0, session::TOPOLOGY_MOST).await
            }
            .boxed()
        };
        self.current.get(Patience::Waits, connect).await
    }
}

/// The longest wait for an answer. A connection that is dead but not known to be delays all
/// questions to that member for that long, and leaders with short leases need time for another
/// attempt.
const ANSWER_MOST: Duration = Duration::from_secs(1);

/// All members that are configured.
pub(super) struct Members {
    pub(super) connector: Arc<Connector>,
    all: BTreeMap<Address, Arc<Member>>,
}

impl Members {
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        let listed = connector.config.servers.listed().iter();
        let all = listed.map(|at| (at.clone(), Arc::new(Member::new(&connector)))).collect();
        Self { connector, all }
    }

    /// The lack of a majority: half of the listed members or more are not connected to.
    pub(super) fn connect_error(&self) -> Option<StoreError> {
        let errors = self.all.values().filter_map(|member| member.current.connect_error());
        let errors: Vec<_> = errors.collect();
        if 2 * errors.len() < self.all.len() { None } else { errors.into_iter().next() }
    }

    /// Asks a member when it is its turn. From then on the question is asked even if the caller has
    /// given up.
    ///
    /// Connecting takes at most `connect_timeout`, after a pause if the member was not usable
    /// before, and the answer [`ANSWER_MOST`].
    pub(super) async fn ask<T, A>(
        self: &Arc<Self>,
        at: &Address,
        question: impl FnOnce(Arc<Live>) -> A + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        A: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let unlisted = || Arc::new(Member::new(&self.connector));
        let member = self.all.get(at).cloned().unwrap_or_else(unlisted);
        let turn = Arc::clone(&member.turn).lock_owned().await;
        let (answered, answer) = oneshot::channel();
        let (members, at) = (Arc::clone(self), at.clone());
        let asks = async move {
            let _turn = turn;
            let connector = &members.connector;
            let answer = match member.live(connector, &at).await {
                Ok(live) => {
                    let answer =
                        within(connector, &at, ANSWER_MOST, question(Arc::clone(&live))).await;
                    if answer.is_ok() {
                        live.serves();
                    }
                    answer
                }
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
