//! One election: its state machine, and what the world sees of it.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use tenure_core::{Candidate as Machine, Claim, Event as Told, Input, Output};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::calls::Calls;
use super::{Called, ElectionId, NewElection, World};
use crate::candidate::{Shared, Standing};
use crate::event::Event;
use crate::store::{Profile, Request, Store, StoreError, StoreErrorKind};
use crate::{Instant, StepDownReason, Tenure, metrics};

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
    /// Ends the stream of hints.
    over: CancellationToken,
}

impl Drop for Election {
    fn drop(&mut self) {
        self.over.cancel();
        if !self.stopped {
            self.shared.standing.send_replace(Standing::Abandoned);
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
            over,
        };
        (election, hints)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.machine.deadline().into_iter().chain(self.calls.deadline()).min()
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.stopped
    }

    pub(super) fn stopping(&mut self) {
        self.stopping = true;
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
                    let times = (now, give_up_at);
                    self.calls.begin(world, &self.shared, (id, request), times);
                }
                Output::Event(event) => self.told(world, now, event),
            }
        }
        self.give_up_calls(now);
        if self.tenure_was_ended_by_its_work() {
            self.handle(world, Input::Resign { again_after: Some(std::time::Duration::ZERO) });
        }
    }

    fn give_up_calls(&mut self, now: Instant) {
        for name in self.calls.give_up(now) {
            metrics::request_given_up(&self.shared.key, name);
            self.failed(StoreError::new(StoreErrorKind::Timeout, name));
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
                    self.failed(StoreError::new(StoreErrorKind::UnexpectedReply, detail));
                }
                reply
            }
            Err(error) => {
                self.failed(error.clone());
                None
            }
        }
    }

    fn failed(&mut self, error: StoreError) {
        tracing::debug!(key = %self.shared.key, %error, "a request to the store failed");
        self.shared.callbacks.store_error(&error);
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
                tracing::info!(%key, %token, "another candidate leads");
                self.shared.events.publish(|| Event::IncumbentChanged { token });
            }
            Told::Quarantined { until } => {
                let remaining = until.since(now);
                tracing::warn!(
                    %key, ?remaining,
                    "granted, but the store has not known its history for long enough to rule out \
                     an older leader: waiting before leading"
                );
                self.shared.events.publish(|| Event::Quarantined { remaining });
            }
            Told::StoreUnavailable { .. } => {
                let error = self.last_error.clone();
                let error = error.unwrap_or_else(|| StoreError::new(StoreErrorKind::Timeout, ""));
                tracing::warn!(%key, %error, "the store is unavailable");
                self.shared.events.publish(|| Event::StoreUnavailable { error });
            }
            Told::StoreRecovered => {
                tracing::info!(%key, "the store answers again");
                self.last_error = None;
                self.shared.events.publish(|| Event::StoreRecovered);
            }
            Told::Withdrawn => self.withdrawn(),
            other => tracing::error!(?other, "an event that this driver does not know"),
        }
    }

    fn elected(&mut self, world: &World, claim: Claim) {
        let shared = &self.shared;
        let (until, token) = (claim.valid_until(), claim.token());
        let tenure = Tenure::new(token, shared, until, self.drain_until(claim));
        tracing::info!(key = %shared.key, %token, "elected");
        metrics::acquired(&shared.key);
        // Whoever closed the claim ahead of its beginning has sent a command that ends it.
        if !shared.leads_until.extend(until) {
            tenure.close();
        }
        shared.standing.send_replace(Standing::Leading(tenure.clone()));
        shared.events.publish(|| Event::Elected(tenure.clone()));
        for callback in shared.callbacks.elected(&tenure) {
            let tenure = tenure.clone();
            let work = crate::candidate::guarded_future(callback);
            world.runtime.spawn(async move { tenure.run(work).await.unwrap_or(()) }.boxed());
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
        let (shared, token) = (&self.shared, tenure.token());
        shared.leads_until.extend(Instant::ORIGIN);
        tenure.step_down(drain_until);
        shared.standing.send_replace(Standing::Waiting);
        tracing::info!(key = %shared.key, %token, ?reason, "stepped down");
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
                    () = crate::candidate::guarded_future(callback) => {}
                    () = late => tracing::warn!("a callback was dropped at the drain bound"),
                }
            };
            world.runtime.spawn(work.boxed());
        }
        let (work, id) = (tenure.work().clone(), shared.id);
        let drained = async move {
            work.wait().await;
            id
        };
        world.drains.push(drained.boxed());
    }

    fn withdrawn(&mut self) {
        for done in self.withdrawal.drain(..) {
            // Whoever lost patience does not mind.
            let _ = done.send(());
        }
        self.stopped = self.stopping;
        if self.stopped {
            self.shared.standing.send_replace(Standing::Stopped);
        }
    }

    /// Work found by its own clock that the tenure is over, a moment before the renewal came in that
    /// would have extended it. The tenure ends as it has been found.
    fn tenure_was_ended_by_its_work(&self) -> bool {
        let led = |tenure: &Tenure| tenure.was_closed();
        self.machine.claim(Instant::ORIGIN).is_some() && self.tenure.as_ref().is_some_and(led)
    }

    /// The end of the lease that backs a claim, as the candidate can be sure of it.
    fn drain_until(&self, claim: Claim) -> Instant {
        claim.valid_until() + self.shared.config.stop_margin()
    }
}

fn tenure_left(tenure: &Tenure, now: Instant) -> std::time::Duration {
    tenure.valid_until().since(now)
}
