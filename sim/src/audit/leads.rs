//! Claims of one election: each ends before that of the next tenure begins.

use std::time::Duration;

use super::candidate::shown;
use super::facts::{Index, Moment, Tenure};
use super::orders::{Order, Orders};
use super::placement::{Edge, Why};
use super::timeline::{RESOLUTION, Timelines};
use super::verdict::Violation;
use crate::judge::finding::Part::{Detail, Span, Token};
use crate::judge::finding::finding;
use crate::judge::properties::PropertyName;

impl Orders<'_> {
    /// The pairs of tenures on different clocks, one after the other by their tokens; those on one clock are judged at
    /// once.
    pub(super) fn leads(&mut self) -> Vec<(Index, Index)> {
        let tenures = &self.facts.tenures;
        let mut sorted: Vec<Index> = (0..tenures.len()).collect();
        sorted.sort_by_key(|place| (tenures[*place].key, tenures[*place].token, *place));
        let mut pairs = Vec::new();
        for pair in sorted.windows(2) {
            let (older, newer) = (&tenures[pair[0]], &tenures[pair[1]]);
            // One candidate's tenures are judged by its lines.
            if older.key != newer.key || older.candidate == newer.candidate {
                continue;
            }
            self.report.compared(PropertyName::TOKEN_MONOTONIC);
            if older.token == newer.token {
                self.one_token(older, newer);
                continue;
            }
            let clocks = [older.ends(), newer.begins].map(|moment| self.facts.clock_at(moment));
            if clocks[0] == clocks[1] {
                self.on_one_clock(older, newer);
            } else if clocks.iter().all(|clock| self.facts.clocks[*clock].is_known) {
                pairs.push((pair[0], pair[1]));
            } else {
                self.report.undecided(PropertyName::SINGLE_LEADER);
            }
        }
        pairs
    }

    fn one_token(&mut self, one: &Tenure, other: &Tenure) {
        let finding = finding![
            Detail(shown(self.facts, one.candidate)),
            " and ",
            Detail(shown(self.facts, other.candidate)),
            " are both elected under token ",
            Token(one.token),
            Detail(format!(" of {:?}", self.facts.keys.text(one.key))),
        ];
        let lines = [one.begins, other.begins].map(|at| self.facts.shown(at.place)).to_vec();
        let property = PropertyName::TOKEN_MONOTONIC.as_str();
        self.report.accuse(Violation { property, finding, lines });
    }

    fn on_one_clock(&mut self, older: &Tenure, newer: &Tenure) {
        let (ends, begins) = (older.ends(), newer.begins);
        if ends.reading <= begins.reading {
            let gap = i128::from(older.may_end()) - i128::from(begins.reading);
            return self.tally(PropertyName::SINGLE_LEADER, false, Some(gap));
        }
        let is_reversed = newer.ends().reading <= older.begins.reading;
        let (property, verb) = if is_reversed {
            (PropertyName::TOKEN_MONOTONIC, " began only after ")
        } else {
            (PropertyName::SINGLE_LEADER, " still held its claim when ")
        };
        let over = Duration::from_nanos(ends.reading - begins.reading);
        let finding = finding![
            Detail(shown(self.facts, older.candidate)),
            " under token ",
            Token(older.token),
            Detail(format!(" of {:?}", self.facts.keys.text(older.key))),
            verb,
            Detail(shown(self.facts, newer.candidate)),
            " was elected under token ",
            Token(newer.token),
            ", and until ",
            Span(over),
            " later; both count by one clock",
        ];
        let lines = [ends, begins].map(|at| self.facts.shown(at.place)).to_vec();
        self.report.compared(PropertyName::SINGLE_LEADER);
        self.report.accuse(Violation { property: property.as_str(), finding, lines });
    }

    pub(super) fn constrain_lead(&mut self, timelines: &mut Timelines, older: Index, newer: Index) {
        let why = Why::Order(self.add(Order::Lead { older, newer }));
        let (ends, begins) = (self.facts.tenures[older].ends(), self.facts.tenures[newer].begins);
        let node = |moment: Moment| timelines.node(self.facts.clock_at(moment), moment.reading);
        let (from, to) = (node(begins), node(ends));
        timelines.placement.edge(Edge { from, to, most: RESOLUTION, why });
    }

    /// Whether no placement keeps that order; else by how much it may not hold by the clocks' bounds.
    pub(super) fn decide(&self, timelines: &Timelines, place: Index) -> (bool, Option<i128>) {
        let Order::Lead { older, newer } = self.all[place] else { return (false, None) };
        let (older, newer) = (&self.facts.tenures[older], &self.facts.tenures[newer]);
        let ends = (self.facts.clock_at(older.ends()), older.may_end());
        let begins = (self.facts.clock_at(newer.begins), newer.begins.reading);
        (self.contradicted[place], timelines.widest(ends, begins))
    }

    /// Whether the tenure with the higher token was certainly over before the other one began.
    pub(super) fn is_reversed(&self, timelines: &Timelines, why: Why) -> bool {
        let Why::Order(place) = why else { return false };
        let Order::Lead { older, newer } = self.all[place] else { return false };
        let (older, newer) = (&self.facts.tenures[older], &self.facts.tenures[newer]);
        let at = |moment: Moment| (self.facts.clock_at(moment), moment.reading);
        let widest = timelines.widest(at(newer.ends()), at(older.begins));
        widest.is_some_and(|widest| widest <= 0)
    }
}
