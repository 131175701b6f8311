//! Calls on their way to the store and back.

use std::time::Duration;

use tenure_core::{Reply, Request};
use tenure_driver::{CallId, Command, DescribeOutcome, ElectionId, Event as Input, Outcome};
use tenure_driver::{Outgoing, QuestionId};

use super::faults::FaultKind;
use super::journal::{key, of_id};
use super::process::Call;
use super::run::{Due, Run};
use crate::engines::calls::{answered, asked};
use crate::plan::draw::Draw;
use crate::trace::{Event, Who};

/// A call on its way to the store.
#[derive(Clone)]
pub(super) struct Flight {
    process: usize,
    call: CallId,
    /// Its number among those of all processes.
    number: u64,
    requests: Vec<(u32, Request)>,
}

impl Run<'_> {
    pub(super) fn calls(&mut self, process: usize, call: CallId, requests: &[Outgoing]) {
        let of: Vec<Who> = requests.iter().map(|one| of_id(process, one.election)).collect();
        let each: Vec<_> = requests.iter().map(|one| (key(one.election), one.request)).collect();
        for (who, (_, request)) in of.iter().zip(&each) {
            if let Some((_, request)) = asked(*request) {
                let id = self.calls + 1;
                self.journal.add(self.at, *who, Event::Sent { who: *who, id, request });
            }
        }
        self.leaves(process, call, of, None, each);
    }

    /// A handle's wish, or what it asks of the store: that is refused, or never answered.
    pub(super) fn asks(&mut self, process: usize, call: CallId, question: QuestionId) {
        let request = self.processes[process].request_of(question);
        let is_wish = request.is_some();
        self.leaves(process, call, Vec::new(), Some(question), request.into_iter().collect());
        let mut draw = Draw::new(self.plan.seed, "overload observes", self.calls);
        let at = self.at + draw.duration(Duration::ZERO..=Duration::from_millis(500));
        if !is_wish && draw.chance(9, 10) {
            self.queue.put(at, Due::Answer(process, call, vec![Outcome::Refused]));
        }
    }

    pub(super) fn describes(&mut self, process: usize, call: CallId, election: ElectionId) {
        use DescribeOutcome::{Answered, Refused, Unanswered};
        let mut draw = Draw::new(self.plan.seed, "overload describes", self.calls);
        let at = self.at + draw.duration(Duration::ZERO..=Duration::from_millis(300));
        let version = self.processes[process].profiles.get(&election).copied().unwrap_or_default();
        let outcome = draw.pick(&[None, Some(Unanswered), Some(Refused), Some(Answered)]);
        if let Some(outcome) = outcome {
            let input = Input::Described(call, version, outcome);
            self.queue.put(at, Due::Input(process, input));
        }
    }

    fn leaves(
        &mut self,
        process: usize,
        call: CallId,
        of: Vec<Who>,
        question: Option<QuestionId>,
        requests: Vec<(u32, Request)>,
    ) {
        self.calls += 1;
        let number = self.calls;
        self.processes[process].calls.insert(call, Call { number, of, question });
        let is_silent = |(of, _): &(u32, Request)| self.plan.is_silent(*of as usize, self.at);
        if requests.is_empty()
            || requests.iter().any(is_silent)
            || self.has(process, FaultKind::Unsent)
        {
            return;
        }
        let mut at = self.at + self.plan.round_trip / 2;
        if self.has(process, FaultKind::Slow) {
            at = at + self.plan.slowness(number);
        }
        let flight = Box::new(Flight { process, call, number, requests });
        if self.has(process, FaultKind::Repeated) {
            self.queue.put(at + self.plan.slowness(number), Due::Arrives(flight.clone()));
        }
        self.queue.put(at, Due::Arrives(flight));
    }

    /// The store carries a call out.
    pub(super) fn arrives(&mut self, flight: Flight) {
        let Flight { process, call, number, requests } = flight;
        let answer = self.server.answer(self.plan, self.at, &requests);
        for (of, step) in answer.steps {
            self.journal.will_step(answer.done, of, step);
        }
        for ((of, _), reply) in requests.iter().zip(&answer.replies) {
            if *reply == Reply::Released {
                self.queue.put(answer.at, Due::Hint(*of));
            }
        }
        if self.has(process, FaultKind::Unanswered) {
            return;
        }
        let mut results: Vec<_> = answer.replies.into_iter().map(Outcome::Answered).collect();
        if self.has(process, FaultKind::InPart) {
            match Draw::new(self.plan.seed, "overload answers", number).within(0..=4) {
                0 => results.fill(Outcome::Unanswered),
                1 => results.fill(Outcome::Unexpected),
                2 => results.truncate(1),
                3 => results.clear(),
                _ => {}
            }
        }
        self.queue.put(answer.at, Due::Answer(process, call, results));
    }

    pub(super) fn answer_arrives(&mut self, process: usize, call: CallId, results: Vec<Outcome>) {
        let takes_at = self.processes[process].takes_at(self.at);
        if takes_at > self.at {
            return self.queue.put(takes_at, Due::Answer(process, call, results));
        }
        let known = self.processes[process].calls.remove(&call);
        let question = known.as_ref().and_then(|known| known.question);
        let is_noted = results == [Outcome::Answered(Reply::Noted)];
        if let Some(Call { number, of, .. }) = known {
            let results = results.iter().map(Some).chain(std::iter::repeat(None));
            for (who, result) in of.into_iter().zip(results) {
                let answer = match result {
                    Some(Outcome::Answered(reply)) => Some(answered(*reply)),
                    _ => None,
                };
                self.journal.add(self.at, who, Event::Answered { who, id: number, answer });
            }
        } else if !self.plan.is_faulty() {
            // Nobody waits for it any more.
            return;
        }
        self.reaches(process, Input::Called(call, results));
        let wished = question.and_then(|id| self.processes[process].wishes.remove(&id));
        if let Some(wished) = wished.filter(|_| is_noted) {
            self.reaches(process, Input::Command(wished.election, Command::RenewNow));
        }
    }

    pub(super) fn is_cancelled(&mut self, process: usize, call: CallId) {
        let Some(Call { number, of, question }) = self.processes[process].calls.remove(&call)
        else {
            return;
        };
        for who in of {
            self.journal.add(self.at, who, Event::Answered { who, id: number, answer: None });
        }
        if let Some(question) = question
            && let Some(asks) = self.processes[process].wishes_again(self.plan, question, self.at)
        {
            self.queue.put(self.at, Due::Input(process, asks));
        }
    }
}
