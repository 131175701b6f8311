//! **Theorem (G9).** A candidate that is asked to hand over or to leave stops leading at once: its
//! handles answer that the tenure is over, whether or not its driver has received the request.
//!
//! A later lead belongs to another tenure. Not judged in an engine without ticks: it has no handles
//! that could be asked before their driver receives the request. Rests on a process that lives
//! once: a process that was put back leads again by its restored memory.

use super::{About, Found, Leader, Property, PropertyName, State, Tally};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Event, Who};

/// No candidate continues to lead after a request to resign.
#[derive(Debug, Default)]
pub(super) struct ResignedAtOnce {
    /// The token under which each candidate led when it was asked to resign, and the time of that.
    over: Recent<Who, (u64, SimTime)>,
    /// The leaders that were asked since the last probe.
    asked: Vec<Who>,
}

impl Property for ResignedAtOnce {
    fn about(&self) -> About {
        About::of(PropertyName::RESIGNED_AT_ONCE).resting_on(&[Assumption::OneMemory]).probed()
    }

    fn observe(&mut self, at: SimTime, event: &Event, state: &State, _: &mut Tally) -> Found {
        match *event {
            Event::Crashed { who } => self.asked.retain(|asked| *asked != who),
            Event::ResignAsked { who, .. } => {
                if let Some(token) = state.leads(who) {
                    self.asked.push(who);
                    self.over.insert(who, (token, at));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn probe(&mut self, _: SimTime, state: &State, tally: &mut Tally) -> Found {
        self.asked.drain(..).for_each(|_| tally.count(true));
        for &Leader { who, token } in state.leaders() {
            match self.over.get(who) {
                Some((over, asked)) if *over == token => {
                    return Err(Finding::LeadsOnRequest { who, token, asked: *asked });
                }
                Some(_) | None => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        Seen, at, compares, crashed, fails, holds, leader, leads, leads_no_more, n, probe,
        resign_asked,
    };
    use super::*;

    fn judge() -> ResignedAtOnce {
        ResignedAtOnce::default()
    }

    fn asked(then: Seen) -> Vec<Seen> {
        vec![at(1, leads(n(0), 7)), at(9, resign_asked(n(0), Some(3))), then]
    }

    #[test]
    fn a_lead_that_ends_on_request() {
        let over = at(9, leads_no_more(n(0)));
        holds(judge(), &[asked(over), vec![probe(9, &[])]].concat());
        holds(judge(), &asked(probe(90, &[leader(n(0), 8)])));
        holds(judge(), &asked(probe(9, &[leader(n(1), 7)])));
    }

    #[test]
    fn a_lead_that_continues() {
        let what = fails(judge(), &asked(probe(9, &[leader(n(0), 7)])));
        assert_eq!(
            what.to_string(),
            "n0 still leads under token 7, but was asked to resign at 9ns"
        );
    }

    #[test]
    fn a_resignation_without_a_lead() {
        let history = [at(9, resign_asked(n(0), None)), probe(10, &[leader(n(0), 7)])];
        holds(judge(), &history);
        let gone = [at(1, leads(n(0), 7)), at(2, crashed(n(0)))];
        holds(judge(), &[&gone[..], &history].concat());
    }

    #[test]
    fn a_leader_that_crashes_before_the_probe_is_not_compared() {
        let probed = |then| [asked(then), vec![probe(9, &[])]].concat();
        assert_eq!(compares(judge(), &probed(at(9, leads_no_more(n(0))))), 1);
        assert_eq!(compares(judge(), &probed(at(9, crashed(n(0))))), 0);
    }
}
