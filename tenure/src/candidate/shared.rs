//! What a candidate's handles and its driver share.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

use super::{Callbacks, StopError};
use crate::deadline::Deadline;
use crate::driver::{Command, ElectionId};
use crate::event::Events;
use crate::runtime::Runtime;
use crate::store::{AnyStore, Key, Reply, Request, Store, StoreError, StoreErrorKind};
use crate::{Config, Tenure};

/// Where the driver last saw the candidate. Whether a tenure still holds, only its clock tells.
#[derive(Clone, Debug)]
pub(crate) enum Standing {
    Waiting,
    Leading(Tenure),
    Stopped,
    /// The driver is gone without having handed anything back.
    Abandoned,
}

pub(crate) struct Shared {
    pub(crate) id: ElectionId,
    pub(crate) key: Key,
    pub(crate) config: Config,
    pub(crate) hold_off: std::time::Duration,
    pub(crate) store: AnyStore,
    pub(crate) runtime: Arc<dyn Runtime>,
    /// The end of this candidate's present claim. Closed while a resignation is on its way.
    pub(crate) leads_until: Deadline,
    pub(crate) events: Events,
    pub(crate) callbacks: Callbacks,
    pub(crate) standing: watch::Sender<Standing>,
    pub(crate) commands: mpsc::UnboundedSender<Command>,
}

impl Shared {
    pub(crate) fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    pub(crate) fn tenure(&self) -> Option<Tenure> {
        match &*self.standing.borrow() {
            Standing::Leading(tenure) => Some(tenure.clone()),
            Standing::Waiting | Standing::Stopped | Standing::Abandoned => None,
        }
    }

    /// Asks the store something that no machine asks, within the request timeout.
    pub(crate) async fn ask(&self, request: Request) -> Result<Reply, StoreError> {
        let bound = self.config.request_timeout();
        tokio::select! {
            biased;
            reply = self.store.call(&self.key, request) => reply,
            () = self.runtime.sleep_until(self.runtime.now() + bound) => {
                Err(StoreError::new(StoreErrorKind::Timeout, format!("{bound:?}")))
            }
        }
    }

    /// Ends the claim here and now; the driver hears of it next.
    fn close(&self) {
        self.leads_until.close();
        if let Some(tenure) = self.tenure() {
            tenure.close();
        }
    }

    pub(crate) fn stop(&self) {
        self.close();
        // A driver that is gone has nothing left to stop.
        let _ = self.commands.send(Command::Stop { id: self.id, done: None });
    }

    pub(crate) async fn stopped(&self) -> Result<(), StopError> {
        if matches!(&*self.standing.borrow(), Standing::Stopped) {
            return Ok(());
        }
        self.ended(|id, done| Command::Stop { id, done: Some(done) }).await
    }

    pub(crate) async fn resigned(&self) -> Result<(), StopError> {
        let again_after = self.hold_off;
        self.ended(|id, done| Command::Resign { id, again_after, done }).await
    }

    async fn ended(
        &self,
        command: impl FnOnce(ElectionId, oneshot::Sender<()>) -> Command,
    ) -> Result<(), StopError> {
        self.close();
        let bound = self.runtime.now() + self.config.explain().longest_stop;
        let (done, ended) = oneshot::channel();
        self.commands.send(command(self.id, done)).map_err(|_| StopError::DriverGone)?;
        tokio::select! {
            biased;
            ended = ended => ended.map_err(|_| StopError::DriverGone),
            () = self.runtime.sleep_until(bound) => Err(StopError::StillRunning),
        }
    }
}
