//! The common state of a candidate's handles and driver.

mod callbacks;
mod command;
mod profile;
mod settings;
mod standing;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tenure_core::NameId;
pub(crate) use tenure_driver::{ElectionId, LostWork, ObserverId, QuestionId};
use tokio::sync::oneshot;

pub(crate) use callbacks::Callbacks;
pub(crate) use command::{Ask, Command, Commands, NewElection};
pub(crate) use profile::{Replaced, Version};
pub(crate) use settings::{Chosen, Settings};
pub(crate) use standing::{Announced, Sighting, Standing, State, StoreState};

use crate::Token;
use crate::deadline::Deadline;
use crate::event::Events;
use crate::logging::{self, LIFE};
use crate::runtime::Runtime;
use crate::store::{Key, LimitError, Profile, Reply, Request, StoreError, StoreErrorKind};
use crate::tenure::{DriverLink, Inbox, Tenure};
use crate::trace::Recorder;
use crate::watchdog::WatchedWork;

/// A stop that did not end as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StopError {
    /// Leader-only work has outlived its bound, or nobody runs the driver. The lead has ended all
    /// the same; the lease is not handed back before that work has ended.
    #[error(
        "leader-only work still runs after its bound, or the driver does not run; the lease ends by itself"
    )]
    StillRunning,
    /// The driver is gone, and the lease was not handed back: it ends by itself.
    #[error("the driver is gone; the lease ends by itself")]
    DriverGone,
}

/// The driver is gone, and the command with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriverGone;

/// A handle's wait for a stop beyond the longest one. The driver ends each step of a stop by a
/// timer, and timers are late by up to a millisecond.
const LATE: Duration = Duration::from_millis(5);

pub(crate) struct Shared {
    pub(crate) id: ElectionId,
    pub(crate) key: Key,
    pub(crate) settings: Arc<Settings>,
    pub(crate) replaced: Replaced,
    pub(crate) runtime: Arc<dyn Runtime>,
    /// The end of this candidate's present claim. Closed while a resignation is on its way to the
    /// driver.
    pub(crate) leads_until: Deadline,
    pub(crate) events: Events,
    pub(crate) callbacks: Callbacks,
    /// The number of calls of `run_while_leader`, `run_until` and their `try_` forms under way.
    pub(crate) offers: AtomicUsize,
    /// The token of the tenure of which the log says that it goes on without work; zero for none.
    pub(crate) goes_on_under: AtomicU64,
    pub(crate) standing: Announced,
    /// The candidate's place in a log, if it has one.
    pub(crate) recorder: Option<Arc<Recorder>>,
}

impl Shared {
    /// The candidate's name, for people.
    pub(crate) fn name_id(&self) -> NameId {
        self.settings.chosen.profile.name_id()
    }

    pub(crate) fn name(&self) -> &str {
        self.settings.chosen.profile.name()
    }

    /// The candidate's present profile.
    pub(crate) fn profile(&self) -> Profile {
        let replaced = self.replaced.present();
        replaced.map_or_else(|| self.settings.chosen.profile.clone(), |latest| latest.profile)
    }

    /// Replaces the candidate's metadata. The driver tells the store, as soon and as often as
    /// needed.
    pub(crate) fn set_metadata(&self, metadata: &Bytes) -> Result<(), LimitError> {
        if self.replaced.set(&self.settings.chosen.profile, metadata)? {
            // A driver that is gone tells nobody.
            let _ = self.send(Command::Describe { id: self.id });
        }
        Ok(())
    }

    pub(crate) fn tenure(&self) -> Option<Tenure> {
        match self.standing.get() {
            Standing::Leading(tenure) => Some(tenure),
            Standing::Campaigning(_)
            | Standing::Watching(_)
            | Standing::Ending
            | Standing::HoldingOff
            | Standing::Stopped
            | Standing::Abandoned => None,
        }
    }

    /// Hands a command to the driver.
    ///
    /// # Errors
    /// If the driver is gone.
    pub(crate) fn send(&self, command: Command) -> Result<(), DriverGone> {
        self.settings.commands.send(command)
    }

    /// True of a candidate, too, that takes part without work: it returns after work that has failed.
    pub(crate) fn is_offered_work(&self) -> bool {
        self.settings.chosen.keeps_lead_without_work || self.offers.load(Ordering::Acquire) > 0
    }

