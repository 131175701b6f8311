//! **Theorem (G6).** No candidate begins to lead under a token that a server has granted before
//! `quarantine / (1 + rho)` of true time have passed since that server's first grant, or
//! `(TTL + quarantine) / (1 + rho)` since its first renewal, whichever is earlier: by then no lease
//! is left that an earlier server granted and this one has not seen. So also on the very first server,
//! which can't know that it is the first, unless it is configured to trust an empty store.
//!
//! The server waits from its first grant on: its answer to each holder contains the rest of the quarantine by
//! its own clock, and the holder waits that out by its own, from the receipt on. The first part has taken
//! at least the time that the server's clock counted, divided by `1 + rho`; so has the second, and it begins no
//! earlier than the first ends. A later grant that finds a part of the history missing restarts the
//! quarantine, which only makes it longer. Both clocks are read rounded down: a tick for each is allowed.
//!
//! Rests on a store's clock that does not run ahead, on candidates that don't count too fast
//! ([`Waits`](Assumption::Waits)), and on a store that asks for the quarantine
//! ([`LossIsFinal`](Assumption::LossIsFinal)). A grant that is repeated after a restart is no grant of
//! the new server: its holder may lead by the grant of the old one.

use std::time::Duration;

use super::{About, Found, Property, PropertyName, State, Tally, Terms, on_fastest_clock};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Answer, Event, StoreStep, Who};

/// New leaders wait until leases that the store may have forgotten have ended.
#[derive(Debug)]
pub(super) struct StoreLossQuarantine {
    /// The least wait after a server's first grant.
    least: Duration,
    /// The least wait after a server's first renewal.
    since_renewal: Duration,
    first_leader_waits: bool,
    /// The end of the wait for each server's grants.
    until: Recent<u32, Option<SimTime>>,
}

impl StoreLossQuarantine {
    pub(super) fn new(terms: &Terms) -> Self {
        let drifts = terms.candidates.iter().map(|limits| limits.drift_ppm);
        let drift = drifts.max().unwrap_or(0);
        let least = |waits| on_fastest_clock(waits, drift).saturating_sub(2 * terms.tick);
        Self {
            least: least(terms.quarantine),
            since_renewal: least(terms.shortest_ttl + terms.quarantine),
            first_leader_waits: terms.first_leader_waits,
            until: Recent::default(),
        }
    }

    fn stepped(&mut self, at: SimTime, step: &StoreStep) {
        let waits = match step.answer {
            Answer::Granted { .. } => Some(self.least),
            Answer::Renewed => Some(self.since_renewal),
            _ => None,
        };
        if let Some(waits) = waits {
            self.knows(at, step.server, waits);
        }
    }

    /// A server knows the history of all its elections from that time on, or from an earlier one.
    fn knows(&mut self, at: SimTime, server: u32, waits: Duration) {
        let until = at + waits;
        let first = self.until.of(server);
        *first = Some(first.map_or(until, |known| known.min(until)));
    }

    fn leads(
        &self,
        at: SimTime,
        (who, token): (Who, u64),
        state: &State,
        tally: &mut Tally,
    ) -> Found {
        let Some((server, granted)) = state.tenure(token).granted else { return Ok(()) };
        let Some(&Some(until)) = self.until.get(server) else { return Ok(()) };
        if server == 0 && !self.first_leader_waits {
            return Ok(());
        }
        // A later grant needs no quarantine: its holder can't lead too early.
        tally.count(granted < until);
        if at < until {
            return Err(Finding::LeadsInQuarantine { who, token, server, until });
        }
        Ok(())
    }
}

impl Property for StoreLossQuarantine {
    fn about(&self) -> About {
        About::of(PropertyName::STORE_LOSS_QUARANTINE).resting_on(&[
            Assumption::StoreClock,
            Assumption::Waits,
            Assumption::LossIsFinal,
        ])
    }

