//! **Theorem (A1).** The store's answers, as candidates saw them, are linearizable: there is an
//! order of all requests in which each was carried out at one moment between its sending and its
//! answer, and in which every answer is right by the store contract.
//!
//! The answers that candidates saw are judged, not the store's own record: an answer that is
//! delivered to the wrong request, or a read from a replica that lags, breaks the theorem. A
//! request whose answer reached no candidate, a duplicate for instance, counts with the answer of
//! the store, and as in flight to the end.
//!
//! To find such an order is hard, to check one is easy. The order in which the store recorded its
//! steps is checked step by step. An engine without ticks records each step as it is carried out:
//! no other order is looked for, which could take for ever. In the others, if an answer is wrong in
//! that order, the checker of
//! `todc-utils` (Wing, Gong and Lowe's algorithm) looks for another one, in the window of the
//! events since the last moment without a request in flight, or of the last [`WINDOW`] events. At
//! the end of a window, steps that were carried out and not answered count as they were carried
//! out.
//!
//! Rests on one server at a time: a new one begins a window of which nothing is known, and an old
//! primary would answer in an order of its own. And on memories that are not restored: a restored
//! process would reuse its request numbers.

mod specification;

use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::Action::{Call, Response};
use todc_utils::linearizability::history::{Action, History};
use todc_utils::specifications::Specification;

use self::specification::{Contract, Operation, State};
use super::{About, Found, Property, PropertyName, Tally, Terms};
use crate::judge::finding::Finding;
use crate::plan::{Assumption, SimTime};
use crate::trace::{Answer, Asked, Event, StoreStep, Who};

/// The most events of a window. The checker's work grows faster than a window does.
const WINDOW: usize = 64;
/// The most requests of one candidate whose answers are still expected; the candidate waits only
/// for the last one.
const OPEN: usize = 8;

/// Some order explains all answers.
#[derive(Debug, Default)]
pub(super) struct Linearizable {
    /// Steps were recorded in the order in which they were carried out.
    is_exact: bool,
    /// Requests that were not answered, oldest first.
    open: Vec<Open>,
    /// Steps of earlier windows whose answers may still arrive.
    unanswered: Vec<Step>,
    /// The present window: the known state at its beginning, its number of events, and its steps.
    known: State,
    events: usize,
    steps: Vec<Step>,
    /// The known state after the last step, in the order of steps.
    state: State,
    /// True if an answer is wrong in that order.
    in_doubt: bool,
    server: u32,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    who: Who,
    id: u64,
    request: Asked,
    /// The place of its sending in the window.
    sent: usize,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    holder: u128,
    request: Asked,
    answer: Answer,
    place: usize,
    /// The first and last place at which it may have been carried out, by the candidate's view.
    sent: usize,
    answered: Option<usize>,
}

impl Step {
    fn operation(&self) -> Operation {
        Operation::Step { holder: self.holder, request: self.request, answer: self.answer }
    }
}

impl Property for Linearizable {
    fn about(&self) -> About {
        About::of(PropertyName::LINEARIZABLE)
            .resting_on(&[Assumption::LossIsFinal, Assumption::OneMemory])
    }

    fn observe(&mut self, _: SimTime, event: &Event, _: &super::State, tally: &mut Tally) -> Found {
        match *event {
            Event::Sent { who, id, request } => self.sent(who, id, request),
            Event::Answered { who, id, answer } => self.answered(who, id, answer, tally)?,
            Event::Store(ref step) => self.stepped(step)?,
            Event::Crashed { who } => self.open.retain(|open| open.who != who),
            _ => return Ok(()),
        }
        self.events += 1;
        if self.open.is_empty() || self.events >= WINDOW { self.close() } else { Ok(()) }
    }

    fn finish(&mut self, _: SimTime, _: &mut Tally) -> Found {
        self.close()
    }
}

impl Linearizable {
    pub(super) fn new(terms: &Terms) -> Self {
        Self { is_exact: terms.is_exact(), ..Self::default() }
    }

    fn sent(&mut self, who: Who, id: u64, request: Asked) {
        if self.open.iter().filter(|open| open.who == who).count() >= OPEN
            && let Some(oldest) = self.open.iter().position(|open| open.who == who)
        {
            self.open.remove(oldest);
        }
        self.open.push(Open { who, id, request: request.as_told(), sent: self.events });
    }

