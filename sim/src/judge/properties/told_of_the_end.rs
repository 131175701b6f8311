//! **Theorem (section 6).** Work that waits for its tenure's cancellation token is told when the tenure is over: when
//! its claim has ended by the clock, also if the driver gets no turn, and when the candidate says that it has stepped
//! down. It ends at once then.
//!
//! Nothing is said of work whose time to end tidily is over at once, because the store said that the tenure is: it is
//! dropped, and not polled. Engines that move in ticks round up at each step of the way.
//!
//! Rests on clocks that were not put back, and on a process that lives once. Nothing is asked of one that stands still.

use super::recent::Recent;
use super::{Property, Terms, time};
use crate::plan::clock::True;
use crate::plan::{Assumption, FaultKind};
use crate::trace::{Event, Who};

/// How many steps may each end a tick later.
const ROUNDED: u64 = 8;

/// Nobody waits on beyond the end.
#[derive(Debug)]
pub(super) struct ToldOfTheEnd {
    /// How much later than the end it may be.
    late: u64,
    /// How far each claim reaches, and work goes that waits for its end.
    claims: Recent<(Who, u64), Claim>,
    compared: u64,
}

#[derive(Debug)]
struct Claim {
    ends: True,
    waits: bool,
}

/// Work may begin before its candidate says that it is elected.
impl Default for Claim {
    fn default() -> Self {
        Self { ends: True::MAX, waits: false }
    }
}

impl ToldOfTheEnd {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { late: ROUNDED * terms.tick, claims: Recent::default(), compared: 0 }
    }

    fn in_time(&self, at: True) -> Result<(), String> {
        let late = |(_, claim): &&((Who, u64), Claim)| {
            claim.waits && at > claim.ends.saturating_add(self.late)
        };
        match self.claims.iter().find(late) {
            Some(((who, token), Claim { ends, .. })) => Err(format!(
                "work of {who:?} under token {token}, over at {:?}, still waits to be told so",
                time(*ends)
            )),
            None => Ok(()),
        }
    }

    fn forget(&mut self, of: impl Fn(Who) -> bool) {
        let waits = self.claims.iter_mut().filter(|((who, _), _)| of(*who));
        waits.for_each(|(_, claim)| claim.waits = false);
    }
}

impl Property for ToldOfTheEnd {
    fn name(&self) -> &'static str {
        "told-of-the-end"
    }

    fn compared(&self) -> u64 {
        self.compared
    }

    fn assumes(&self) -> &'static [Assumption] {
        &[Assumption::CandidateClocks, Assumption::OneMemory]
    }

    fn observe(&mut self, at: True, event: &Event) -> Result<(), String> {
        self.in_time(at)?;
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
                let was_told = claim.is_some_and(|claim| claim.waits && claim.ends <= at);
                self.compared += u64::from(was_told);
            }
            Event::Crashed { who } => self.forget(|other| other == who),
            Event::Fault { kind, node: Some(node) } if FaultKind::STAND_STILL.contains(&kind) => {
                self.forget(|who| who.node == node);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, at: True) -> Result<(), String> {
        self.in_time(at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, at, crashed, elected, fails, holds, n, renewed, stepped_down, terms, work_ended,
    };
    use super::*;
    use crate::trace::Reason;

    fn judge() -> ToldOfTheEnd {
        ToldOfTheEnd::new(&terms())
    }

    /// Its claim reaches to 100.
    fn waits(then: &[Seen]) -> Vec<Seen> {
        let waits = Event::WaitsToBeTold { who: n(0), token: 7 };
        [&[at(0, elected(n(0), 7, 100)), at(1, waits)], then].concat()
    }

    #[test]
    fn it_is_told_when_the_claim_is_over_by_the_clock() {
        holds(judge(), &waits(&[at(108, work_ended(n(0), 7)), Seen::End(900)]));
        let what = fails(judge(), &waits(&[at(109, work_ended(n(0), 7))]));
        assert_eq!(what, "work of n0 under token 7, over at 100ns, still waits to be told so");
        fails(judge(), &waits(&[Seen::End(109)]));
    }

    #[test]
    fn a_renewed_claim_ends_later() {
        let renewed = at(50, renewed(n(0), 7, 200));
        holds(judge(), &waits(&[renewed.clone(), at(208, work_ended(n(0), 7)), Seen::End(900)]));
        fails(judge(), &waits(&[renewed, Seen::End(209)]));
    }

    #[test]
    fn it_is_told_when_the_candidate_has_stepped_down() {
        let over = at(50, stepped_down(n(0), 7, Reason::Resigned));
        holds(judge(), &waits(&[over.clone(), at(58, work_ended(n(0), 7)), Seen::End(900)]));
        fails(judge(), &waits(&[over, Seen::End(59)]));
    }

    #[test]
    fn a_process_that_is_gone_or_stands_still_is_not_told() {
        let stops = |node| at(50, Event::Fault { kind: FaultKind::Pause, node: Some(node) });
        holds(judge(), &waits(&[at(50, crashed(n(0))), Seen::End(900)]));
        holds(judge(), &waits(&[stops(0), Seen::End(900)]));
        fails(judge(), &waits(&[stops(1), Seen::End(900)]));
        let starves = at(50, Event::Fault { kind: FaultKind::Starve, node: Some(0) });
        fails(judge(), &waits(&[starves, Seen::End(900)]));
    }

    #[test]
    fn work_may_begin_before_the_candidate_says_so() {
        let waits = at(0, Event::WaitsToBeTold { who: n(0), token: 7 });
        let history = [waits, at(9, elected(n(0), 7, 100)), at(108, work_ended(n(0), 7))];
        holds(judge(), &[&history[..], &[Seen::End(900)]].concat());
    }

    #[test]
    fn work_that_does_not_wait_is_not_asked() {
        holds(judge(), &[at(0, elected(n(0), 7, 100)), Seen::End(900)]);
    }
}