    fn observe(&mut self, at: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        match event {
            Event::Store(step) => self.stepped(at, step),
            Event::Elsewhere { server, granted, .. } => {
                let waits = if *granted { self.least } else { self.since_renewal };
                self.knows(at, *server, waits);
            }
            Event::Leads { who, token } => return self.leads(at, (*who, *token), state, tally),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, at, by_server, compares, fails, grant, holds, kept, leads, n, renew, span,
        store_crashed, terms,
    };
    use super::*;

    /// A quarantine of 112 at a tenth of drift, with a nanosecond for each of two clocks: no leader for 99.
    fn property() -> StoreLossQuarantine {
        StoreLossQuarantine::new(&Terms {
            quarantine: span(112),
            first_leader_waits: true,
            ..terms()
        })
    }

    /// Server 0 has granted token 7 long ago; server 1 grants 8 at 1,000.
    fn lost() -> Vec<Seen> {
        vec![
            at(0, grant(None, kept(1, 7, 1_500))),
            at(100, leads(n(0), 7)),
            at(900, store_crashed(false)),
            at(1_000, by_server(1, grant(None, kept(2, 8, 1_100)))),
        ]
    }

    #[test]
    fn a_new_servers_grant_waits_out_the_quarantine() {
        holds(property(), &[lost(), vec![at(1_099, leads(n(1), 8))]].concat());
        let what = fails(property(), &[lost(), vec![at(1_098, leads(n(1), 8))]].concat());
        let text =
            "n1 leads under token 8, by a grant of server 1, whose quarantine lasts until 1.099µs";
        assert_eq!(what.to_string(), text);
    }

    #[test]
    fn the_servers_first_grant_counts() {
        let next = by_server(1, grant(Some(kept(2, 8, 1_050)), kept(3, 9, 1_150)));
        let next = vec![at(1_060, next)];
        holds(property(), &[lost(), next.clone(), vec![at(1_099, leads(n(2), 9))]].concat());
        fails(property(), &[lost(), next, vec![at(1_098, leads(n(2), 9))]].concat());
    }

    #[test]
    fn the_first_grant_may_be_another_elections() {
        let terms = Terms {
            quarantine: span(112),
            shortest_ttl: span(500),
            first_leader_waits: true,
            ..terms()
        };
        let history = |granted| {
            let mut history = lost();
            history.insert(3, at(900, Event::Elsewhere { server: 1, granted, knew_more: false }));
            history.push(at(1_000, leads(n(1), 8)));
            history
        };
        holds(StoreLossQuarantine::new(&terms), &history(true));
        // The wait after a first renewal is longer than the wait after the own first grant.
        fails(StoreLossQuarantine::new(&terms), &history(false));
    }

    #[test]
    fn renewals_and_repeated_grants_need_no_quarantine() {
        let lease = kept(1, 7, 1_500);
        let granted = at(0, grant(None, lease));
        let crashed = at(900, store_crashed(true));
        let renewed = at(950, by_server(1, renew(lease, 1_600)));
        let again = at(950, by_server(1, grant(Some(lease), lease)));
        for step in [renewed, again] {
            let history = [granted.clone(), crashed.clone(), step, at(960, leads(n(0), 7))];
            holds(property(), &history);
        }
    }

    #[test]
    fn the_first_server_waits_unless_trusted() {
        let history = [at(0, grant(None, kept(1, 7, 100))), at(98, leads(n(0), 7))];
        fails(property(), &history);
        let trusting = Terms { quarantine: span(112), first_leader_waits: false, ..terms() };
        holds(StoreLossQuarantine::new(&trusting), &history);
    }

    #[test]
    fn grants_after_the_quarantine_are_not_compared() {
        let history = |granted| {
            let next = by_server(1, grant(Some(kept(2, 8, 1_050)), kept(3, 9, 2_150)));
            [lost(), vec![at(granted, next), at(1_200, leads(n(2), 9))]].concat()
        };
        // The lead of server 0's tenure counts: without trust, its quarantine was waited out too.
        assert_eq!(compares(property(), &history(1_098)), 2);
        assert_eq!(compares(property(), &history(1_099)), 1);
    }
}
