//! One election: its state machine, its calls, and its tenure.

mod describe;
mod events;
mod held;
mod standing;
mod watched;
mod work;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tenure_core::{
    Candidate as Machine, Claim, Input, Output, Pending, Reply as MachineReply,
    Request as MachineRequest, RequestId,
};
use tokio::sync::mpsc;

use super::admission::{Lane, Place, Urgency, Waiting};
use super::calls::{Calls, Outgoing};
use super::spread::Renewal;
use super::{CallResult, World, given_up};
use crate::logging::{self, LIFE, REQUEST};
use crate::metrics::ElectionMetrics;
use crate::shared::{ElectionId, NewElection, Shared};
use crate::store::{Key, Request, StoreError, StoreErrorKind};
use crate::tenure::Tenure;
use crate::{Instant, Token};
use describe::Describing;
pub(super) use describe::Description;
use standing::Answer;
use watched::Watched;
use work::WithoutWork;

pub(super) struct Election {
    machine: Machine,
    shared: Arc<Shared>,
    tenure: Option<Tenure>,
    /// The tenure's start.
    elected_at: Instant,
    calls: Calls,
    /// The request that gives a tenure's lease back.
    release: Option<(RequestId, Token)>,
    /// `Lane::Stuck` if its last request was not answered, while the store answered later ones.
    lane: Lane,
    renewal: Renewal,
    /// The time of its timer.
    pub(super) alarm: Option<Instant>,
    /// Its place in the queue for admission.
    place: Option<Place>,
    stopping: bool,
    stopped: bool,
    last_error: Option<Box<StoreError>>,
    /// The last answer, as far as people want to know it.
    answer: Answer,
    /// True if the store has ever answered.
    has_answered: bool,
    /// To the error callbacks, once an error has been reported.
    errors: Option<mpsc::Sender<StoreError>>,
    without_work: WithoutWork,
    watched: Watched,
    describing: Describing,
    metrics: ElectionMetrics,
}

/// Into how many times an interval is divided where one call takes many renewals: elections of the
/// same time renew in one call.
const TOGETHER: u32 = 500;

/// The most errors that wait for slow callbacks; more are not reported to them.
const ERRORS: usize = 64;

