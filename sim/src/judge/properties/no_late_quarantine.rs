//! **Theorem (G8, after a restart).** Once a server has carried out a grant or a renewal, and
//! `(longest TTL + longest quarantine) / (1 - rho)` of true time have passed since, no holder of its later grants
//! has to wait: a restart costs a quarantine soon after it, but none at a handover much later.
//!
//! The grant has set `known_since` to its own time. The renewal has set it to the longest TTL after its own
//! time, unless it was set before. Either way the server has counted past `known_since + quarantine` by then:
//! its clock is not slower than `1 - rho`. Readings are rounded down: two ticks are allowed.
//!
//! A grant to a candidate that knows a higher token than the server restarts the quarantine.
//!
//! Rests on a store's clock that is not slow and is not put back ([`Waits`](Assumption::Waits)).

use std::time::Duration;

use super::{About, Found, Property, PropertyName, State, Tally, Terms, on_slowest_clock};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Answer, Asked, Event, StoreStep};

/// A server that granted or renewed a lease long ago makes no holder wait.
#[derive(Debug)]
pub(super) struct NoLateQuarantine {
    bound: Duration,
    /// The time at which each server first granted or renewed a lease, or last learned of a loss.
    known_from: Recent<u32, Option<SimTime>>,
}

impl NoLateQuarantine {
    pub(super) fn new(terms: &Terms) -> Self {
        let drifts = terms.candidates.iter().map(|limits| limits.drift_ppm);
        let waits = terms.longest_ttl + terms.longest_quarantine;
        let bound = on_slowest_clock(waits, drifts.max().unwrap_or(0)) + 2 * terms.tick;
        Self { bound, known_from: Recent::default() }
    }

    fn stepped(&mut self, at: SimTime, step: &StoreStep, tally: &mut Tally) -> Found {
        let known_from = self.known_from.of(step.server);
        match (step.request, step.answer) {
            (Asked::Acquire { seen }, Answer::Granted { token, waits }) => {
                let last = step.before.map_or(0, |record| record.token);
                let began = *known_from.get_or_insert(at);
                let is_late = at > began + self.bound;
                tally.count(seen <= last && is_late);
                if seen > last {
                    *known_from = Some(at);
                } else if waits && is_late {
                    return Err(Finding::LateQuarantine {
                        token,
                        server: step.server,
                        since: began,
                    });
                }
            }
            (Asked::Renew { .. }, Answer::Renewed) => {
                known_from.get_or_insert(at);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Property for NoLateQuarantine {
    fn about(&self) -> About {
        About::of(PropertyName::NO_LATE_QUARANTINE).resting_on(&[Assumption::Waits])
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        match event {
            Event::Store(step) => self.stepped(at, step, tally),
            Event::Elsewhere { server, knew_more, .. } => {
                let known_from = self.known_from.of(*server);
                if *knew_more || known_from.is_none() {
                    *known_from = Some(at);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, at, back, by_server, fails, grant, holds, kept, renew, span, step, terms,
    };
    use super::*;

    /// 63 and 27 at a tenth of drift, and two ticks: no holder waits from 103 on.
    fn property() -> NoLateQuarantine {
        let terms = Terms { longest_ttl: span(63), longest_quarantine: span(27), ..terms() };
        NoLateQuarantine::new(&terms)
    }

    fn waits(seen: u64) -> Event {
        let (before, after) = (back(kept(1, 7, 900)), kept(2, 8.max(seen + 1), 900));
        let answer = Answer::Granted { token: after.token, waits: true };
        step(2, Asked::Acquire { seen }, answer, Some(before), Some(after))
    }

    /// Server 1 has replaced another one, and renews its lease at 1,000.
    fn renewed() -> Vec<Seen> {
        vec![
            at(0, grant(None, kept(1, 7, 900))),
            at(1_000, by_server(1, renew(kept(1, 7, 1_100), 1_200))),
        ]
    }

    fn then(what: Seen) -> Vec<Seen> {
        [renewed(), vec![what]].concat()
    }

    #[test]
    fn a_wait_soon_after_the_restart_is_right() {
        holds(property(), &then(at(1_102, by_server(1, waits(7)))));
    }

    #[test]
    fn a_wait_long_after_the_first_renewal_fails() {
        let what = fails(property(), &then(at(1_103, by_server(1, waits(7)))));
        assert_eq!(
            what.to_string(),
            "the holder of token 8 has to wait, though server 1 has known its leases since 1µs"
        );
    }

    #[test]
    fn the_first_grant_counts_too() {
        let first = at(2_000, by_server(2, waits(7)));
        holds(property(), &[first.clone(), at(2_102, by_server(2, waits(7)))]);
        fails(property(), &[first, at(2_103, by_server(2, waits(7)))]);
    }

    #[test]
    fn grants_and_losses_of_other_elections_count() {
        let elsewhere =
            |at_ns, knew_more| at(at_ns, Event::Elsewhere { server: 2, granted: true, knew_more });
        let late = at(2_103, by_server(2, waits(7)));
        fails(property(), &[elsewhere(2_000, false), late.clone()]);
        fails(property(), &[elsewhere(2_000, false), elsewhere(2_001, false), late.clone()]);
        holds(property(), &[elsewhere(2_000, false), elsewhere(2_001, true), late]);
    }

    #[test]
    fn each_server_counts_for_itself() {
        holds(property(), &then(at(9_000, by_server(2, waits(7)))));
    }

    #[test]
    fn a_proven_loss_restarts_the_quarantine() {
        let lost = at(5_000, by_server(1, waits(9)));
        holds(property(), &[then(lost.clone()), vec![at(5_102, by_server(1, waits(7)))]].concat());
        fails(property(), &[then(lost), vec![at(5_103, by_server(1, waits(7)))]].concat());
    }
}
