//! The lines of one candidate, in their order: what they say of its tenures, and what must hold
//! among them.
//!
//! The driver writes them one after the other, so their order in the file is that of the decisions.

use std::time::Duration;

use super::facts::{Facts, File, Index, Moment, Tenure, Writes, WritesOf};
use super::log::{Claim, End, Outcome, Write};
use super::verdict::{Report, Violation};
use crate::judge::finding::Part::{Detail, Span, Token};
use crate::judge::finding::{Finding, of_logs};
use crate::judge::properties::PropertyName;

/// A candidate so far.
#[derive(Debug)]
pub(super) struct Candidate {
    index: Index,
    key: Index,
    key_text: Box<str>,
    /// Its last tenure.
    last: Option<Index>,
    last_reading: u64,
    went_back: bool,
    resource: (Box<str>, Index),
    writes: Option<(WritesOf, Writes)>,
}

/// A violation, unless the file lacks lines that explain it.
#[derive(Debug)]
pub(super) struct Suspicion {
    pub(super) property: PropertyName,
    pub(super) violation: Violation,
}

/// The output of all candidates of a file.
pub(super) struct Added<'a> {
    pub(super) facts: &'a mut Facts,
    pub(super) report: &'a mut Report,
    pub(super) suspicions: &'a mut Vec<Suspicion>,
}

impl Candidate {
    pub(super) fn new(facts: &mut Facts, file: Index, key: &str, name: &str) -> Self {
        let index = facts.candidates.len();
        facts.candidates.push(super::facts::Candidate { file, name: name.into() });
        Self {
            index,
            key: facts.keys.index(key),
            key_text: key.into(),
            last: None,
            last_reading: 0,
            went_back: false,
            resource: ("".into(), Index::MAX),
            writes: None,
        }
    }

    pub(super) fn is_of(&self, key: &str) -> bool {
        &*self.key_text == key
    }

    pub(super) fn elected(&mut self, at: Moment, claim: &Claim<'_>, added: &mut Added<'_>) {
        let at = self.in_order(at);
        let last = self.last.map(|last| added.facts.tenures[last].clone());
        added.report.compared(PropertyName::NO_RESURRECTION);
        if claim.left == 0 {
            let what = of_logs![
                Detail(self.shown(added.facts)),
                " is elected under token ",
                Token(claim.token),
                " although its claim has ended",
            ];
            added.accuse(PropertyName::NO_RESURRECTION, what, &[at]);
        }
        if let Some(last) = last {
            added.report.compared(PropertyName::TOKEN_MONOTONIC);
            if claim.token <= last.token {
                let what = of_logs![
                    Detail(self.shown(added.facts)),
                    " is elected under token ",
                    Token(claim.token),
                    ", and was elected under token ",
                    Token(last.token),
                    " before",
                ];
                added.accuse(PropertyName::TOKEN_MONOTONIC, what, &[last.begins, at]);
            }
            added.report.compared(PropertyName::ONE_STEP_DOWN_PER_ELECTION);
            if last.stepped_down.is_none() {
                let what = of_logs![
                    Detail(self.shown(added.facts)),
                    " is elected under token ",
                    Token(claim.token),
                    " without a step-down from token ",
                    Token(last.token),
                ];
                added.suspect(PropertyName::ONE_STEP_DOWN_PER_ELECTION, what, &[last.proven, at]);
            }
        }
        self.begins(at, claim, true, added.facts);
    }

    pub(super) fn renewed(&mut self, at: Moment, claim: &Claim<'_>, added: &mut Added<'_>) {
        let at = self.in_order(at);
        let Some(index) = self.last.filter(|last| added.facts.tenures[*last].token >= claim.token)
        else {
            // The election's line is missing.
            added.report.undecided(PropertyName::ONE_STEP_DOWN_PER_ELECTION);
            return self.begins(at, claim, false, added.facts);
        };
        added.report.compared(PropertyName::NO_RESURRECTION);
        let last = added.facts.tenures[index].clone();
        if let Some((since, words)) = ended(&last, claim.token) {
            let what = of_logs![
                Detail(self.shown(added.facts)),
                " renews token ",
                Token(claim.token),
                words,
                Token(last.token),
            ];
            return added.accuse(PropertyName::NO_RESURRECTION, what, &[since, at]);
        }
        let extended = &mut added.facts.tenures[index];
        extended.until = extended.until.max(at.reading + claim.left);
        extended.proven = at;
        if let Some(late) = at.reading.checked_sub(last.until) {
            let what = of_logs![
                Detail(self.shown(added.facts)),
                " renews token ",
                Token(claim.token),
                " although its claim has ended ",
                Span(Duration::from_nanos(late)),
                " before",
            ];
            added.suspect(PropertyName::NO_RESURRECTION, what, &[last.proven, at]);
        }
    }

