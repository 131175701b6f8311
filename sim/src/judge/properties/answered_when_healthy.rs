//! **Theorem (section 6).** In the calm, a candidate whose connection works gets an answer to each request, within the
//! request timeout: no candidate beside it on the same connection, and nobody who gives up waiting, costs it that
//! connection.
//!
//! A connection works once a request that was sent in the calm has been answered over it. Not judged: a process that
//! crashes, and a candidate that gives its requests up sooner than a healthy network answers them.
//!
//! Rests on clocks that were not put back, and on a process that lives once.

use super::recent::Recent;
use super::{Property, Terms, time};
use crate::plan::Assumption;
use crate::plan::clock::True;
use crate::trace::{Answer, Event, Who};

/// How many steps may each end a tick later.
const ROUNDED: u64 = 8;

/// Whoever asks is answered.
#[derive(Debug)]
pub(super) struct AnsweredWhenHealthy {
    terms: Terms,
    is_calm: bool,
    candidates: Recent<Who, Candidate>,
    compared: u64,
}

#[derive(Debug, Default)]
struct Candidate {
    /// The requests sent in the calm that are not answered, and by when they have to be.
    open: Vec<(u64, True)>,
    /// One of them has been answered.
    works: bool,
}

impl AnsweredWhenHealthy {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { terms: terms.clone(), is_calm: false, candidates: Recent::default(), compared: 0 }
    }

    fn sent(&mut self, at: True, who: Who, id: u64) {
        if !self.is_calm || !self.terms.is_answered_in_time(who) {
            return;
        }
        let limits = self.terms.limits_of(who);
        let takes = limits.at_most(limits.request_timeout) + ROUNDED * self.terms.tick;
        let candidate = self.candidates.of(who);
        // What nobody waits for any more is answered, or not, by a connection that does not work yet.
        candidate.open.retain(|_| candidate.works);
        candidate.open.push((id, at.saturating_add(takes)));
    }

    fn answered(&mut self, who: Who, id: u64, answer: Option<Answer>) -> Result<(), String> {
        let candidate = self.candidates.of(who);
        let Some(place) = candidate.open.iter().position(|(open, _)| *open == id) else {
            return Ok(());
        };
        candidate.open.swap_remove(place);
        self.compared += u64::from(candidate.works);
        match answer {
            Some(_) => candidate.works = true,
            None if candidate.works => {
                return Err(format!("request {id} of {who:?} failed in the calm"));
            }
            None => {}
        }
        Ok(())
    }

    fn in_time(&self, at: True) -> Result<(), String> {
        let works = self.candidates.iter().filter(|(_, candidate)| candidate.works);
        for (who, candidate) in works {
            if let Some((id, due)) = candidate.open.iter().find(|(_, due)| at > *due) {
                let due = time(*due);
                return Err(format!(
                    "request {id} of {who:?} was not answered by {due:?}, in the calm"
                ));
            }
        }
        Ok(())
    }
}

impl Property for AnsweredWhenHealthy {
    fn name(&self) -> &'static str {
        "answered-when-healthy"
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
            Event::Calm => self.is_calm = true,
            Event::Sent { who, id, .. } => self.sent(at, who, id),
            Event::Answered { who, id, answer } => return self.answered(who, id, answer),
            Event::Crashed { who } => {
                self.candidates.remove(who);
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
        Seen, answered, at, crashed, fails, given_up, holds, n, sent, terms,
    };
    use super::*;
    use crate::trace::Asked;

    const RENEW: Asked = Asked::Renew { token: 7 };

    fn judge() -> AnsweredWhenHealthy {
        AnsweredWhenHealthy::new(&terms())
    }

    /// Its connection works from 12 on.
    fn works(then: &[Seen]) -> Vec<Seen> {
        let answer = at(12, answered(n(0), 1, Answer::Renewed));
        let works = [at(10, Event::Calm), at(11, sent(n(0), 1, RENEW)), answer];
        [&works[..], then].concat()
    }

    #[test]
    fn an_answer_and_none() {
        let asked = at(20, sent(n(0), 2, RENEW));
        holds(
            judge(),
            &works(&[asked.clone(), at(21, answered(n(0), 2, Answer::Renewed)), Seen::End(900)]),
        );
        let what = fails(judge(), &works(&[asked.clone(), at(21, given_up(n(0), 2))]));
        assert_eq!(what, "request 2 of n0 failed in the calm");
        fails(judge(), &works(&[asked.clone(), Seen::End(900)]));
        holds(judge(), &works(&[asked, at(21, crashed(n(0))), Seen::End(900)]));
    }

    #[test]
    fn the_first_may_find_the_connection_broken() {
        let first = [at(10, Event::Calm), at(11, sent(n(0), 1, RENEW))];
        holds(judge(), &[&first[..], &[at(12, given_up(n(0), 1)), Seen::End(900)]].concat());
        holds(judge(), &[&first[..], &[Seen::End(900)]].concat());
    }

    #[test]
    fn what_was_sent_before_the_calm_is_not_judged() {
        let before = [at(8, sent(n(0), 1, RENEW)), at(10, Event::Calm)];
        holds(judge(), &[&before[..], &[at(12, given_up(n(0), 1)), Seen::End(900)]].concat());
    }
}
