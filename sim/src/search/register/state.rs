//! A server, the statements on their way to it, two candidates, and all that may come next.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::{Moment, Past, apply};
use tenure_core::{Instant, Reply, Stamp};
use xxhash_rust::xxh3::Xxh3Default;

use super::candidate::{Candidate, is_watched_longer};
use super::rows::{Content, Draw, Statement, Swap};
use super::{Bounds, Weakness};

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A candidate reads the rows, and sends what the contract decides.
    Asks(usize),
    /// A statement arrives, for the first time or again; its answer arrives as well, or is lost.
    Arrives { statement: usize, answered: bool },
    /// Time passes: whatever was watched since then was watched for long enough, and a claim from
    /// before that is over.
    Waits(u8),
    /// All rows are lost.
    Loses,
    /// Another server takes over, with rows that the store had once.
    FailsOver(usize),
}

#[derive(Clone, Debug)]
pub(super) struct State {
    weakness: Option<Weakness>,
    server: u8,
    content: Arc<Content>,
    /// The contents before, each once.
    earlier: Vec<Arc<Content>>,
    /// The statements that were sent, each once. They stay: each may arrive late, and again.
    sent: Vec<Arc<Statement>>,
    candidates: [Candidate; 2],
    now: u8,
    /// The number of versions and stamps that were drawn.
    drawn: u8,
    /// The highest token that was decided on.
    highest: u64,
    faults: u8,
}

impl State {
    /// A store without rows.
    pub(super) fn empty(bounds: Bounds) -> Self {
        Self {
            weakness: bounds.weakness,
            server: 0,
            content: Arc::default(),
            earlier: Vec::new(),
            sent: Vec::new(),
            candidates: Default::default(),
            now: 0,
            drawn: 0,
            highest: 0,
            faults: bounds.faults,
        }
    }

    /// A store whose past was begun by the first candidate. Both have read its stamp.
    pub(super) fn begun(bounds: Bounds) -> Self {
        let mut state = Self::empty(bounds);
        while state.candidates[0].watches().next().is_none() {
            state.takes(Step::Asks(0));
            if state.candidates[0].asked.is_some() {
                let statement = state.sent.len() - 1;
                state.takes(Step::Arrives { statement, answered: true });
            }
        }
        state.takes(Step::Asks(1));
        state
    }