    pub(super) fn stepped_down(&mut self, at: Moment, end: &End<'_>, added: &mut Added<'_>) {
        let at = self.in_order(at);
        added.report.compared(PropertyName::ONE_STEP_DOWN_PER_ELECTION);
        let last = self.last.filter(|last| added.facts.tenures[*last].token == end.token);
        let Some(last) = last.map(|last| &mut added.facts.tenures[last]) else {
            let what = of_logs![
                Detail(self.shown(added.facts)),
                " steps down from token ",
                Token(end.token),
                " without an election",
            ];
            return added.suspect(PropertyName::ONE_STEP_DOWN_PER_ELECTION, what, &[at]);
        };
        if let Some(first) = last.stepped_down.replace(at) {
            last.stepped_down = Some(first);
            let what = of_logs![
                Detail(self.shown(added.facts)),
                " steps down from token ",
                Token(end.token),
                " twice",
            ];
            added.accuse(PropertyName::ONE_STEP_DOWN_PER_ELECTION, what, &[first, at]);
        }
    }

    /// Writes come from many threads: their readings have no order.
    pub(super) fn wrote(&mut self, at: Moment, write: &Write<'_>, added: &mut Added<'_>) {
        let report = &mut *added.report;
        match write.outcome {
            Outcome::Accepted => report.writes += 1,
            Outcome::Refused => report.refused_writes += 1,
            Outcome::Unknown => report.unknown_writes += 1,
        }
        if write.outcome != Outcome::Accepted {
            return;
        }
        if self.resource.1 == Index::MAX || *self.resource.0 != *write.resource {
            let index = added.facts.resources.index(&write.resource);
            self.resource = (write.resource.as_ref().into(), index);
        }
        let clock = added.facts.clock_at(at);
        let of = WritesOf { key: self.key, resource: self.resource.1, token: write.token, clock };
        let began = Moment { reading: write.began, ..at };
        match &mut self.writes {
            Some((known, writes)) if *known == of => {
                if began.reading > writes.last_began.reading {
                    writes.last_began = began;
                }
                if at.reading < writes.first_ended.reading {
                    writes.first_ended = at;
                }
            }
            _ => {
                self.finish(added.facts);
                let candidate = self.index;
                let writes = Writes { last_began: began, first_ended: at, candidate };
                self.writes = Some((of, writes));
            }
        }
    }

    /// The end of the file.
    pub(super) fn finish(&mut self, facts: &mut Facts) {
        if let Some((of, writes)) = self.writes.take() {
            facts.wrote(of, writes);
        }
    }

    pub(super) fn went_back(&self) -> bool {
        self.went_back
    }

    fn begins(&mut self, at: Moment, claim: &Claim<'_>, is_elected: bool, facts: &mut Facts) {
        // Its first line may have been one without a name.
        facts.candidates[self.index].name = claim.name.as_ref().into();
        self.last = Some(facts.tenures.len());
        facts.tenures.push(Tenure {
            key: self.key,
            token: claim.token,
            candidate: self.index,
            is_elected,
            begins: at,
            proven: at,
            until: at.reading + claim.left,
            stepped_down: None,
        });
    }

    /// A reading below an earlier one of the same clock counts as that earlier one.
    fn in_order(&mut self, at: Moment) -> Moment {
        self.went_back |= at.reading < self.last_reading;
        self.last_reading = self.last_reading.max(at.reading);
        Moment { reading: self.last_reading, ..at }
    }

    fn shown(&self, facts: &Facts) -> String {
        shown(facts, self.index)
    }
}

/// The line after which a tenure with that token can't be renewed, and the words for it, if there
/// is one.
fn ended(last: &Tenure, token: u64) -> Option<(Moment, &'static str)> {
    if last.token > token {
        return Some((last.begins, " after its election under token "));
    }
    last.stepped_down.map(|end| (end, " after its step-down from token "))
}

/// A candidate by its name and file.
pub(super) fn shown(facts: &Facts, candidate: Index) -> String {
    let super::facts::Candidate { file, name } = &facts.candidates[candidate];
    let File { name: file, .. } = &facts.files[*file];
    format!("{} ({file})", crate::plan::json::plain(name))
}

impl Added<'_> {
    fn violation(&self, property: PropertyName, finding: Finding, at: &[Moment]) -> Violation {
        let lines = at.iter().map(|at| self.facts.shown(at.place)).collect();
        Violation { property: property.as_str(), finding, lines }
    }

    fn accuse(&mut self, property: PropertyName, finding: Finding, at: &[Moment]) {
        let violation = self.violation(property, finding, at);
        self.report.accuse(violation);
    }

    fn suspect(&mut self, property: PropertyName, finding: Finding, at: &[Moment]) {
        let violation = self.violation(property, finding, at);
        self.suspicions.push(Suspicion { property, violation });
    }
}
