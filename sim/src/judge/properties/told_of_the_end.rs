//! **Theorem (section 6).** Work that waits for its tenure's cancellation token is cancelled when
//! the tenure is over: when its claim has ended by the clock, also if the driver does not run, and
//! when the candidate reports that it has stepped down. It ends at once then.
//!
//! The theorem says nothing about work without a time to drain, because the store answered that the
//! tenure is over: it is dropped, and not polled. Engines with ticks round up at each step of the
//! way.
//!
//! Rests on clocks that were not put back, and on a process that lives once. A paused process is
//! not judged.

use std::time::Duration;

use super::{About, Found, PROMPT, Property, PropertyName, State, Tally, Terms};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{FaultKind, SimTime};
use crate::trace::{Event, Who};

/// Work that waits for the end of its tenure is cancelled in time.
#[derive(Debug)]
pub(super) struct ToldOfTheEnd {
    /// The longest delay after the end.
    late: Duration,
    /// Each claim with its end, and whether work waits for that end.
    claims: Recent<(Who, u64), Claim>,
}

#[derive(Debug)]
struct Claim {
    ends: SimTime,
    waits: bool,
}

/// Work may begin before its candidate says that it is elected.
impl Default for Claim {
    fn default() -> Self {
        Self { ends: SimTime::NEVER, waits: false }
    }
}

impl ToldOfTheEnd {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { late: terms.rounding(), claims: Recent::default() }
    }

    fn forget(&mut self, of: impl Fn(Who) -> bool) {
        let waits = self.claims.iter_mut().filter(|((who, _), _)| of(*who));
        waits.for_each(|(_, claim)| claim.waits = false);
    }
}

impl Property for ToldOfTheEnd {
    fn about(&self) -> About {
        About::of(PropertyName::TOLD_OF_THE_END).timed().resting_on(PROMPT)
    }

    fn in_time(&self, at: SimTime, _: &State) -> Found {
        let late = |(_, claim): &&((Who, u64), Claim)| claim.waits && at > claim.ends + self.late;
        match self.claims.iter().find(late) {
            Some(&((who, token), Claim { ends, .. })) => {
                Err(Finding::NotCancelled { who, token, ends })
            }
            None => Ok(()),
        }
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::Elected { who, token, claim_ends }
            | Event::Renewed { who, token, claim_ends } => {
                self.claims.of((who, token)).ends = claim_ends;
            }
            Event::WaitsToBeTold { who, token } => self.claims.of((who, token)).waits = true,
            Event::SteppedDown { who, token, .. } => {
                let claim = self.claims.of((who, token));
                claim.ends = claim.ends.min(at);
            }
            Event::WorkEnded { who, token, .. } => {
                let claim = self.claims.remove((who, token));
                let is_cancelled = claim.is_some_and(|claim| claim.waits && claim.ends <= at);
                tally.count(is_cancelled);
            }
            Event::Crashed { who } => self.forget(|other| other == who),
            Event::Fault { kind, node: Some(node) } if FaultKind::PAUSES.contains(&kind) => {
                self.forget(|who| who.node == node);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, at, crashed, elected, end, fails, holds, n, renewed, stepped_down, terms, work_ended,
    };
    use super::*;
    use crate::trace::Reason;

    fn judge() -> ToldOfTheEnd {
        ToldOfTheEnd::new(&terms())
    }

    /// Work that waits under a claim until 100; these events follow.
    fn waits(then: &[Seen]) -> Vec<Seen> {
        let waits = Event::WaitsToBeTold { who: n(0), token: 7 };
        [&[at(0, elected(n(0), 7, 100)), at(1, waits)], then].concat()
    }

    #[test]
    fn work_is_cancelled_when_the_claim_ends() {
        holds(judge(), &waits(&[at(108, work_ended(n(0), 7)), end(900)]));
        let what = fails(judge(), &waits(&[at(109, work_ended(n(0), 7))]));
        assert_eq!(
            what.to_string(),
            "work of n0 under token 7 is not cancelled, though the tenure was over at 100ns"
        );
        fails(judge(), &waits(&[end(109)]));
    }

    #[test]
    fn a_renewed_claim_ends_later() {
        let renewed = at(50, renewed(n(0), 7, 200));
        holds(judge(), &waits(&[renewed.clone(), at(208, work_ended(n(0), 7)), end(900)]));
        fails(judge(), &waits(&[renewed, end(209)]));
    }

    #[test]
    fn work_is_cancelled_at_the_step_down() {
        let over = at(50, stepped_down(n(0), 7, Reason::Resigned));
        holds(judge(), &waits(&[over.clone(), at(58, work_ended(n(0), 7)), end(900)]));
        fails(judge(), &waits(&[over, end(59)]));
    }

    #[test]
    fn crashed_and_paused_processes_are_not_judged() {
        let stops = |node| at(50, Event::Fault { kind: FaultKind::Pause, node: Some(node) });
        holds(judge(), &waits(&[at(50, crashed(n(0))), end(900)]));
        holds(judge(), &waits(&[stops(0), end(900)]));
        fails(judge(), &waits(&[stops(1), end(900)]));
        let starves = at(50, Event::Fault { kind: FaultKind::Starve, node: Some(0) });
        fails(judge(), &waits(&[starves, end(900)]));
    }

    #[test]
    fn work_may_begin_before_its_election_is_reported() {
        let waits = at(0, Event::WaitsToBeTold { who: n(0), token: 7 });
        let history = [waits, at(9, elected(n(0), 7, 100)), at(108, work_ended(n(0), 7))];
        holds(judge(), &[&history[..], &[end(900)]].concat());
    }

    #[test]
    fn work_that_does_not_wait_is_not_judged() {
        holds(judge(), &[at(0, elected(n(0), 7, 100)), end(900)]);
    }
}
