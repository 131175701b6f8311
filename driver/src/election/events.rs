//! Acts on the events of an election's state machine.

use std::time::Duration;

use tenure_core::{Claim, Event, Instant};

use super::Election;
use super::watched::Watched;
use crate::alphabet::{Action, News};
use crate::spread::Renewal;
use crate::world::World;

/// Into how many times an interval is divided where one call takes many renewals: elections of the
/// same time renew in one call.
const TOGETHER: u32 = 500;

impl<K> Election<K> {
    pub(super) fn handle_event(&mut self, world: &mut World<K>, now: Instant, event: Event) {
        let interval = self.machine.config().renew_interval();
        match event {
            Event::Elected(claim) => {
                world.admission.begins_to_renew(interval);
                self.spread_renewal(world, claim);
                self.describing.begins();
            }
            Event::Renewed(claim) => {
                self.spread_renewal(world, claim);
                if std::mem::take(&mut self.renews_again) {
                    self.renewal = Renewal::Now;
                }
                self.describing.may_be_behind();
            }
            Event::SteppedDown { token, reason, drain_until } => {
                self.renewal = Renewal::WhenDue;
                self.renews_again = false;
                world.admission.ends_to_renew(interval);
                let watched = std::mem::replace(&mut self.watched, Watched::No);
                let reason = self.without_work.reason(watched.reason(reason));
                let event = Event::SteppedDown { token, reason, drain_until };
                self.publishes(world, News::Event(event));
                world.acts(Action::Drain(self.id));
                return;
            }
            // A caller who waits for the withdrawal of a candidate that stops meets a stopped one.
            Event::Withdrawn => self.withdrawn(world, now),
            // For those who listen.
            _ => {}
        }
        self.publishes(world, News::Event(event));
    }

    fn withdrawn(&mut self, world: &mut World<K>, now: Instant) {
        self.without_work.withdrawn(now);
        if self.stopping && !self.stopped {
            self.stopped = true;
            self.publishes(world, News::Left);
        }
    }

    /// The next renewal, before it is due: see [`spread`](crate::spread).
    fn spread_renewal(&mut self, world: &World<K>, claim: Claim) {
        let config = self.machine.config();
        let interval = config.renew_interval();
        let shares = world.in_call.renewals > 1;
        let together = if shares { interval / TOGETHER } else { Duration::ZERO };
        // A renewal that is in flight is not sent again.
        let due = self.machine.deadline().filter(|_| self.requests.is_empty());
        // One that follows sooner than usual has a time of its own.
        let usual = claim.valid_until() - config.validity() + interval;
        self.renewal = due.filter(|due| *due >= usual).map_or(Renewal::WhenDue, |due| {
            Renewal::before(due, world.phase, self.id, interval, together)
        });
    }
}
