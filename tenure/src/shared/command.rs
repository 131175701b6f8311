//! The commands of handles to their driver.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::Seed;
use tokio::sync::{Notify, oneshot};

use super::{LostWork, Shared};
use crate::metrics::ElectionMetrics;
use crate::store::{Key, Reply, Request, StoreError};
use crate::tenure::Inbox;
use crate::watchdog::WatchedWork;
use crate::{Config, Token};

/// Names an election within its driver.
pub(crate) type ElectionId = u64;

/// A command of a handle to its driver.
pub(crate) enum Command {
    Join(Box<NewElection>),
    Resign {
        id: ElectionId,
        again_after: Duration,
        done: oneshot::Sender<()>,
    },
    Stop {
        id: ElectionId,
        done: Option<oneshot::Sender<()>>,
    },
    /// Work is offered to a candidate that may be waiting for some.
    WorkOffered {
        id: ElectionId,
    },
    /// Offered work was lost, under a tenure of that token unless it was waiting for one.
    WorkLost {
        id: ElectionId,
        token: Option<Token>,
        how: LostWork,
    },
    /// A tenure's work asks to be watched.
    WatchWork {
        id: ElectionId,
        token: Token,
        work: Arc<WatchedWork>,
    },
    /// The candidate has another profile.
    Describe {
        id: ElectionId,
    },
    Ask(Box<Ask>),
    /// An observer wants to know when the lease may have become vacant.
    Watch {
        key: Key,
        hinted: Arc<Notify>,
    },
    /// The same observer no longer wants it.
    Unwatch {
        key: Key,
        hinted: Arc<Notify>,
    },
    Inbox(Box<Inbox>),
}

/// What the driver makes an election of.
pub(crate) struct NewElection {
    pub(crate) shared: Arc<Shared>,
    pub(crate) config: Config,
    pub(crate) seed: Seed,
    /// Random: where the driver's times for renewals begin, if this is its first election.
    pub(crate) phase: u64,
    pub(crate) metrics: ElectionMetrics,
}

/// A request of a handle to the store.
pub(crate) struct Ask {
    pub(crate) key: Key,
    pub(crate) request: Request,
    /// How long to wait for the answer.
    pub(crate) within: Duration,
    pub(crate) answer: oneshot::Sender<Result<Reply, StoreError>>,
}
