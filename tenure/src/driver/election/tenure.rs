//! The tenures of an election, their callbacks and their work.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tenure_core::Claim;
use tenure_driver::Command as To;

use super::Election;
use crate::event::Event;
use crate::logging::{self, LIFE, tenure_span};
use crate::shared::{ElectionId, LostWork, Shared, Standing};
use crate::tenure::{DriverLink, Grant, Tenure};
use crate::watchdog::WatchedWork;
use crate::{Instant, StepDownReason, Token};

impl Election {
    /// The present hold of the last tenure.
    pub(in super::super) fn held(&self) -> Option<To> {
        let tenure = self.tenure.as_ref()?;
        tenure.held_until().map(|until| To::Held(tenure.token(), until))
    }

    /// Watches work of the present tenure. The work of any other tenure has lost the lead already.
    pub(in super::super) fn watch(&mut self, token: Token, work: Arc<WatchedWork>) -> Option<To> {
        let tenure = self.tenure.as_ref()?;
        if tenure.token() != token || tenure.was_closed() {
            return None;
        }
        self.watched.retain(|one| one.due_at().is_some());
        self.watched.push(work);
        self.work_due()
    }

    /// The first due time of the watched work's calls.
    pub(in super::super) fn work_due(&self) -> Option<To> {
        let (token, hold_off) = (self.tenure.as_ref()?.token(), self.hold_off());
        let due = self.watched.iter().filter_map(|one| one.due_at()).min();
        Some(To::WorkDue { token, due, hold_off })
    }

    /// Completes when all work of the last tenure has ended.
    pub(in super::super) fn drained(&self) -> Option<BoxFuture<'static, ElectionId>> {
        let (work, id) = (self.tenure.as_ref()?.work().clone(), self.shared.id);
        let drained = async move {
            work.wait().await;
            id
        };
        Some(drained.boxed())
    }

    /// The driver is dropped under a current tenure.
    pub(in super::super) fn driver_gone(&self, now: Instant) {
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
    pub(in super::super) fn elected(&mut self, now: Instant, claim: Claim) -> bool {
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
    pub(in super::super) fn renewed(&self, now: Instant, claim: Claim) -> bool {
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

    pub(in super::super) fn stepped_down(
        &mut self,
        now: Instant,
        reason: StepDownReason,
        until: Instant,
    ) {
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

    pub(in super::super) fn drain_moved(&self, until: Instant) {
        if let Some(tenure) = &self.tenure {
            tenure.drain_moved(until);
        }
    }

    pub(in super::super) fn runs_out(&self, token: Token, held_for: Duration) {
        logging::info!(
            target: LIFE, key = ?self.shared.key, %token, ?held_for,
            "the tenure has ended before its hold was over: its lease is not given back, and ends by itself"
        );
    }

    /// The candidate leaves the election because its work was lost.
    pub(in super::super) fn lost_work(&self, token: Option<Token>, how: LostWork, pause: Duration) {
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

    pub(in super::super) fn work_is_silent(&self, token: Token) {
        logging::warn!(
            target: LIFE, key = ?self.shared.key, %token, hold_off = ?self.hold_off(),
            "the leader's work did not call alive() within the bound of its watchdog: resigning, and campaigning \
             again when the work has ended and the hold-off is over"
        );
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
