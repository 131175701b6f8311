//! One election as its handles, its callbacks, the log and the metrics know it.

mod standing;

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tenure_core::{Claim, OtherSettings};
use tenure_driver::{Command as To, Verdict};
use tokio::sync::mpsc;

use crate::event::Event;
use crate::logging::{self, LIFE, REQUEST, tenure_span};
use crate::metrics::ElectionMetrics;
use crate::shared::{ElectionId, LostWork, NewElection, Shared, Standing};
use crate::store::StoreError;
use crate::tenure::{DriverLink, Grant, Tenure};
use crate::watchdog::WatchedWork;
use crate::{Config, Instant, StepDownReason, Token};
use standing::Answer;

pub(super) struct Election {
    pub(super) shared: Arc<Shared>,
    /// The last one.
    tenure: Option<Tenure>,
    /// The tenure's start.
    elected_at: Instant,
    /// The watched work of the present tenure.
    watched: Vec<Arc<WatchedWork>>,
    has_left: bool,
    last_error: Option<Box<StoreError>>,
    /// The last answer, as far as people want to know it.
    answer: Answer,
    /// True if the store has ever answered.
    has_answered: bool,
    /// To the error callbacks, once an error has been reported.
    errors: Option<mpsc::Sender<StoreError>>,
    metrics: ElectionMetrics,
}

/// The most errors that wait for slow callbacks; more are not reported to them.
const ERRORS: usize = 64;

impl Drop for Election {
    fn drop(&mut self) {
        if !self.has_left {
            if let Some(tenure) = &self.tenure {
                tenure.step_down(tenure.drain_until());
            }
            self.shared.abandoned();
        }
        // Dropping callbacks runs the application's code.
        if let Some(callbacks) = self.shared.callbacks.take()
            && self.shared.runtime.available().is_ok()
        {
            self.shared.runtime.spawn(async move { drop(callbacks) }.boxed());
        }
    }
}

impl Election {
    pub(super) fn new(new: NewElection) -> Self {
        let NewElection { shared, metrics, .. } = new;
        Self {
            shared,
            tenure: None,
            elected_at: Instant::ORIGIN,
            watched: Vec::new(),
            has_left: false,
            last_error: None,
            answer: Answer::Other,
            has_answered: false,
            errors: None,
            metrics,
        }
    }

    fn config(&self) -> &Config {
        &self.shared.settings.chosen.config
    }

    pub(super) fn request_timeout(&self) -> Duration {
        self.config().request_timeout()
    }

    pub(super) fn hold_off(&self) -> Duration {
        self.shared.settings.chosen.hold_off
    }

    /// The present hold of the last tenure.
    pub(super) fn held(&self) -> Option<To> {
        let tenure = self.tenure.as_ref()?;
        tenure.held_until().map(|until| To::Held(tenure.token(), until))
    }

    /// Watches work of the present tenure. The work of any other tenure has lost the lead already.
    pub(super) fn watch(&mut self, token: Token, work: Arc<WatchedWork>) -> Option<To> {
        let tenure = self.tenure.as_ref()?;
        if tenure.token() != token || tenure.was_closed() {
            return None;
        }
        self.watched.retain(|one| one.due_at().is_some());
        self.watched.push(work);
        self.work_due()
    }

    /// The first due time of the watched work's calls.
    pub(super) fn work_due(&self) -> Option<To> {
        let (token, hold_off) = (self.tenure.as_ref()?.token(), self.hold_off());
        let due = self.watched.iter().filter_map(|one| one.due_at()).min();
        Some(To::WorkDue { token, due, hold_off })
    }

