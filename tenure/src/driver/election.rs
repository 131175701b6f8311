//! One election: its state machine, and what the world sees of it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use tenure_core::{Candidate as Machine, Claim, Event as Told, Input, Output};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::calls::{Calls, Outgoing};
use super::{Called, World};
use crate::event::Event;
use crate::shared::{ElectionId, LostWork, NewElection, Shared, Standing};
use crate::store::{Profile, Request, Store, StoreError, StoreErrorKind};
use crate::tenure::{Grant, Tenure};
use crate::{Instant, StepDownReason, Token, metrics};

pub(super) struct Election {
    machine: Machine,
    shared: Arc<Shared>,
    profile: Profile,
    tenure: Option<Tenure>,
    calls: Calls,
    /// Who waits for a resignation to be complete.
    withdrawal: Vec<oneshot::Sender<()>>,
    stopping: bool,
    stopped: bool,
    last_error: Option<StoreError>,
    /// To the callbacks that hear of errors, once one has been reported.
    errors: Option<mpsc::Sender<StoreError>>,
    without_work: WithoutWork,
    /// Ends the stream of hints.
    over: CancellationToken,
}

/// Whether the candidate stays out of the election because its work was lost under a tenure: a leader
/// without work would keep everybody else from doing it.
#[derive(Clone, Copy)]
enum WithoutWork {
    No,
    /// The tenure is being handed back.
    Resigning,
    /// From then on it campaigns again, once work is offered.
    Until(Instant),
}

/// How many errors may wait for callbacks that are slow; more are not reported to them.
const ERRORS: usize = 64;