    fn stepped(&mut self, step: &StoreStep) -> Found {
        if step.server != self.server {
            self.close()?;
            (self.server, self.state) = (step.server, State::Unknown);
            self.known = self.state;
        }
        let StoreStep { holder, answer, .. } = *step;
        let request = step.request.as_told();
        let sent = self.open.iter().find(|open| open.request == request);
        let sent = sent.map_or(self.events, |open| open.sent);
        let step = Step { holder, request, answer, place: self.events, sent, answered: None };
        let (is_right, state) = Contract::apply(&step.operation(), &self.state);
        self.in_doubt |= !is_right;
        self.state = state;
        self.steps.push(step);
        Ok(())
    }

    fn answered(&mut self, who: Who, id: u64, answer: Option<Answer>, tally: &mut Tally) -> Found {
        let is_it = |open: &Open| open.who == who && open.id == id;
        let Some(index) = self.open.iter().rposition(is_it) else { return Ok(()) };
        let Open { request, sent, .. } = self.open.remove(index);
        let Some(answer) = answer.filter(|answer| *answer != Answer::Other) else { return Ok(()) };
        tally.count(true);
        let gave = |step: &Step| step.request == request && step.answer == answer;
        if let Some(step) = self
            .steps
            .iter_mut()
            .find(|step| gave(step) && step.answered.is_none() && step.place >= sent)
        {
            (step.sent, step.answered) = (sent, Some(self.events));
            return Ok(());
        }
        match self.unanswered.iter().position(gave) {
            Some(index) => {
                self.unanswered.remove(index);
                Ok(())
            }
            None => Err(Finding::AnswerFromNowhere { who, answer, request }),
        }
    }

    /// Ends the window, and begins the next one.
    fn close(&mut self) -> Found {
        if self.in_doubt {
            self.look_for_an_order()?;
            // The order that was found may differ from the order of steps, and so may the state
            // after it.
            self.state = State::Unknown;
        }
        for open in &mut self.open {
            open.sent = 0;
        }
        let is_awaited = |step: &Step| self.open.iter().any(|open| open.request == step.request);
        self.unanswered.extend(self.steps.iter().filter(|step| step.answered.is_none()));
        self.unanswered.retain(is_awaited);
        self.steps.clear();
        self.events = 0;
        self.in_doubt = false;
        self.known = self.state;
        Ok(())
    }

    fn look_for_an_order(&self) -> Found {
        if !self.is_exact && self.has_an_order() {
            return Ok(());
        }
        Err(Finding::NoOrder {
            known: format!("{:?}", self.known),
            steps: format!("{:?}", self.steps),
        })
    }

    fn has_an_order(&self) -> bool {
        let known = Operation::Known(self.known);
        let mut actions = vec![(0, 0, Call(known)), (0, 0, Response(known))];
        for (index, step) in self.steps.iter().enumerate() {
            let operation = step.operation();
            let answered = step.answered.unwrap_or(self.events + 1);
            actions.push((2 * step.sent + 1, index + 1, Call(operation)));
            actions.push((2 * answered + 2, index + 1, Response(operation)));
        }
        actions.sort_by_key(|(place, ..)| *place);
        let actions: Vec<(usize, Action<Operation>)> =
            actions.into_iter().map(|(_, operation, action)| (operation, action)).collect();
        WGLChecker::<Contract>::is_linearizable(History::from_actions(actions))
    }
}

/// One request, and the answer that its candidate got.
#[cfg(feature = "conformance")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) holder: u128,
    pub(crate) request: Asked,
    pub(crate) answer: Answer,
    /// The places of its sending and its answer in the order of all sendings and answers.
    pub(crate) sent: usize,
    pub(crate) answered: usize,
}

/// True if there is an order that explains all answers of a store whose earlier state is not known.
#[cfg(feature = "conformance")]
pub(crate) fn is_explained(exchanges: &[Exchange]) -> bool {
    let mut actions = Vec::new();
    for (index, exchange) in exchanges.iter().enumerate() {
        let Exchange { holder, request, answer, .. } = *exchange;
        let operation = Operation::Step { holder, request, answer };
        actions.push((exchange.sent, index, Call(operation)));
        actions.push((exchange.answered, index, Response(operation)));
    }
    actions.sort_by_key(|(place, ..)| *place);
    let actions = actions.into_iter().map(|(_, operation, action)| (operation, action)).collect();
    WGLChecker::<Contract>::is_linearizable(History::from_actions(actions))
}

#[cfg(test)]
mod tests;