impl Drop for Election {
    fn drop(&mut self) {
        if !self.stopped {
            if let Some(tenure) = &self.tenure {
                self.record_driver_gone(tenure);
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
        let NewElection { shared, config, seed, metrics, .. } = new;
        Self {
            machine: Machine::new(config, shared.name_id(), seed),
            shared,
            tenure: None,
            elected_at: Instant::ORIGIN,
            calls: Calls::default(),
            release: None,
            lane: Lane::Usual,
            renewal: Renewal::WhenDue,
            alarm: None,
            place: None,
            stopping: false,
            stopped: false,
            last_error: None,
            answer: Answer::Other,
            has_answered: false,
            errors: None,
            without_work: WithoutWork::No,
            watched: Watched::default(),
            describing: Describing::default(),
            metrics,
        }
    }

    /// Writes the end of a tenure that has not ended, since the driver is dropped.
    fn record_driver_gone(&self, tenure: &Tenure) {
        let now = self.shared.runtime.now();
        if self.machine.claim(now).is_none() {
            return;
        }
        logging::warn!(
            target: LIFE, key = ?self.shared.key, token = %tenure.token(), led = ?now.since(self.elected_at),
            "the driver was dropped under a current tenure: the lease ends by itself"
        );
        if let Some(recorder) = &self.shared.recorder {
            recorder.driver_gone(now, tenure.token());
        }
    }

    pub(super) fn id(&self) -> ElectionId {
        self.shared.id
    }

    pub(super) fn key(&self) -> &Key {
        &self.shared.key
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let (machine, calls) = (self.machine.deadline(), self.calls.deadline());
        let others = self.campaigns_again_at().into_iter().chain(self.renewal.at());
        let others = others.chain(self.watched.deadline()).chain(self.describing.deadline());
        machine.into_iter().chain(calls).chain(others).min()
    }

    /// True if the candidate has stopped and all its calls have ended or were given up.
    pub(super) fn has_stopped(&self) -> bool {
        self.stopped && self.calls.is_empty() && self.machine.pending().is_none()
    }

    pub(super) fn request_timeout(&self) -> Duration {
        self.machine.config().request_timeout()
    }

    /// The handle closed the claim before it asked to resign; later claims are open again.
    pub(super) fn reopen(&mut self) {
        if !self.stopping {
            self.shared.leads_until.reopen();
        }
    }

    /// Hands an input to the machine, and carries out its outputs. Then the next request waits for
    /// its admission.
    pub(super) fn handle(&mut self, world: &mut World, now: Instant, input: Input) {
        self.step(world, now, input);
        self.announce(world);
        let waiting = self.waiting();
        world.admission.set(self.shared.id, &mut self.place, waiting, self.lane);
    }

    fn step(&mut self, world: &mut World, now: Instant, input: Input) {
        self.renewal.time_is(now);
        if let Input::Reply { id, result: Ok(MachineReply::Released | MachineReply::NotHeld) } =
            input
            && let Some((_, token)) = self.release.take_if(|(release, _)| *release == id)
        {
            self.shared.standing.given_back(token);
        }
        self.machine.handle(now, input);
        let mut unsent = None;
        if let Input::Admitted = input {
            self.renewal = Renewal::WhenDue;
        }
        while let Some(output) = self.machine.poll() {
            match output {
                Output::Send { id, request, give_up_at } => {
                    if let MachineRequest::Release { token, .. } = request {
                        if self.runs_out(token, now) {
                            unsent = Some(id);
                            continue;
                        }
                        self.release = Some((id, token));
                    }
                    let request = Request::of_machine(request, || self.shared.profile());
                    let (election, key) = (self.shared.id, self.shared.key.clone());
                    let one = Outgoing { election, id, key, request, sent_at: now, give_up_at };
                    self.calls.join(world, self.lane, one);
                }
                Output::Event(event) => self.handle_event(world, now, event),
            }
        }
        // As if the store had answered; one that fails answers nothing.
        if let Some(id) = unsent
            && self.last_error.is_none()
        {
            self.step(world, now, Input::Reply { id, result: Ok(MachineReply::NotHeld) });
        }
        self.give_up_calls(world, now);
        self.describe(world, now);
        if self.tenure_was_closed(now) {
            self.step(world, now, Input::Resign { again_after: Some(Duration::ZERO) });
        }
        if self.gives_up_silent_work(now) {
            let again_after = Some(self.shared.settings.chosen.hold_off);
            self.step(world, now, Input::Resign { again_after });
        }
        if self.campaigns_again_at().is_some_and(|at| now >= at) {
            self.without_work = WithoutWork::No;
            self.step(world, now, Input::Campaign);
        }
    }

    /// The request that waits for its admission.
    fn waiting(&self) -> Option<Waiting> {
        let config = self.machine.config();
        let two_slow_attempts = config.request_timeout() * 3 + config.retry().1;
        let renew = |valid_until: Instant| {
            let urgent_from = valid_until - config.validity() / 2;
            let hurries_from = valid_until - two_slow_attempts;
            Waiting::Renew(Urgency { valid_until, urgent_from, hurries_from })
        };
        match (self.machine.pending(), self.renewal, &self.tenure) {
            (Some(Pending::Release), ..) => Some(Waiting::Release),
            (Some(Pending::Renew { valid_until }), ..) => Some(renew(valid_until)),
            (Some(Pending::Acquire), ..) => Some(Waiting::Acquire),
            (Some(Pending::Look), ..) => Some(Waiting::Look),
            (None, Renewal::Now, Some(tenure)) => Some(renew(tenure.valid_until())),
            (None, ..) => None,
        }
    }

    /// The next renewal, before it is due: see [`spread`](super::spread).
    fn spread_renewal(&mut self, world: &World, claim: Claim) {
        let config = self.machine.config();
        let interval = config.renew_interval();
        let together =
            if world.in_call.renewals > 1 { interval / TOGETHER } else { Duration::ZERO };
        // A renewal that is in flight is not sent again.
        let due = self.machine.deadline().filter(|_| self.calls.is_empty());
        // One that follows sooner than usual has a time of its own.
        let usual = claim.valid_until() - config.validity() + interval;
        let due = due.filter(|due| *due >= usual);
        self.renewal = due.map_or(Renewal::WhenDue, |due| {
            Renewal::before(due, world.phase, self.shared.id, interval, together)
        });
    }

    /// The next renewal leaves as soon as it is admitted. An election without a claim has none.
    pub(super) fn renew_now(&mut self, now: Instant) {
        if self.calls.is_empty() && self.machine.claim(now).is_some() {
            self.renewal = Renewal::Now;
        }
    }

    /// Leaves the queue for admission: afterwards nothing there names it.
    pub(super) fn leave_queue(&mut self, world: &mut World) {
        world.admission.leave(self.shared.id, self.place.take());
    }

    fn give_up_calls(&mut self, world: &mut World, now: Instant) {
        for (name, left) in self.calls.give_up(now) {
            self.lane = if world.admission.overtook(left) { Lane::Stuck } else { Lane::Usual };
            self.metrics.given_up(now, name, self.request_timeout());
            let error = given_up(&world.store, self.request_timeout());
            self.failed(world, now, name, error);
        }
    }

    /// The reply of a call as the machine's input; `None` if its outcome is unknown.
    pub(super) fn call_ended(
        &mut self,
        call: &CallResult,
        world: &mut World,
    ) -> Option<tenure_core::Reply> {
        let (now, name) = (world.runtime.now(), call.name);
        let took = now.since(call.sent_at);
        if self.calls.ended(call.id) {
            self.metrics.answered(now, name, took, &call.result);
        }
        match &call.result {
            Ok(answer) => {
                self.lane = Lane::Usual;
                let key = &self.shared.key;
                logging::debug!(target: REQUEST, ?key, request = name, ?took, "answered");
                let reply = answer.to_contract();
                if reply.is_some() {
                    self.answered(answer, now);
                } else {
                    let detail = format!("to {name}");
                    let error = StoreError::new(StoreErrorKind::UnexpectedReply, detail);
                    self.failed(world, now, name, error);
                }
                reply.map(|reply| self.unless_held(reply, now))
            }
            Err(error) => {
                self.failed(world, now, name, error.clone());
                None
            }
        }
    }

    fn failed(&mut self, world: &mut World, now: Instant, request: &str, error: StoreError) {
        logging::debug!(target: REQUEST, key = ?self.shared.key, request, %error, "failed");
        self.describing.may_be_lost();
        world.outage.lasts(now, &error);
        if self.shared.callbacks.has_error_callbacks() {
            let report = self.errors.get_or_insert_with(|| {
                let (report, mut reports) = mpsc::channel(ERRORS);
                let callbacks = self.shared.callbacks.clone();
                let run = async move {
                    while let Some(error) = reports.recv().await {
                        callbacks.store_error(&error).await;
                    }
                };
                world.runtime.spawn(run.boxed());
                report
            });
            // Callbacks that are too slow miss errors.
            let _ = report.try_send(error.clone());
        }
        if self.last_error.is_some() {
            self.shared.standing.store_failed_again(error.clone());
        }
        self.last_error = Some(Box::new(error));
    }

    /// True if work or a handle has closed the tenure, by its own reading of the clock, just before
    /// a renewal arrived that would have extended it. The tenure then ends for the machine too.
    fn tenure_was_closed(&self, now: Instant) -> bool {
        self.machine.claim(now).is_some() && self.tenure.as_ref().is_some_and(Tenure::was_closed)
    }
}
