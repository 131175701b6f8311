//! A tenure that is held: nothing but its end by time or by the store makes room for another
//! candidate before its hold is over.

use std::time::Duration;

use tenure_core::{Instant, Reply, Request, Token};

use super::Election;
use crate::alphabet::News;
use crate::world::World;

impl<K> Election<K> {
    /// The tenure of that token is held until then.
    pub(crate) const fn is_held(&mut self, token: Token, until: Instant) {
        self.held = Some((token, until));
    }

    /// The time left of the hold of that tenure.
    fn held_for(&self, token: Token, now: Instant) -> Option<Duration> {
        let (_, until) = self.held.filter(|(held, _)| *held == token)?;
        Some(until.since(now)).filter(|left| !left.is_zero())
    }

    /// True if the lease that this request would give back is left to run out.
    pub(super) fn runs_out(&self, world: &mut World<K>, now: Instant, request: &Request) -> bool {
        let Request::Release { token, .. } = *request else { return false };
        let Some(held_for) = self.held_for(token, now) else { return false };
        self.publishes(world, News::RunsOut { token, held_for });
        true
    }

    /// The reply for the machine, without a candidate's request for the lead while the tenure is
    /// held: the machine would hand over. The candidate asks again with its next look.
    pub(super) fn unless_held(&self, reply: Reply, now: Instant) -> Reply {
        let token = self.machine.claim(now).map(|claim| claim.token());
        match reply {
            Reply::Renewed { asked: Some(_), wanted, past }
                if token.is_some_and(|token| self.held_for(token, now).is_some()) =>
            {
                Reply::Renewed { asked: None, wanted, past }
            }
            other => other,
        }
    }
}