    /// All that may come next.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut all: Vec<_> = (0..self.candidates.len()).map(Step::Asks).collect();
        for statement in 0..self.sent.len() {
            all.push(Step::Arrives { statement, answered: false });
            if self.waiting(statement).is_some() {
                all.push(Step::Arrives { statement, answered: true });
            }
        }
        let watched: BTreeSet<_> = self.candidates.iter().flat_map(Candidate::watches).collect();
        all.extend(watched.into_iter().map(Step::Waits));
        if self.faults > 0 {
            all.push(Step::Loses);
            all.extend((0..self.earlier.len()).map(Step::FailsOver));
        }
        all
    }

    /// The candidate that waits for the answer to a statement.
    fn waiting(&self, statement: usize) -> Option<usize> {
        let sent = &self.sent[statement];
        self.candidates
            .iter()
            .position(|one| one.asked.as_ref().is_some_and(|asked| asked.statement == *sent))
    }

    pub(super) fn takes(&mut self, step: Step) {
        let before = Arc::clone(&self.content);
        match step {
            Step::Asks(candidate) => self.asks(candidate),
            Step::Arrives { statement, answered } => {
                let waiting = self.waiting(statement);
                let draw = Draw { weakness: self.weakness, drawn: &mut self.drawn };
                let content = Arc::make_mut(&mut self.content);
                let is_done = content.carry_out(self.server, &self.sent[statement], draw);
                match waiting {
                    Some(one) if answered => self.candidates[one].is_answered(self.now, is_done),
                    Some(one) => self.candidates[one].asked = None,
                    None => {}
                }
            }
            Step::Waits(until) => self.candidates.iter_mut().for_each(|one| one.waits(until)),
            Step::Loses => {
                self.faults -= 1;
                self.content = Arc::default();
            }
            Step::FailsOver(earlier) => {
                self.faults -= 1;
                self.server += 1;
                self.content = Arc::clone(&self.earlier[earlier]);
                if self.weakness != Some(Weakness::UncomparedServer) {
                    // A swap names the server before, which does not come back.
                    self.sent.retain(|sent| matches!(**sent, Statement::Begin { .. }));
                }
            }
        }
        if before != self.content && !self.earlier.contains(&before) {
            self.earlier.push(before);
        }
        self.renumber();
    }

    fn asks(&mut self, index: usize) {
        let Some(row) = &self.content.past else {
            self.drawn += 1;
            let stamped = Past {
                identity: self.server.into(),
                stamp: Stamp::from_bits(self.drawn.into()),
                watched: Duration::ZERO,
                longest: Duration::ZERO,
                purged: None,
            };
            let past = (self.weakness == Some(Weakness::StampAtOnce)).then_some(stamped);
            return self.sends(index, Statement::Begin { number: self.drawn, past }, None);
        };
        let record = self.content.election.as_ref().map(|row| row.value);
        let (mut new_record, mut new_past) = (record, row.value);
        let request = self.candidates[index].request(index);
        let at = Moment {
            // A clock that is ahead of the last grant.
            now: Instant::from_nanos((self.highest + 1) * 1_000),
            identity: self.server.into(),
            fresh: Stamp::from_bits(u128::from(self.drawn) + 1),
            first: true,
            trust_empty_store: false,
        };
        let reply = apply(&mut new_record, &mut new_past, at, request);
        if let Some(record) = &mut new_record {
            record.written = Instant::ORIGIN;
        }
        self.drawn += u8::from(new_past.is_some_and(|past| past.stamp == at.fresh));
        if let Reply::Granted { token } = reply {
            self.highest = self.highest.max(token.get());
        }
        if (new_record, new_past) == (record, row.value) {
            return self.candidates[index].is_refused(self.now, index, reply);
        }
        let is_longer = is_watched_longer(row.value, new_past);
        let statement = Statement::Swap(Swap {
            server: self.server,
            past: row.version,
            election: self.content.election.as_ref().map(|row| row.version),
            watched: new_past.filter(|_| is_longer).map(|past| past.watched),
            new_past: new_past.filter(|_| !is_longer && new_past != row.value),
            new_record: new_record.filter(|_| new_record != record),
        });
        self.sends(index, statement, Some(reply));
    }

    fn sends(&mut self, index: usize, statement: Statement, reply: Option<Reply>) {
        let known = self.sent.iter().find(|sent| ***sent == statement);
        let statement = known.map_or_else(|| Arc::new(statement), Arc::clone);
        if known.is_none() {
            self.sent.push(Arc::clone(&statement));
        }
        self.candidates[index].sends(self.now, index, statement, reply);
    }

    /// Times count those that are still told apart.
    fn renumber(&mut self) {
        let mut times: Vec<_> = self.candidates.iter_mut().flat_map(Candidate::times).collect();
        let order: BTreeSet<u8> = times.iter().map(|time| **time).collect();
        for time in &mut times {
            **time = u8::try_from(order.range(..**time).count()).unwrap_or(u8::MAX);
        }
        self.now = u8::try_from(order.len()).unwrap_or(u8::MAX);
    }

    /// True if both candidates lead.
    pub(super) fn two_lead(&self) -> bool {
        self.candidates.iter().all(|one| one.lead.is_some())
    }

    /// True if a candidate leads.
    pub(super) fn leads(&self) -> bool {
        self.candidates.iter().any(|one| one.lead.is_some())
    }

    pub(super) fn fingerprint(&self) -> u64 {
        let Self { server, content, earlier, sent, candidates, drawn, highest, faults, .. } = self;
        // The order in which statements were sent, and rows replaced, does not matter.
        let sum = |hashes: &mut dyn Iterator<Item = u64>| hashes.fold(0, u64::wrapping_add);
        let earlier = sum(&mut earlier.iter().map(hash));
        let sent = sum(&mut sent.iter().map(hash));
        hash(&(server, content, earlier, sent, candidates, drawn, highest, faults))
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = Xxh3Default::new();
    value.hash(&mut hasher);
    hasher.finish()
}
