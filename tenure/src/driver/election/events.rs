//! Acts on the events of an election's state machine.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use tenure_core::{Claim, Event as MachineEvent, Watched};

use super::super::spread::Renewal;
use super::super::{World, given_up};
use super::Election;
use super::standing::Answer;
use crate::event::Event;
use crate::logging::{self, LIFE, tenure_span};
use crate::shared::{Shared, Standing};
use crate::tenure::{DriverLink, Grant, Tenure};
use crate::{Instant, StepDownReason, Token};

impl Election {
    pub(super) fn handle_event(&mut self, world: &mut World, now: Instant, event: MachineEvent) {
        let key = &self.shared.key;
        match event {
            MachineEvent::Elected(claim) => {
                self.elected(world, now, claim);
                self.spread_renewal(world, claim);
                self.describing.begins();
            }
            MachineEvent::Renewed(claim) => {
                self.renewed(now, claim);
                self.spread_renewal(world, claim);
                self.describing.may_be_behind();
            }
            MachineEvent::SteppedDown { reason, drain_until, .. } => {
                self.renewal = Renewal::WhenDue;
                self.stepped_down(world, now, reason, drain_until);
            }
            MachineEvent::DrainUntil { until, .. } => {
                if let Some(tenure) = &self.tenure {
                    tenure.drain_moved(until);
                }
            }
            MachineEvent::IncumbentChanged { token } => {
                self.log_incumbent(token);
                self.shared.events.publish(|| Event::IncumbentChanged { token });
            }
            MachineEvent::Watching { watched: Watched::Past, until } => {
                let remaining = until.since(now);
                let own_quarantine = self.machine.config().quarantine();
                let longer = if remaining > own_quarantine {
                    "; that is longer than this candidate's quarantine, since a candidate with a longer TTL has led"
                } else {
                    ""
                };
                logging::warn!(
                    target: LIFE, ?key, ?remaining, ?own_quarantine,
                    "the store is new to this prefix, was restarted, or lost data: nobody is granted the lease \
                     before the longest lease of an older leader would have ended{longer}"
                );
                self.metrics.watching(now, until);
                self.shared.events.publish(|| Event::Watching { remaining });
            }
            MachineEvent::Watching { watched: Watched::Settings, .. } => {
                let Some(other) = self.machine.contradiction() else { return };
                let (ttl, quarantine) = (other.ttl(), other.quarantine());
                let config = self.machine.config();
                let (own_ttl, own_quarantine) = (config.ttl(), config.quarantine());
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
            MachineEvent::StoreUnavailable { since } => {
                let error = self.last_error.as_deref().cloned();
                // Else it was given up just now.
                let error = error.unwrap_or_else(|| given_up(&world.store, self.request_timeout()));
                world.outage.begins(now, self.shared.id, key, &error);
                self.metrics.store_is_down();
                self.shared.standing.store_is_unavailable(since, error.clone());
                self.shared.events.publish(|| Event::StoreUnavailable { error });
            }
            MachineEvent::StoreRecovered => {
                world.outage.ends(now, self.shared.id, key);
                self.last_error = None;
                self.metrics.store_is_up();
                self.shared.standing.store_answers();
                self.shared.events.publish(|| Event::StoreRecovered);
            }
            MachineEvent::Withdrawn => self.withdrawn(world, now),
            other => {
                logging::error!(target: LIFE, ?key, ?other, "an event that this driver does not know");
            }
        }
    }

    /// Its name is known from the store's answer.
    fn log_incumbent(&self, token: Token) {
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
    }

    fn elected(&mut self, world: &mut World, now: Instant, claim: Claim) {
        world.admission.begins_to_renew(self.machine.config().renew_interval());
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
        // A handle that closed the claim before it began has sent a command that ends it.
        if !shared.leads_until.extend(until) {
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
            world.runtime.spawn(run.boxed());
        }
        self.tenure = Some(tenure);
    }

    fn renewed(&mut self, now: Instant, claim: Claim) {
        let Some(tenure) = &self.tenure else { return };
        self.metrics.renewed(tenure_left(tenure, now), self.machine.config().validity());
        if tenure.extend(claim.valid_until(), self.drain_until(claim)) {
            self.shared.leads_until.extend(claim.valid_until());
            if let Some(recorder) = &self.shared.recorder {
                recorder.renewed(now, claim);
            }
            self.shared.events.publish(|| Event::Renewed(tenure.clone()));
        }
    }

    fn stepped_down(
        &mut self,
        world: &mut World,
        now: Instant,
        reason: StepDownReason,
        drain_until: Instant,
    ) {
        let Some(tenure) = &self.tenure else { return };
        world.admission.ends_to_renew(self.machine.config().renew_interval());
        let watched = std::mem::take(&mut self.watched);
        let reason = self.without_work.reason(watched.reason(reason));
        let (shared, token) = (&self.shared, tenure.token());
        shared.leads_until.clear();
        tenure.step_down(drain_until);
        shared.standing.set(Standing::Ending, now);
        log_end(shared, token, reason, now.since(self.elected_at));
        self.metrics.stepped_down(reason);
        if let Some(recorder) = &shared.recorder {
            recorder.stepped_down(now, token, reason);
        }
        let ended = tenure.clone();
        shared.events.publish(|| Event::SteppedDown { tenure: ended, reason });
        self.run_step_down_callbacks(world, now, tenure, reason);
        self.await_drain(world, now, tenure, drain_until);
    }

    fn run_step_down_callbacks(
        &self,
        world: &World,
        now: Instant,
        tenure: &Tenure,
        reason: StepDownReason,
    ) {
        let bound = now + self.machine.config().drain_bound();
        for callback in self.shared.callbacks.stepped_down(tenure, reason) {
            let belongs = tenure.work().token();
            let late = world.runtime.sleep_until(bound);
            let work = async move {
                let _belongs = belongs;
                tokio::select! {
                    biased;
                    () = callback => {}
                    () = late => logging::warn!(target: LIFE, "a callback was dropped at the drain bound"),
                }
            };
            world.runtime.spawn(tenure.span().instrument(work).boxed());
        }
    }

    /// Reports to the driver when all work of the tenure has ended.
    fn await_drain(&self, world: &World, now: Instant, tenure: &Tenure, drain_until: Instant) {
        if !tenure.work().is_empty() {
            let (tasks, at_most) = (tenure.work().len(), drain_until.since(now));
            logging::info!(
                target: LIFE, key = ?self.shared.key, token = %tenure.token(), tasks, ?at_most,
                "waiting for leader-only work to end before the lease is handed back"
            );
        }
        let (work, id) = (tenure.work().clone(), self.shared.id);
        let drained = async move {
            work.wait().await;
            id
        };
        world.drains.push(drained.boxed());
    }

    fn withdrawn(&mut self, world: &mut World, now: Instant) {
        self.without_work.withdrawn(now);
        for done in world.withdrawals.remove(&self.shared.id).unwrap_or_default() {
            // The caller may have given up.
            let _ = done.send(());
        }
        self.stopped = self.stopping;
        if self.stopped {
            logging::info!(target: LIFE, key = ?self.shared.key, "left the election");
            self.shared.standing.set(Standing::Stopped, now);
            self.shared.events.publish(|| Event::Stopped);
            self.shared.events.close();
        }
    }

    /// The end of the lease that backs a claim, as the candidate can be sure of it.
    fn drain_until(&self, claim: Claim) -> Instant {
        claim.valid_until() + self.machine.config().stop_margin()
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

fn tenure_left(tenure: &Tenure, now: Instant) -> Duration {
    tenure.valid_until().since(now)
}