impl Drop for Election {
    fn drop(&mut self) {
        self.over.cancel();
        if !self.stopped {
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
    pub(super) fn new(new: NewElection, world: &World) -> (Self, BoxStream<'static, ElectionId>) {
        let NewElection { shared, profile, seed } = new;
        let (id, over) = (shared.id, CancellationToken::new());
        let hints = world
            .store
            .hints(&shared.key)
            .take_until(over.clone().cancelled_owned())
            .map(move |_| id)
            .boxed();
        let election = Self {
            machine: Machine::new(shared.config, seed),
            shared,
            profile,
            tenure: None,
            calls: Calls::default(),
            withdrawal: Vec::new(),
            stopping: false,
            stopped: false,
            last_error: None,
            errors: None,
            without_work: WithoutWork::No,
            over,
        };
        (election, hints)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let (machine, calls) = (self.machine.deadline(), self.calls.deadline());
        machine.into_iter().chain(calls).chain(self.campaigns_again_at()).min()
    }

    /// When a candidate that was without work campaigns again.
    fn campaigns_again_at(&self) -> Option<Instant> {
        match self.without_work {
            WithoutWork::Until(at) if self.shared.is_offered_work() => Some(at),
            WithoutWork::Until(_) | WithoutWork::Resigning | WithoutWork::No => None,
        }
    }

    /// Also the calls that nobody waits for have ended, or were given up.
    pub(super) fn has_stopped(&self) -> bool {
        self.stopped && self.calls.is_empty()
    }

    pub(super) fn request_timeout(&self) -> Duration {
        self.shared.config.request_timeout()
    }

    /// Whether the tenure has to be resigned, because work under it was lost.
    pub(super) fn lost_work(&mut self, now: Instant, token: Token, how: LostWork) -> bool {
        let leads = self.machine.claim(now).is_some_and(|claim| claim.token() == token);
        if !leads || self.stopping {
            return false;
        }
        let (key, hold_off) = (&self.shared.key, self.shared.hold_off);
        tracing::warn!(
            ?key, %token, %how, ?hold_off,
            "the leader's work is gone: resigning, and campaigning again only when work is offered and \
             the hold-off is over"
        );
        metrics::work_lost(key, how);
        self.without_work = WithoutWork::Resigning;
        true
    }

    pub(super) fn stopping(&mut self) {
        self.stopping = true;
        self.without_work = WithoutWork::No;
    }

    /// When to campaign again after a resignation. A candidate without work waits for some.
    pub(super) fn again_after(&self, hold_off: Duration) -> Option<Duration> {
        match self.without_work {
            WithoutWork::No => Some(hold_off),
            WithoutWork::Resigning | WithoutWork::Until(_) => None,
        }
    }

    pub(super) fn await_withdrawal(&mut self, done: Option<oneshot::Sender<()>>) {
        self.withdrawal.extend(done);
    }

    /// The handle closed the claim before it asked to resign; later claims are open again.
    pub(super) fn reopen(&mut self) {
        if !self.stopping {
            self.shared.leads_until.reopen();
        }
    }

    /// Hands an input to the machine, and does what it says.
    pub(super) fn handle(&mut self, world: &mut World, input: Input) {
        let now = world.runtime.now();
        self.machine.handle(now, input);
        while let Some(output) = self.machine.poll() {
            match output {
                Output::Send { id, request, give_up_at } => {
                    let request = Request::of_machine(request, &self.profile);
                    let call = Outgoing { id, request, sent_at: now, give_up_at };
                    self.calls.begin(world, &self.shared, call);
                }
                Output::Event(event) => self.told(world, now, event),
            }
        }
        self.give_up_calls(world, now);
        if self.tenure_was_ended_by_its_work(now) {
            self.handle(world, Input::Resign { again_after: Some(Duration::ZERO) });
        }
        if self.campaigns_again_at().is_some_and(|at| now >= at) {
            self.without_work = WithoutWork::No;
            self.handle(world, Input::Campaign);
        }
    }

    fn give_up_calls(&mut self, world: &World, now: Instant) {
        for name in self.calls.give_up(now) {
            metrics::request_given_up(&self.shared.key, name);
            self.failed(world, StoreError::new(StoreErrorKind::Timeout, name));
        }
    }

    /// What a call that ended means to the machine; `None` if its outcome is unknown.
    pub(super) fn called(&mut self, called: &Called, world: &World) -> Option<tenure_core::Reply> {
        self.calls.ended(called.id);
        let took = world.runtime.now().since(called.sent_at);
        metrics::request(&self.shared.key, called.name, took, called.result.is_ok());
        match &called.result {
            Ok(reply) => {
                let reply = reply.for_machine();
                if reply.is_none() {
                    let detail = format!("to {}", called.name);
                    self.failed(world, StoreError::new(StoreErrorKind::UnexpectedReply, detail));
                }
                reply
            }
            Err(error) => {
                self.failed(world, error.clone());
                None
            }
        }
    }

    fn failed(&mut self, world: &World, error: StoreError) {
        tracing::debug!(key = ?self.shared.key, %error, "a request to the store failed");
        if self.shared.callbacks.hear_errors() {
            let report = self.errors.get_or_insert_with(|| {
                let (report, mut reports) = mpsc::channel(ERRORS);
                let callbacks = Arc::clone(&self.shared.callbacks);
                let hear = async move {
                    while let Some(error) = reports.recv().await {
                        callbacks.store_error(&error).await;
                    }
                };
                world.runtime.spawn(hear.boxed());
                report
            });
            // Callbacks that are too slow miss some.
            let _ = report.try_send(error.clone());
        }
        self.last_error = Some(error);
    }

    fn told(&mut self, world: &World, now: Instant, event: Told) {
        let key = &self.shared.key;
        match event {
            Told::Elected(claim) => self.elected(world, claim),
            Told::Renewed(claim) => self.renewed(now, claim),
            Told::SteppedDown { reason, drain_until, .. } => {
                self.stepped_down(world, now, reason, drain_until);
            }
            Told::DrainUntil { until, .. } => {
                if let Some(tenure) = &self.tenure {
                    tenure.drain_moved(until);
                }
            }
            Told::IncumbentChanged { token } => {
                tracing::info!(?key, %token, "another candidate leads");
                self.shared.events.publish(|| Event::IncumbentChanged { token });
            }
            Told::Quarantined { until } => {
                let remaining = until.since(now);
                tracing::warn!(
                    ?key,
                    ?remaining,
                    "the lease is granted, but the store is new to this prefix, was restarted, or lost data: \
                     the candidate leads only after the longest lease of an older leader would have ended \
                     (trust_empty_store turns that off for tests)"
                );
                self.shared.events.publish(|| Event::Quarantined { remaining });
            }
            Told::Refused { ttl, quarantine } => {
                let config = &self.shared.config;
                let (own_ttl, own_quarantine) = (config.ttl(), config.quarantine());
                tracing::error!(
                    %key, ?own_ttl, ?own_quarantine, ?ttl, ?quarantine,
                    "refused: another candidate of this election has a TTL above the own quarantine, or \
                     a quarantine below the own TTL: set the quarantine of every candidate to the longest \
                     TTL in use"
                );
                self.shared.events.publish(|| Event::Refused { ttl, quarantine });
            }
            Told::StoreUnavailable { .. } => {
                let error = self.last_error.clone();
                let error = error.unwrap_or_else(|| {
                    let within = self.shared.config.request_timeout();
                    let detail = format!("nothing within {within:?}, the request timeout");
                    StoreError::new(StoreErrorKind::Timeout, detail)
                });
                tracing::warn!(?key, %error, "the store is unavailable");
                self.shared.events.publish(|| Event::StoreUnavailable { error });
            }
            Told::StoreRecovered => {
                tracing::info!(?key, "the store answers again");
                self.last_error = None;
                self.shared.events.publish(|| Event::StoreRecovered);
            }
            Told::Withdrawn => self.withdrawn(now),
            other => tracing::error!(?other, "an event that this driver does not know"),
        }
    }

    fn elected(&mut self, world: &World, claim: Claim) {
        let shared = &self.shared;
        let (until, token) = (claim.valid_until(), claim.token());
        let tenure = Tenure::new(Grant {
            token,
            key: shared.key.clone(),
            runtime: Arc::clone(&shared.runtime),
            until,
            drain_until: self.drain_until(claim),
            open_inbox: shared.inbox_opener(),
        });
        tracing::info!(key = ?shared.key, %token, "elected");
        metrics::acquired(&shared.key);
        // Whoever closed the claim ahead of its beginning has sent a command that ends it.
        if !shared.leads_until.extend(until) {
            tenure.close();
        }
        shared.standing.send_replace(Standing::Leading(tenure.clone()));
        shared.events.publish(|| Event::Elected(tenure.clone()));
        for callback in shared.callbacks.elected(&tenure) {
            let tenure = tenure.clone();
            // Whether it ended in time is its own business.
            let run = async move {
                let _ = tenure.run(callback).await;
            };
            world.runtime.spawn(run.boxed());
        }
        self.tenure = Some(tenure);
    }

    fn renewed(&mut self, now: Instant, claim: Claim) {
        let Some(tenure) = &self.tenure else { return };
        metrics::renewed(&self.shared.key, tenure_left(tenure, now));
        if tenure.extend(claim.valid_until(), self.drain_until(claim)) {
            self.shared.leads_until.extend(claim.valid_until());
            self.shared.events.publish(|| Event::Renewed(tenure.clone()));
        }
    }

    fn stepped_down(
        &mut self,
        world: &World,
        now: Instant,
        reason: StepDownReason,
        drain_until: Instant,
    ) {
        let Some(tenure) = &self.tenure else { return };
        let reason = match self.without_work {
            WithoutWork::Resigning => StepDownReason::WorkLost,
            WithoutWork::No | WithoutWork::Until(_) => reason,
        };
        let (shared, token) = (&self.shared, tenure.token());
        shared.leads_until.clear();
        tenure.step_down(drain_until);
        shared.standing.send_replace(Standing::Waiting);
        tracing::info!(key = ?shared.key, %token, ?reason, "stepped down");
        metrics::lost(&shared.key, reason);
        let told = tenure.clone();
        shared.events.publish(|| Event::SteppedDown { tenure: told, reason });
        let bound = now + shared.config.drain_bound();
        for callback in shared.callbacks.stepped_down(tenure, reason) {
            let belongs = tenure.work().token();
            let late = world.runtime.sleep_until(bound);
            let work = async move {
                let _belongs = belongs;
                tokio::select! {
                    biased;
                    () = callback => {}
                    () = late => tracing::warn!("a callback was dropped at the drain bound"),
                }
            };
            world.runtime.spawn(work.boxed());
        }
        if !tenure.work().is_empty() {
            let (tasks, at_most) = (tenure.work().len(), drain_until.since(now));
            tracing::info!(
                key = ?shared.key, %token, tasks, ?at_most,
                "waiting for leader-only work to end before the lease is handed back"
            );
        }
        let (work, id) = (tenure.work().clone(), shared.id);
        let drained = async move {
            work.wait().await;
            id
        };
        world.drains.push(drained.boxed());
    }

    fn withdrawn(&mut self, now: Instant) {
        if let WithoutWork::Resigning = self.without_work {
            self.without_work = WithoutWork::Until(now + self.shared.hold_off);
        }
        for done in self.withdrawal.drain(..) {
            // The caller may have given up.
            let _ = done.send(());
        }
        self.stopped = self.stopping;
        if self.stopped {
            self.shared.standing.send_replace(Standing::Stopped);
            self.shared.events.publish(|| Event::Stopped);
            self.shared.events.close();
        }
    }

    /// Work found by its own clock that the tenure is over, a moment before the renewal came in that
    /// would have extended it. The tenure ends as it has been found.
    fn tenure_was_ended_by_its_work(&self, now: Instant) -> bool {
        let led = |tenure: &Tenure| tenure.was_closed();
        self.machine.claim(now).is_some() && self.tenure.as_ref().is_some_and(led)
    }

    /// The end of the lease that backs a claim, as the candidate can be sure of it.
    fn drain_until(&self, claim: Claim) -> Instant {
        claim.valid_until() + self.shared.config.stop_margin()
    }
}

fn tenure_left(tenure: &Tenure, now: Instant) -> Duration {
    tenure.valid_until().since(now)
}
