//! **Theorem (G6).** A server grants no new tenure before `quarantine / (1 + rho)` of true time
//! have passed since its first answer to any request: by then no lease is left that an earlier
//! server granted and this one has not seen. So also on the very first server, which can't know
//! that it is the first, unless it is configured to trust an empty store.
//!
//! The first request that a server carries out begins another past, and a candidate that is granted
//! a lease says that a candidate has watched it for the quarantine, from after the answer that
//! told it. Clocks are read rounded down: a tick is allowed.
//!
//! Rests on candidates that don't count too fast ([`Waits`](Assumption::Waits)), and on a store
//! that asks for the quarantine ([`LossIsFinal`](Assumption::LossIsFinal)). A grant that is
//! repeated begins no tenure.

use std::time::Duration;

use super::{About, Found, Property, PropertyName, State, Tally, Terms, on_fastest_clock};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Event, StoreStep};

/// New tenures wait until leases that the store may have forgotten have ended.
#[derive(Debug)]
pub(super) struct StoreLossQuarantine {
    /// The least wait after a server's first answer.
    least: Duration,
    first_server_waits: bool,
    /// The end of the wait for each server's grants.
    until: Recent<u32, Option<SimTime>>,
}

impl StoreLossQuarantine {
    pub(super) fn new(terms: &Terms) -> Self {
        let drifts = terms.candidates.iter().map(|limits| limits.drift_ppm);
        let drift = drifts.max().unwrap_or(0);
        Self {
            least: on_fastest_clock(terms.quarantine, drift).saturating_sub(2 * terms.tick),
            first_server_waits: terms.first_server_waits,
            until: Recent::default(),
        }
    }

    /// The end of a server's quarantine, which begins with its first answer.
    fn until(&mut self, at: SimTime, server: u32) -> SimTime {
        *self.until.of(server).get_or_insert(at + self.least)
    }

    fn stepped(&mut self, at: SimTime, step: &StoreStep, tally: &mut Tally) -> Found {
        let until = self.until(at, step.server);
        let Some(token) = step.new_tenure() else { return Ok(()) };
        if step.server == 0 && !self.first_server_waits {
            return Ok(());
        }
        tally.count(true);
        if at < until {
            return Err(Finding::GrantedInQuarantine { token, server: step.server, until });
        }
        Ok(())
    }
}

impl Property for StoreLossQuarantine {
    fn about(&self) -> About {
        About::of(PropertyName::STORE_LOSS_QUARANTINE)
            .resting_on(&[Assumption::Waits, Assumption::LossIsFinal])
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        match event {
            Event::Store(step) => self.stepped(at, step, tally),
            Event::Elsewhere { server, .. } => {
                self.until(at, *server);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, at, by_server, compares, fails, grant, holds, kept, n, refuse, renew, sent, span,
        store_crashed, terms,
    };
    use super::*;
    use crate::trace::{Answer, Asked};

    /// A quarantine of 112 at a tenth of drift, with two ticks: no grant for 99.
    fn property() -> StoreLossQuarantine {
        StoreLossQuarantine::new(&Terms {
            quarantine: span(112),
            first_server_waits: true,
            ..terms()
        })
    }

    /// Server 0 has granted token 7 long ago; server 1 answers at 1,000.
    fn lost() -> Vec<Seen> {
        let asks = Asked::Acquire { seen: 7, watched: None };
        let waits = refuse(2, asks, Answer::Not { past_is_watched: false }, None);
        vec![
            at(0, refuse(2, asks, Answer::Not { past_is_watched: false }, None)),
            at(200, grant(None, kept(1, 7, 1_500))),
            at(900, store_crashed(false)),
            at(1_000, by_server(1, waits)),
        ]
    }

    fn then(what: Seen) -> Vec<Seen> {
        [lost(), vec![what]].concat()
    }

    #[test]
    fn a_new_server_grants_after_the_quarantine() {
        let grant = by_server(1, grant(None, kept(2, 8, 1_500)));
        holds(property(), &then(at(1_099, grant.clone())));
        let what = fails(property(), &then(at(1_098, grant)));
        let text = "token 8 is granted by server 1, whose quarantine lasts until 1.099µs";
        assert_eq!(what.to_string(), text);
    }

    #[test]
    fn the_first_answer_may_be_about_another_election() {
        let mut history = lost();
        history.insert(3, at(950, Event::Elsewhere { server: 1, knew_more: false }));
        history.push(at(1_049, by_server(1, grant(None, kept(2, 8, 1_500)))));
        holds(property(), &history);
    }

    #[test]
    fn renewals_and_repeated_grants_need_no_quarantine() {
        let lease = kept(1, 7, 1_500);
        for step in [renew(lease, 1_600), grant(Some(lease), lease)] {
            assert_eq!(compares(property(), &then(at(1_001, by_server(1, step)))), 1);
        }
    }

    #[test]
    fn the_first_server_waits_unless_trusted() {
        let history =
            [at(0, sent(n(0), 1, Asked::Look { seen: 0 })), at(10, grant(None, kept(1, 7, 100)))];
        fails(property(), &history);
        let trusting = Terms { quarantine: span(112), first_server_waits: false, ..terms() };
        assert_eq!(compares(StoreLossQuarantine::new(&trusting), &history), 0);
    }
}
