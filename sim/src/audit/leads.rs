//! Claims of one election: each ends before that of the next tenure begins.

use std::time::Duration;

use super::candidate::shown;
use super::explain::Order;
use super::facts::{Index, Moment, Tenure};
use super::orders::Orders;
use super::placement::{Edge, Why};
use super::timeline::{RESOLUTION, Timelines};
use super::verdict::Violation;
use crate::judge::finding::Part::{Detail, Span, Token};
use crate::judge::finding::of_logs;
use crate::judge::properties::PropertyName;

impl Orders<'_> {
    /// The pairs of tenures on different clocks whose tokens are neighbours; those on one clock are
    /// judged at once.
    ///
    /// Neighbours suffice. A claim begins before it ends, so if each one ends before the next one
    /// begins, each one ends before every later one begins. The placement has all these constraints
    /// together, and every clock has a bound on its rate. So it finds two claims that overlap
    /// although there are tenures on other clocks between them; each handover in between hides an
    /// overlap of [`RESOLUTION`]. This holds as long as no tenure is left out, so that of a token
    /// with several tenures all are paired.
    pub(super) fn leads(&mut self) -> Vec<(Index, Index)> {
        let tenures = &self.facts.tenures;
        let mut sorted: Vec<Index> = (0..tenures.len()).collect();
        sorted.sort_by_key(|place| {
            let Tenure { key, token, is_elected, .. } = tenures[*place];
            (key, token, !is_elected, *place)
        });
        let token = |place: &Index| (tenures[*place].key, tenures[*place].token);
        let (mut pairs, mut before) = (Vec::new(), None::<&[Index]>);
        for tenures in sorted.chunk_by(|one, other| token(one) == token(other)) {
            let (mut first, mut last) = (tenures, tenures);
            if self.one_token(tenures) {
                // Two tenures with one token have no order. One pair is enough, for there may be
                // very many.
                (first, last) = (&tenures[..1], &tenures[tenures.len() - 1..]);
            }
            let older =
                before.replace(last).filter(|before| token(&before[0]).0 == token(&first[0]).0);
            for older in older.unwrap_or_default() {
                for newer in first {
                    pairs.extend(self.pair(*older, *newer));
                }
            }
        }
        pairs
    }

    /// Judges two tenures with different tokens, if their lines or their one clock suffice.
    fn pair(&mut self, older: Index, newer: Index) -> Option<(Index, Index)> {
        let pair = (older, newer);
        let (older, newer) = (&self.facts.tenures[older], &self.facts.tenures[newer]);
        // One candidate's tenures are judged by its lines.
        if older.candidate == newer.candidate {
            return None;
        }
        self.report.compared(PropertyName::TOKEN_MONOTONIC);
        let [ends, begins] = [older.ends(), newer.begins].map(|at| self.facts.clock_at(at));
        if ends != begins {
            return Some(pair);
        }
        self.on_one_clock(older, newer);
        None
    }

    /// Judges the tenures with one token, those with a line of their election first: whether two
    /// candidates were elected.
    fn one_token(&mut self, tenures: &[Index]) -> bool {
        let mut is_accused = false;
        for pair in tenures.windows(2) {
            let (one, other) = (&self.facts.tenures[pair[0]], &self.facts.tenures[pair[1]]);
            // One candidate's tenures are judged by its lines.
            if one.candidate == other.candidate {
                continue;
            }
            if self.may_be_one(one, other) {
                self.report.undecided(PropertyName::TOKEN_MONOTONIC);
                continue;
            }
            self.report.compared(PropertyName::TOKEN_MONOTONIC);
            self.both_elected(one, other);
            is_accused = true;
        }
        is_accused
    }

    /// True if two tenures with one token may be parts of one, or copies, in two files.
    fn may_be_one(&self, one: &Tenure, other: &Tenure) -> bool {
        if !(one.is_elected && other.is_elected) {
            return true;
        }
        let name = |tenure: &Tenure| &self.facts.candidates[tenure.candidate].name;
        one.begins.reading == other.begins.reading && name(one) == name(other)
    }

    fn both_elected(&mut self, one: &Tenure, other: &Tenure) {
        let finding = of_logs![
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
        let finding = of_logs![
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

    /// True if no placement keeps that order; else the time by which the clocks' bounds may break
    /// it.
    pub(super) fn decide(&self, timelines: &Timelines, place: Index) -> (bool, Option<i128>) {
        let Order::Lead { older, newer } = self.all[place] else { return (false, None) };
        let (older, newer) = (&self.facts.tenures[older], &self.facts.tenures[newer]);
        let ends = (self.facts.clock_at(older.ends()), older.may_end());
        let begins = (self.facts.clock_at(newer.begins), newer.begins.reading);
        (self.contradicted[place], timelines.widest(ends, begins))
    }

    /// True if the tenure with the higher token was certainly over before the other one began.
    pub(super) fn is_reversed(&self, timelines: &Timelines, why: Why) -> bool {
        let Why::Order(place) = why else { return false };
        let Order::Lead { older, newer } = self.all[place] else { return false };
        let (older, newer) = (&self.facts.tenures[older], &self.facts.tenures[newer]);
        let at = |moment: Moment| (self.facts.clock_at(moment), moment.reading);
        let widest = timelines.widest(at(newer.ends()), at(older.begins));
        widest.is_some_and(|widest| widest <= 0)
    }
}
