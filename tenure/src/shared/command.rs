//! The commands of handles to their driver.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::Seed;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::{DriverGone, ElectionId, LostWork, ObserverId, QuestionId, Shared};
use crate::Token;
use crate::metrics::ElectionMetrics;
use crate::store::{Key, Reply, Request, StoreError};
use crate::tenure::Inbox;
use crate::watchdog::WatchedWork;

/// The most questions and new observers that wait for the driver at a time. The others wait at
/// their callers: code that asks and gives up in a loop must not fill the memory, or keep the
/// driver from its leaders.
const WAITING_MOST: usize = 4_096;

/// The way to a driver. Clones lead to the same one.
#[derive(Clone)]
pub(crate) struct Commands {
    sender: mpsc::UnboundedSender<Command>,
    places: Arc<Semaphore>,
}

/// A place among the questions and observers that wait for the driver. Dropping it leaves it to the
/// next one.
pub(crate) struct WaitingPlace(#[allow(dead_code, reason = "kept")] Option<OwnedSemaphorePermit>);

impl Commands {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender, places: Arc::new(Semaphore::new(WAITING_MOST)) }, receiver)
    }

    /// # Errors
    /// If the driver is gone.
    pub(crate) fn send(&self, command: Command) -> Result<(), DriverGone> {
        self.sender.send(command).map_err(|_| DriverGone)
    }

    /// True if the driver is gone.
    pub(crate) fn are_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Waits until the driver can take in another question or observer.
    pub(crate) async fn place(&self) -> WaitingPlace {
        // It is never closed.
        WaitingPlace(Arc::clone(&self.places).acquire_owned().await.ok())
    }
}

/// A command of a handle to its driver.
pub(crate) enum Command {
    Join(Box<NewElection>),
    Resign {
        id: ElectionId,
        again_after: Duration,
        done: oneshot::Sender<()>,
    },
    /// Another candidate is wished for: a renewal learns whether it asks.
    RenewNow {
        id: ElectionId,
    },
    Stop {
        id: ElectionId,
        done: Option<oneshot::Sender<()>>,
    },
    /// Work is offered to a candidate that had none, or none is offered any more.
    Offers {
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
    /// The caller of a question has given up.
    GiveUp {
        question: QuestionId,
    },
    /// An observer wants to know when the lease may have become vacant.
    Watch {
        key: Key,
        observer: ObserverId,
        hinted: Arc<Notify>,
        place: WaitingPlace,
    },
    /// The same observer no longer wants it.
    Unwatch {
        key: Key,
        observer: ObserverId,
    },
    Inbox(Box<Inbox>),
}

/// The parts of a new election.
pub(crate) struct NewElection {
    pub(crate) shared: Arc<Shared>,
    pub(crate) seed: Seed,
    /// Random: where the driver's times for renewals begin, if this is its first election.
    pub(crate) phase: u64,
    pub(crate) metrics: ElectionMetrics,
}

/// A request of a handle to the store.
pub(crate) struct Ask {
    pub(crate) question: QuestionId,
    pub(crate) key: Key,
    pub(crate) request: Request,
    /// The time to wait for the answer.
    pub(crate) within: Duration,
    pub(crate) answer: oneshot::Sender<Result<Reply, StoreError>>,
    /// Left when the request leaves.
    pub(crate) place: WaitingPlace,
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::runtime::{Runtime, TokioRuntime};
    use crate::shared::ask;

    #[test]
    fn questions_that_were_given_up_are_bounded() {
        let (commands, mut received) = Commands::new();
        let runtime: Arc<dyn Runtime> = Arc::new(TokioRuntime);
        let key = Key::new("job").unwrap();
        let ask_once = || {
            let within = Duration::from_secs(60);
            let asked = ask(&commands, &runtime, &key, within, Request::Observe).now_or_never();
            assert!(asked.is_none());
        };
        for _ in 0..WAITING_MOST * 3 {
            ask_once();
        }
        // Each was given up, which takes no place.
        assert_eq!(received.len(), WAITING_MOST * 2);
        drop(received.try_recv());
        ask_once();
        assert_eq!(received.len(), WAITING_MOST * 2 + 1, "one has left its place to another");
    }
}
