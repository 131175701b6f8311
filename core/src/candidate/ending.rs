//! From the end of a claim until the candidate holds nothing.

use super::{Attempt, Candidate, Draining, Flight, Hold, Phase, Plan, Tenure, Unwanted};
use crate::alphabet::{Event, StepDownReason, Unknown};
use crate::request::Reply;
use crate::time::Instant;

impl Candidate {
    pub(super) fn resign(&mut self, then: Plan) {
        match &mut self.phase {
            Phase::Idle => self.withdrawn(Plan::Idle),
            Phase::HoldingOff { .. } => self.withdrawn(then),
            Phase::Campaigning(campaign) => {
                let campaign = *campaign;
                self.give_up(campaign, then);
            }
            Phase::Leading(lease) => {
                let lease = *lease;
                self.step_down_on_request(lease, StepDownReason::Resigned, then);
            }
            Phase::Withdrawing { then: planned, .. }
            | Phase::Draining(Draining { then: planned, .. })
            | Phase::Releasing { then: planned, .. } => *planned = then,
        }
    }

    pub(super) fn drained(&mut self) {
        match self.phase {
            Phase::Draining(Draining { hold, then }) => match hold {
                Hold::Kept { lease, .. } => self.release(lease.tenure, then),
                Hold::Left(tenure) => self.release(tenure, then),
                Hold::Gone => self.over(then),
            },
            Phase::Idle
            | Phase::HoldingOff { .. }
            | Phase::Campaigning(_)
            | Phase::Withdrawing { .. }
            | Phase::Leading(_)
            | Phase::Releasing { .. } => {}
        }
    }

    /// Hands the lease back. A renewal that is still in flight can do no harm: after the release
    /// the store refuses it, and before the release it extends the lease that the release then
    /// ends.
    pub(super) fn release(&mut self, tenure: Tenure, then: Plan) {
        let until = self.now + self.config.release_bound();
        self.advance_release(tenure, Attempt::due(self.now), until, then);
    }

    pub(super) fn advance_release(
        &mut self,
        tenure: Tenure,
        mut attempt: Attempt,
        until: Instant,
        then: Plan,
    ) {
        if let Attempt::InFlight(flight) = attempt
            && self.now >= flight.give_up_at
        {
            attempt = self.store_failed(flight);
        }
        if self.now >= until {
            // Nobody takes it before having watched it. If the store still has it once it answers
            // again, and no other candidate has taken it, it is released then.
            if then != Plan::Idle {
                self.unwanted = Some(Unwanted { tenure, is_kept: false });
            }
            return self.over(then);
        }
        attempt = attempt.at(self.now);
        self.phase = Phase::Releasing { tenure, attempt, until, then };
    }

    pub(super) fn release_answered(
        &mut self,
        tenure: Tenure,
        flight: Flight,
        until: Instant,
        then: Plan,
        result: Result<Reply, Unknown>,
    ) {
        match result {
            Ok(Reply::Released | Reply::NotHeld) => {
                self.store_answered();
                self.over(then);
            }
            Ok(
                Reply::Granted { .. }
                | Reply::Not(_)
                | Reply::At(_)
                | Reply::Renewed { .. }
                | Reply::Superseded { .. }
                | Reply::Noted
                | Reply::NotNoted
                | Reply::Purged
                | Reply::Kept,
            )
            | Err(Unknown) => {
                let attempt = self.store_failed(flight);
                self.phase = Phase::Releasing { tenure, attempt, until, then };
            }
        }
    }

    /// The candidate holds nothing any more.
    fn over(&mut self, then: Plan) {
        match then {
            Plan::Campaign | Plan::HandOver(_) => self.campaign(),
            Plan::HoldOff(_) | Plan::Idle => self.withdrawn(then),
        }
    }

    /// The end of a resignation.
    pub(super) fn withdrawn(&mut self, then: Plan) {
        self.emit(Event::Withdrawn);
        match then {
            Plan::Idle => self.phase = Phase::Idle,
            Plan::HoldOff(pause) if !pause.is_zero() => {
                self.phase = Phase::HoldingOff { until: self.now + pause };
            }
            Plan::HoldOff(_) | Plan::Campaign | Plan::HandOver(_) => self.campaign(),
        }
    }
}
