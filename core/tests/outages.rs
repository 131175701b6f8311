//! An outage of the store is reported once at its beginning and once at its end.

use std::time::Duration;

use crate::sights::{NAME, RENEWED, held};
use tenure_core::{
    Candidate, Config, Event, Input, Instant, Output, Reply, RequestId, Seed, Token, Unknown,
};

struct Life {
    candidate: Candidate,
    now: Instant,
    /// The request in flight.
    asked: Option<(RequestId, Instant)>,
}

impl Life {
    fn new() -> Self {
        let candidate = Candidate::new(Config::normal(), NAME, Seed::new(3));
        Self { candidate, now: Instant::from_nanos(100_000_000_000), asked: None }
    }

    /// The events about the store.
    fn feed(&mut self, input: Input) -> Vec<Event> {
        self.candidate.handle(self.now, input);
        let mut events = Vec::new();
        while let Some(output) = self.candidate.poll() {
            match output {
                Output::Send { id, .. } => self.asked = Some((id, self.now)),
                Output::Event(event @ (Event::StoreUnavailable { .. } | Event::StoreRecovered)) => {
                    events.push(event);
                }
                Output::Event(_) => {}
            }
        }
        if self.candidate.pending().is_some() {
            events.extend(self.feed(Input::Admitted));
        }
        events
    }

    /// Waits for the next request and returns when it was sent.
    fn next_request(&mut self) -> Instant {
        while self.asked.is_none() {
            self.now = self.candidate.deadline().expect("something is due");
            assert_eq!(self.feed(Input::Wake), []);
        }
        self.asked.expect("in flight").1
    }

    fn answer(&mut self, result: Result<Reply, Unknown>) -> Vec<Event> {
        self.next_request();
        let (id, _) = self.asked.take().expect("in flight");
        self.now = self.now + Duration::from_millis(1);
        self.feed(Input::Reply { id, result })
    }

    /// Two requests without an answer, and two with one.
    fn outage(&mut self, answers: &[Reply; 2]) {
        let since = self.next_request();
        assert_eq!(self.answer(Err(Unknown)), [Event::StoreUnavailable { since }]);
        assert_eq!(self.answer(Err(Unknown)), []);
        assert_eq!(self.answer(Ok(answers[0])), [Event::StoreRecovered]);
        assert_eq!(self.answer(Ok(answers[1])), []);
    }
}

const GRANTED: Reply = Reply::Granted { token: Token::FIRST };
#[test]
fn outages_are_reported_while_waiting() {
    let mut life = Life::new();
    assert_eq!(life.feed(Input::Campaign), []);
    life.outage(&[held(Token::FIRST); 2]);
    life.outage(&[held(Token::FIRST); 2]);
}

#[test]
fn outages_are_reported_while_leading() {
    let mut life = Life::new();
    life.feed(Input::Campaign);
    assert_eq!(life.answer(Ok(GRANTED)), []);
    life.outage(&[RENEWED; 2]);
    life.outage(&[RENEWED; 2]);
    let since = life.next_request();
    assert_eq!(life.answer(Err(Unknown)), [Event::StoreUnavailable { since }]);
    let superseded = Reply::Superseded { last: Some(Token::FIRST) };
    assert_eq!(life.answer(Ok(superseded)), [Event::StoreRecovered]);
}

/// The answer to the last request ends the outage too.
#[test]
fn outages_are_reported_while_releasing() {
    let mut life = Life::new();
    life.feed(Input::Campaign);
    life.answer(Ok(GRANTED));
    life.feed(Input::Resign { again_after: None });
    life.feed(Input::Drained);
    let since = life.next_request();
    assert_eq!(life.answer(Err(Unknown)), [Event::StoreUnavailable { since }]);
    assert_eq!(life.answer(Ok(Reply::Released)), [Event::StoreRecovered]);
}
