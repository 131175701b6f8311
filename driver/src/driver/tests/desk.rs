//! A driver without a shell, for tests.

use std::time::Duration;

use tenure_core::contract::Record;
use tenure_core::{Config, HolderId, Instant, NameId, Reply, RequestId, Seed, Sight, Token};

use crate::Driver;
use crate::alphabet::{
    Action, CallId, Command, ElectionId, Event, InCall, Join, News, Outcome, Outgoing,
};

pub(super) const NOW: Instant = Instant::from_nanos(1_000_000_000_000);
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// A driver, and what it has asked for.
pub(super) struct Desk {
    pub(super) driver: Driver<u8>,
    pub(super) now: Instant,
    pub(super) actions: Vec<Action<u8>>,
}

impl Desk {
    pub(super) fn new(in_call: usize) -> Self {
        let in_call = InCall { renewals: in_call, looks: in_call, acquires: in_call };
        Self { driver: Driver::new(in_call), now: NOW, actions: Vec::new() }
    }

    /// Elections of that many keys, each named like its key.
    pub(super) fn with(in_call: usize, elections: u8) -> Self {
        let mut desk = Self::new(in_call);
        for key in 0..elections {
            let join = Join {
                election: key.into(),
                key,
                config: Config::normal(),
                name: NameId::from_bits(key.into()),
                seed: Seed::new(key.into()),
                phase: 0,
            };
            desk.handle(Event::Join(Box::new(join)));
        }
        desk.rest();
        desk
    }

    pub(super) fn handle(&mut self, event: Event<u8>) {
        self.driver.handle(self.now, event);
        self.actions.extend(std::iter::from_fn(|| self.driver.poll()));
    }

    /// To election 0.
    pub(super) fn command(&mut self, command: Command) {
        self.handle(Event::Command(0, command));
    }

    /// Does what is due now.
    pub(super) fn rest(&mut self) {
        while self.driver.deadline().is_some_and(|at| at <= self.now) {
            self.handle(Event::Due);
        }
    }

    pub(super) fn sleep(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(at) = self.driver.deadline().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.handle(Event::Due);
        }
        self.now = until;
    }

    /// The calls that have left since this was asked last.
    pub(super) fn calls(&mut self) -> Vec<(CallId, Vec<Outgoing>)> {
        let actions = std::mem::take(&mut self.actions);
        let mut calls = Vec::new();
        for action in actions {
            match action {
                Action::Call(call, requests) => calls.push((call, requests)),
                other => self.actions.push(other),
            }
        }
        calls
    }

    pub(super) fn answer(&mut self, call: CallId, results: Vec<Outcome>) {
        self.handle(Event::Called(call, results));
        self.rest();
    }

    pub(super) fn grant_all(&mut self) {
        for (call, requests) in self.calls() {
            self.answer(call, vec![granted(); requests.len()]);
        }
    }

    pub(super) fn leads(&self, election: ElectionId) -> bool {
        self.driver.candidate(election).is_some_and(|one| one.claim(self.now).is_some())
    }

    pub(super) fn news_of(&self, of: ElectionId) -> Vec<News> {
        let news = |action: &Action<u8>| match action {
            Action::Publish(election, news) if *election == of => Some(*news),
            _ => None,
        };
        self.actions.iter().filter_map(news).collect()
    }
}

pub(super) fn granted() -> Outcome {
    Outcome::Answered(Reply::Granted { token: Token::FIRST })
}

pub(super) fn renewed() -> Outcome {
    Outcome::Answered(Reply::Renewed { asked: None, wanted: None, past: None })
}

/// Another candidate's lease.
pub(super) fn held() -> Outcome {
    held_by(HolderId::from_bits(99))
}

/// The lease of that candidate.
pub(super) fn held_by(holder: HolderId) -> Outcome {
    let record = Record {
        token: Token::FIRST,
        holder,
        number: RequestId::FIRST,
        released: false,
        reservation: None,
        ttl: Config::normal().ttl(),
        quarantine: Config::normal().quarantine(),
        wanted: None,
        asked: None,
        written: Instant::ORIGIN,
    };
    let now = Instant::ORIGIN;
    let sight = Sight { last: Some(Token::FIRST), record: Some(record), past: None, now };
    Outcome::Answered(Reply::Not(sight))
}