    /// Sends a request of a handle to the store, with the request timeout.
    pub(crate) async fn ask(&self, request: Request) -> Result<Reply, StoreError> {
        let Settings { commands, chosen, .. } = &*self.settings;
        ask(commands, &self.runtime, &self.key, chosen.config.request_timeout(), request).await
    }

    /// The driver is gone: the candidate is never elected again, and no event follows.
    pub(crate) fn abandoned(&self) {
        self.leads_until.close();
        self.standing.set(Standing::Abandoned, self.runtime.now());
        self.events.close();
    }

    /// Ends the claim at once; the driver learns of it later.
    fn close(&self) {
        self.leads_until.close();
        if let Some(tenure) = self.tenure() {
            tenure.close();
        }
    }

    pub(crate) fn stop(&self) {
        self.standing.stopping();
        self.close();
        // A driver that is gone has nothing left to stop.
        let _ = self.send(Command::Stop { id: self.id, done: None });
    }

    pub(crate) async fn stopped(&self) -> Result<(), StopError> {
        if matches!(self.standing.get(), Standing::Stopped) {
            return Ok(());
        }
        self.standing.stopping();
        self.end_within_bound(|id, done| Command::Stop { id, done: Some(done) }).await
    }

    pub(crate) async fn resigned(&self) -> Result<(), StopError> {
        if matches!(self.standing.get(), Standing::Stopped) {
            return Ok(());
        }
        let again_after = self.settings.chosen.hold_off;
        self.end_within_bound(|id, done| Command::Resign { id, again_after, done }).await
    }

    /// Nobody answers a handle whose candidate has stopped meanwhile.
    fn has_stopped(&self) -> Result<(), StopError> {
        match self.standing.get() {
            Standing::Stopped => Ok(()),
            Standing::Campaigning(_)
            | Standing::Watching(_)
            | Standing::Leading(_)
            | Standing::Ending
            | Standing::HoldingOff
            | Standing::Abandoned => Err(StopError::DriverGone),
        }
    }

    async fn end_within_bound(
        &self,
        command: impl FnOnce(ElectionId, oneshot::Sender<()>) -> Command,
    ) -> Result<(), StopError> {
        self.close();
        let bound = self.runtime.now() + self.settings.chosen.longest_stop + LATE;
        let (done, ended) = oneshot::channel();
        if self.send(command(self.id, done)).is_err() {
            return self.has_stopped();
        }
        tokio::select! {
            biased;
            ended = ended => ended.or_else(|_| self.has_stopped()),
            () = self.runtime.sleep_until(bound) => {
                logging::warn!(
                    target: LIFE, key = ?self.key,
                    "leader-only work still runs after its bound: its future blocks, or is not polled; the \
                     lease ends by itself"
                );
                Err(StopError::StillRunning)
            }
        }
    }
}

/// Sends a request to the store through the driver, and waits that long for its answer.
pub(crate) async fn ask(
    commands: &Commands,
    runtime: &Arc<dyn Runtime>,
    key: &Key,
    within: Duration,
    request: Request,
) -> Result<Reply, StoreError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);

    let gone = || StoreError::new(StoreErrorKind::Unreachable, "the driver is gone");
    let asked = async {
        let place = commands.place().await;
        let (answer, answered) = oneshot::channel();
        let question = NEXT.fetch_add(1, Ordering::Relaxed);
        let ask = Box::new(Ask { question, key: key.clone(), request, within, answer, place });
        commands.send(Command::Ask(ask)).map_err(|DriverGone| gone())?;
        let unanswered = Unanswered { commands, question };
        let answer = answered.await;
        std::mem::forget(unanswered);
        answer.unwrap_or_else(|_| Err(gone()))
    };
    tokio::select! {
        biased;
        answer = asked => answer,
        // The driver may not run.
        () = runtime.sleep_until(runtime.now() + within) => {
            Err(StoreError::new(StoreErrorKind::Timeout, format!("{within:?}")))
        }
    }
}

/// A question without an answer. Its caller has given up if it is dropped.
struct Unanswered<'a> {
    commands: &'a Commands,
    question: QuestionId,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        // A driver that is gone asks nothing.
        let _ = self.commands.send(Command::GiveUp { question: self.question });
    }
}

impl DriverLink for Shared {
    fn open(&self, inbox: Inbox) {
        // Without a driver the inbox is dropped, and ends.
        let _ = self.send(Command::Inbox(Box::new(inbox)));
    }

    fn watch(&self, token: Token, work: Arc<WatchedWork>) {
        // A driver that is gone renews nothing.
        let _ = self.send(Command::WatchWork { id: self.id, token, work });
    }
}
