//! From the end of a claim until the candidate holds nothing.

use super::{Attempt, Candidate, Draining, Flight, Hold, Phase, Plan, Releasing, Tenure, Unwanted};
use crate::alphabet::{Event, StepDownReason, Unknown};
use crate::id::NameId;
use crate::request::Reply;

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
                self.step_down_on_request(lease, StepDownReason::Resigned, None, then);
            }
            Phase::Withdrawing { then: planned, .. }
            | Phase::Draining(Draining { then: planned, .. })
            | Phase::Releasing(Releasing { then: planned, .. }) => *planned = then,
        }
    }

    pub(super) fn drained(&mut self) {
        match self.phase {
            Phase::Draining(Draining { hold, kept_for, then }) => match hold {
                Hold::Kept { lease, .. } => self.release(lease.tenure, kept_for, then),
                Hold::Left(tenure) => self.release(tenure, kept_for, then),
                Hold::Gone => self.over(then),
            },
            Phase::Idle
            | Phase::HoldingOff { .. }
            | Phase::Campaigning(_)
            | Phase::Withdrawing { .. }
            | Phase::Leading(_)
            | Phase::Releasing(_) => {}
        }
    }

    /// Hands the lease back. A renewal that is still in flight can do no harm: after the release
    /// the store refuses it, and before the release it extends the lease that the release then
    /// ends.
    pub(super) fn release(&mut self, tenure: Tenure, kept_for: Option<NameId>, then: Plan) {
        let until = self.now + self.config.release_bound();
        let attempt = Attempt::due(self.now);
        self.advance_release(Releasing { tenure, attempt, until, kept_for, then });
    }

    pub(super) fn advance_release(&mut self, mut end: Releasing) {
        if let Attempt::InFlight(flight) = end.attempt
            && self.now >= flight.give_up_at
        {
            end.attempt = self.store_failed(flight);
        }
        if self.now >= end.until {
            // Nobody takes it before having watched it. If the store still has it once it answers
            // again, and no other candidate has taken it, it is released then.
            let Releasing { tenure, kept_for, .. } = end;
            self.unwanted = Some(Unwanted { tenure, kept_for, is_kept: false });
            return self.over(end.then);
        }
        end.attempt = end.attempt.at(self.now);
        self.phase = Phase::Releasing(end);
    }

    pub(super) fn release_answered(
        &mut self,
        end: Releasing,
        flight: Flight,
        result: Result<Reply, Unknown>,
    ) {
        match result {
            Ok(Reply::Released | Reply::NotHeld) => {
                self.store_answered();
                self.over(end.then);
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
                self.phase = Phase::Releasing(Releasing { attempt, ..end });
            }
        }
    }

    /// The candidate holds nothing any more.
    fn over(&mut self, then: Plan) {
        match then {
            Plan::Campaign => self.campaign(),
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
            Plan::HoldOff(_) | Plan::Campaign => self.campaign(),
        }
    }
}
