//! Those who know which server to use: sentinels, or the nodes of a cluster.
//!
//! A majority decides before the slower ones have answered, and a caller may give up at any time. A question
//! that is dropped half way costs the connection, so each is asked in a task of its own, which goes on to the
//! answer or the bound. A member is asked one question at a time: one that stands still has one question to
//! answer when it comes back, and not those of everybody.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::config::Address;
use super::link::Link;
use super::session::{self, Live};
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
    async fn connected(&self, link: &Link, at: &Address) -> Result<Arc<Live>, StoreError> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        let login = link.config.members_login();
        let live = Arc::new(session::open(link, at, login, 0, session::TOPOLOGY_MOST).await?);
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&live));
        Ok(live)
    }
}

/// How long an answer is waited for. A connection that has died unnoticed holds up all questions to that
/// member for as long, and leaders with short leases must have time for another try.
const ANSWER_MOST: Duration = Duration::from_secs(1);

/// Puts a question to a member when it is its turn. Once that has come, the question is asked also if nobody
/// waits for the answer any more.
///
/// Connecting takes `connect_timeout` at the most, and the answer [`ANSWER_MOST`].
pub(super) async fn ask<T, A>(
    link: &Arc<Link>,
    at: &Address,
    question: impl FnOnce(Arc<Live>) -> A + Send + 'static,
) -> Result<T, StoreError>
where
    T: Send + 'static,
    A: Future<Output = Result<T, StoreError>> + Send + 'static,
{
    let member = link.member(at);
    let turn = Arc::clone(&member.turn).lock_owned().await;
    let (answered, answer) = oneshot::channel();
    let (of, at) = (Arc::clone(link), at.clone());
    let asks = async move {
        let _turn = turn;
        let bound = of.config.connect_timeout;
        let answer = match within(&of, &at, bound, member.connected(&of, &at)).await {
            Ok(live) => within(&of, &at, ANSWER_MOST, question(live)).await,
            Err(error) => Err(error),
        };
        // Nobody may wait for it any more.
        drop(answered.send(answer));
    };
    link.runtime.spawn(asks.boxed());
    let ended = || StoreError::new(StoreErrorKind::Unreachable, "the runtime has ended");
    answer.await.unwrap_or_else(|_| Err(ended()))
}

async fn within<T>(
    link: &Link,
    at: &Address,
    bound: Duration,
    done: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::select! {
        biased;
        done = done => done,
        () = link.runtime.sleep_until(link.runtime.now() + bound) => {
            let detail = format!("{at} has not answered within {bound:?}");
            Err(StoreError::new(StoreErrorKind::Unreachable, detail))
        }
    }
}
