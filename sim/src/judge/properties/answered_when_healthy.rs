//! **Theorem (section 6).** In the calm, a candidate whose connection works gets an answer to each
//! request, within the request timeout: neither another candidate on the same connection nor a
//! request that is given up costs it that connection.
//!
//! A connection works once a request that was sent in the calm has been answered over it. Not
//! judged: a process that crashes, and a candidate whose request timeout is shorter than a healthy
//! network needs for an answer.
//!
//! Rests on clocks that were not put back, and on a process that lives once.

use super::due::Due;
use super::{About, Found, PROMPT, Property, PropertyName, State, Tally, Terms};
use crate::judge::finding::Finding;
use crate::judge::recent::Recent;
use crate::plan::SimTime;
use crate::trace::{Answer, Event, Who};

/// A request over a working connection is answered in time.
#[derive(Debug)]
pub(super) struct AnsweredWhenHealthy {
    terms: Terms,
    connections: Recent<Who, Connection>,
    /// The deadlines of the requests over connections that work.
    due: Due<(Who, u64)>,
}

/// The connection of a candidate in the calm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Connection {
    #[default]
    Unknown,
    /// This request was sent, and not answered yet.
    Tried(u64),
    Works,
}

impl AnsweredWhenHealthy {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { terms: terms.clone(), connections: Recent::default(), due: Due::default() }
    }

    fn sent(&mut self, at: SimTime, who: Who, id: u64) {
        if !self.terms.is_answered_in_time(who) {
            return;
        }
        let connection = self.connections.of(who);
        match connection {
            Connection::Unknown | Connection::Tried(_) => *connection = Connection::Tried(id),
            Connection::Works => {
                let takes = self.terms.limits_of(who).request_timeout;
                self.due.set((who, id), self.terms.latest_end(at, who, takes));
            }
        }
    }

    fn answered(&mut self, who: Who, id: u64, answer: Option<Answer>, tally: &mut Tally) -> Found {
        let connection = self.connections.of(who);
        match (*connection, answer) {
            (Connection::Tried(tried), _) if tried == id => {
                let works = answer.is_some();
                *connection = if works { Connection::Works } else { Connection::Unknown };
            }
            (Connection::Works, _) if self.due.end((who, id)) => {
                tally.count(true);
                if answer.is_none() {
                    return Err(Finding::RequestFailed { who, id });
                }
            }
            (Connection::Unknown | Connection::Tried(_) | Connection::Works, _) => {}
        }
        Ok(())
    }
}

impl Property for AnsweredWhenHealthy {
    fn about(&self) -> About {
        About::of(PropertyName::ANSWERED_WHEN_HEALTHY).timed().resting_on(PROMPT)
    }

    fn in_time(&self, at: SimTime, _: &State) -> Found {
        self.due.in_time(at, |(who, id), due| Finding::NotAnswered { who, id, due })
    }

    fn observe(&mut self, at: SimTime, event: &Event, state: &State, tally: &mut Tally) -> Found {
        match *event {
            Event::Sent { who, id, .. } if state.is_calm() => self.sent(at, who, id),
            Event::Answered { who, id, answer } => return self.answered(who, id, answer, tally),
            Event::Crashed { who } => {
                self.connections.remove(who);
                self.due.retain(|(other, _)| other != who);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{
        RENEWED, Seen, answered, at, crashed, end, fails, given_up, holds, n, sent, terms,
    };
    use super::*;
    use crate::trace::Asked;

    const RENEW: Asked = Asked::Renew { token: 7 };

    fn judge() -> AnsweredWhenHealthy {
        AnsweredWhenHealthy::new(&terms())
    }

    /// A connection that works from 12 on; these events follow.
    fn works(then: &[Seen]) -> Vec<Seen> {
        let answer = at(12, answered(n(0), 1, RENEWED));
        let works = [at(10, Event::Calm), at(11, sent(n(0), 1, RENEW)), answer];
        [&works[..], then].concat()
    }

    #[test]
    fn a_request_without_an_answer() {
        let asked = at(20, sent(n(0), 2, RENEW));
        holds(judge(), &works(&[asked.clone(), at(21, answered(n(0), 2, RENEWED)), end(900)]));
        let what = fails(judge(), &works(&[asked.clone(), at(21, given_up(n(0), 2))]));
        assert_eq!(what.to_string(), "request 2 of n0 failed in the calm");
        fails(judge(), &works(&[asked.clone(), end(900)]));
        holds(judge(), &works(&[asked, at(21, crashed(n(0))), end(900)]));
    }

    #[test]
    fn the_first_may_find_the_connection_broken() {
        let first = [at(10, Event::Calm), at(11, sent(n(0), 1, RENEW))];
        holds(judge(), &[&first[..], &[at(12, given_up(n(0), 1)), end(900)]].concat());
        holds(judge(), &[&first[..], &[end(900)]].concat());
    }

    #[test]
    fn requests_before_the_calm_are_not_judged() {
        let before = [at(8, sent(n(0), 1, RENEW)), at(10, Event::Calm)];
        holds(judge(), &[&before[..], &[at(12, given_up(n(0), 1)), end(900)]].concat());
    }
}
