//! A tenure that is [held](crate::Tenure::hold): nothing but its end by time or by the store makes
//! room for another candidate before its hold is over.

use std::time::Duration;

use tenure_core::Reply as MachineReply;

use super::Election;
use crate::logging::{self, LIFE};
use crate::{Instant, Token};

impl Election {
    /// The time left of the hold of that tenure.
    fn held_for(&self, token: Token, now: Instant) -> Option<Duration> {
        let tenure = self.tenure.as_ref().filter(|tenure| tenure.token() == token)?;
        tenure.held_until().map(|until| until.since(now)).filter(|left| !left.is_zero())
    }

    /// True if the lease of that tenure is left to run out, and not given back.
    pub(super) fn runs_out(&self, token: Token, now: Instant) -> bool {
        let Some(held_for) = self.held_for(token, now) else { return false };
        logging::info!(
            target: LIFE, key = ?self.shared.key, %token, ?held_for,
            "the tenure has ended before its hold was over: its lease is not given back, and ends by itself"
        );
        true
    }

    /// The reply for the machine, without a candidate's request for the lead while the tenure is
    /// held: the machine would hand over. The candidate asks again with its next look.
    pub(super) fn unless_held(&self, reply: MachineReply, now: Instant) -> MachineReply {
        let token = self.machine.claim(now).map(|claim| claim.token());
        match reply {
            MachineReply::Renewed { asked: Some(_), wanted, past }
                if token.is_some_and(|token| self.held_for(token, now).is_some()) =>
            {
                MachineReply::Renewed { asked: None, wanted, past }
            }
            other => other,
        }
    }
}