    /// Completes when all work of the last tenure has ended.
    pub(super) fn drained(&self) -> Option<BoxFuture<'static, ElectionId>> {
        let (work, id) = (self.tenure.as_ref()?.work().clone(), self.shared.id);
        let drained = async move {
            work.wait().await;
            id
        };
        Some(drained.boxed())
    }

    /// The driver is dropped under a current tenure.
    pub(super) fn driver_gone(&self, now: Instant) {
        let Some(tenure) = &self.tenure else { return };
        logging::warn!(
            target: LIFE, key = ?self.shared.key, token = %tenure.token(), led = ?now.since(self.elected_at),
            "the driver was dropped under a current tenure: the lease ends by itself"
        );
        if let Some(recorder) = &self.shared.recorder {
            recorder.driver_gone(now, tenure.token());
        }
    }

    /// A tenure begins. False if a handle closed its claim before: the machine has to be told.
    pub(super) fn elected(&mut self, now: Instant, claim: Claim) -> bool {
        let shared = &self.shared;
        let (until, token) = (claim.valid_until(), claim.token());
        let tenure = Tenure::new(Grant {
            token,
            key: shared.key.clone(),
            runtime: Arc::clone(&shared.runtime),
            until,
            drain_until: self.drain_until(claim),
            driver: Arc::downgrade(shared) as Weak<dyn DriverLink>,
            recorder: shared.recorder.clone(),
            span: tenure_span(&shared.key, token, shared.name()),
        });
        self.elected_at = now;
        logging::info!(target: LIFE, key = ?shared.key, %token, name = shared.name(), "elected");
        self.metrics.elected();
        if let Some(recorder) = &shared.recorder {
            recorder.elected(now, claim);
        }
        let is_open = shared.leads_until.extend(until);
        if !is_open {
            tenure.close();
        }
        shared.standing.set(Standing::Leading(tenure.clone()), now);
        shared.events.publish(|| Event::Elected(tenure.clone()));
        for callback in shared.callbacks.elected(&tenure) {
            let tenure = tenure.clone();
            // Its result does not matter to the election.
            let run = async move {
                let _ = tenure.run(callback).await;
            };
            shared.runtime.spawn(run.boxed());
        }
        self.tenure = Some(tenure);
        is_open
    }

    /// The claim is extended. False if work or a handle has closed it, by its own reading of the
    /// clock, just before the renewal arrived: the tenure has to end for the machine too.
    pub(super) fn renewed(&self, now: Instant, claim: Claim) -> bool {
        let Some(tenure) = &self.tenure else { return true };
        self.metrics.renewed(tenure.valid_until().since(now), self.config().validity());
        if !tenure.extend(claim.valid_until(), self.drain_until(claim)) {
            return false;
        }
        self.shared.leads_until.extend(claim.valid_until());
        if let Some(recorder) = &self.shared.recorder {
            recorder.renewed(now, claim);
        }
        self.shared.events.publish(|| Event::Renewed(tenure.clone()));
        true
    }

    /// The end of the lease that backs a claim, as the candidate can be sure of it.
    fn drain_until(&self, claim: Claim) -> Instant {
        claim.valid_until() + self.config().stop_margin()
    }

    pub(super) fn stepped_down(&mut self, now: Instant, reason: StepDownReason, until: Instant) {
        self.watched = Vec::new();
        let Some(tenure) = &self.tenure else { return };
        let (shared, token) = (&self.shared, tenure.token());
        shared.leads_until.clear();
        tenure.step_down(until);
        shared.standing.set(Standing::Ending, now);
        log_end(shared, token, reason, now.since(self.elected_at));
        self.metrics.stepped_down(reason);
        if let Some(recorder) = &shared.recorder {
            recorder.stepped_down(now, token, reason);
        }
        let ended = tenure.clone();
        shared.events.publish(|| Event::SteppedDown { tenure: ended, reason });
        self.run_step_down_callbacks(now, tenure, reason);
        if !tenure.work().is_empty() {
            let (tasks, at_most) = (tenure.work().len(), until.since(now));
            logging::info!(
                target: LIFE, key = ?shared.key, %token, tasks, ?at_most,
                "waiting for leader-only work to end before the lease is handed back"
            );
        }
    }

    fn run_step_down_callbacks(&self, now: Instant, tenure: &Tenure, reason: StepDownReason) {
        let bound = now + self.config().drain_bound();
        for callback in self.shared.callbacks.stepped_down(tenure, reason) {
            let belongs = tenure.work().token();
            let late = self.shared.runtime.sleep_until(bound);
            let work = async move {
                let _belongs = belongs;
                tokio::select! {
                    biased;
                    () = callback => {}
                    () = late => logging::warn!(target: LIFE, "a callback was dropped at the drain bound"),
                }
            };
            self.shared.runtime.spawn(tenure.span().instrument(work).boxed());
        }
    }

    pub(super) fn drain_moved(&self, until: Instant) {
        if let Some(tenure) = &self.tenure {
            tenure.drain_moved(until);
        }
    }

    pub(super) fn runs_out(&self, token: Token, held_for: Duration) {
        logging::info!(
            target: LIFE, key = ?self.shared.key, %token, ?held_for,
            "the tenure has ended before its hold was over: its lease is not given back, and ends by itself"
        );
    }

    /// Its name is known from the store's answer.
    pub(super) fn incumbent_changed(&self, token: Token) {
        let key = &self.shared.key;
        let said = "another candidate has the lease";
        match &self.answer {
            Answer::Held(seen) if seen.incumbent.token == token => {
                logging::info!(target: LIFE, ?key, %token, incumbent = &*seen.incumbent.name, "{said}");
            }
            Answer::Held(_) | Answer::Other => {
                logging::info!(target: LIFE, ?key, %token, "{said}");
            }
        }
        self.shared.events.publish(|| Event::IncumbentChanged { token });
    }

    pub(super) fn watches_past(&mut self, now: Instant, until: Instant) {
        let remaining = until.since(now);
        let own_quarantine = self.config().quarantine();
        let longer = if remaining > own_quarantine {
            "; that is longer than this candidate's quarantine, since a candidate with a longer TTL has led"
        } else {
            ""
        };
        logging::warn!(
            target: LIFE, key = ?self.shared.key, ?remaining, ?own_quarantine,
            "the store is new to this prefix, was restarted, or lost data: nobody is granted the lease \
             before the longest lease of an older leader would have ended{longer}"
        );
        self.metrics.watching(now, until);
        self.shared.events.publish(|| Event::Watching { remaining });
    }

    pub(super) fn contradicted(&self, other: OtherSettings) {
        let (key, ttl, quarantine) = (&self.shared.key, other.ttl(), other.quarantine());
        let (own_ttl, own_quarantine) = (self.config().ttl(), self.config().quarantine());
        if matches!(self.answer, Answer::Other) {
            logging::warn!(
                target: LIFE, ?key, ?own_ttl, ?own_quarantine, ?ttl, ?quarantine,
                "the last leader, which gave the lead back, had a TTL above the own quarantine, or a quarantine \
                 below the own TTL: waiting once for the longer of its TTL and its quarantine, unless other \
                 candidates have these settings still"
            );
        } else {
            logging::error!(
                target: LIFE, ?key, ?own_ttl, ?own_quarantine, ?ttl, ?quarantine,
                "another candidate of this election has a TTL above the own quarantine, or a quarantine below \
                 the own TTL, so that each handover between them takes the longer of its TTL and its \
                 quarantine: set the quarantine of every candidate to the longest TTL in use"
            );
        }
        self.metrics.contradicted();
        self.shared.events.publish(|| Event::SettingsContradict { ttl, quarantine });
    }

    /// The error of the last request that has failed since the store last answered.
    pub(super) fn last_error(&self) -> Option<StoreError> {
        self.last_error.as_deref().cloned()
    }

    pub(super) fn store_is_unavailable(&mut self, since: Instant, error: StoreError) {
        self.metrics.store_is_down();
        self.shared.standing.store_is_unavailable(since, error.clone());
        self.shared.events.publish(|| Event::StoreUnavailable { error });
    }

    pub(super) fn store_answers_again(&mut self) {
        self.last_error = None;
        self.metrics.store_is_up();
        self.shared.standing.store_answers();
        self.shared.events.publish(|| Event::StoreRecovered);
    }

    /// A request was answered, has failed or was given up.
    pub(super) fn request_ended(
        &mut self,
        now: Instant,
        request: &'static str,
        took: Duration,
        verdict: Verdict,
    ) {
        self.metrics.answered(now, request, took, verdict);
        if verdict != Verdict::Unknown {
            logging::debug!(target: REQUEST, key = ?self.shared.key, request, ?took, "answered");
        }
    }

    pub(super) fn failed(&mut self, error: StoreError) {
        let shared = &self.shared;
        if shared.callbacks.has_error_callbacks() {
            let report = self.errors.get_or_insert_with(|| {
                let (report, mut reports) = mpsc::channel(ERRORS);
                let callbacks = shared.callbacks.clone();
                let run = async move {
                    while let Some(error) = reports.recv().await {
                        callbacks.store_error(&error).await;
                    }
                };
                shared.runtime.spawn(run.boxed());
                report
            });
            // Callbacks that are too slow miss errors.
            let _ = report.try_send(error.clone());
        }
        if self.last_error.is_some() {
            shared.standing.store_failed_again(error.clone());
        }
        self.last_error = Some(Box::new(error));
    }

    /// The candidate leaves the election because its work was lost.
    pub(super) fn lost_work(&self, token: Option<Token>, how: LostWork, pause: Duration) {
        if token.is_some() {
            self.metrics.work_lost(how.name());
        }
        let (key, name) = (&self.shared.key, how.name());
        match (token, how) {
            (Some(token), LostWork::Dropped | LostWork::Panicked) => logging::warn!(
                target: LIFE, ?key, %token, how = %name, hold_off = ?pause,
                "the leader's work is gone: resigning, and campaigning again only when work is offered and \
                 the hold-off is over"
            ),
            (None, LostWork::Panicked) => logging::warn!(
                target: LIFE, ?key, how = %name,
                "the work that was offered is gone: not campaigning until work is offered again"
            ),
            (None, LostWork::Dropped) => logging::info!(
                target: LIFE, ?key, how = %name,
                "the work that was offered is gone: not campaigning until work is offered again"
            ),
            // The work's own task has logged the error.
            (_, LostWork::Failed { .. }) => logging::info!(
                target: LIFE, ?key, hold_off = ?pause, "campaigning again after work that has failed"
            ),
        }
    }

    pub(super) fn work_is_silent(&self, token: Token) {
        logging::warn!(
            target: LIFE, key = ?self.shared.key, %token, hold_off = ?self.hold_off(),
            "the leader's work did not call alive() within the bound of its watchdog: resigning, and campaigning \
             again when the work has ended and the hold-off is over"
        );
    }

    pub(super) fn left(&mut self, now: Instant) {
        self.has_left = true;
        logging::info!(target: LIFE, key = ?self.shared.key, "left the election");
        self.shared.standing.set(Standing::Stopped, now);
        self.shared.events.publish(|| Event::Stopped);
        self.shared.events.close();
    }
}

/// An end that the application asked for belongs to a normal life; any other is a warning.
fn log_end(shared: &Shared, token: Token, reason: StepDownReason, led: Duration) {
    let (key, name) = (&shared.key, shared.name());
    if matches!(reason, StepDownReason::Resigned | StepDownReason::HandedOver) {
        logging::info!(target: LIFE, ?key, %token, name, ?reason, ?led, "stepped down");
    } else {
        logging::warn!(target: LIFE, ?key, %token, name, ?reason, ?led, "stepped down");
    }
}
