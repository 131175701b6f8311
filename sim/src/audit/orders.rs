//! Required orders: the claims of one election, and the accepted writes to one resource, in the
//! order of their tokens.

use super::explain::{Order, explain};
use super::facts::{Facts, Index, Moment};
use super::placement::{Contradiction, Why};
use super::timeline::{RESOLUTION, Timelines};
use super::verdict::{Report, Violation};
use super::{ClocksError, Settings};
use crate::judge::properties::PropertyName;

/// The most contradictions searched for, in each of the two steps.
const CONTRADICTIONS_MOST: usize = 100;

/// Judges all orders.
pub(super) struct Orders<'a> {
    pub(super) facts: &'a Facts,
    pub(super) report: &'a mut Report,
    pub(super) all: Vec<Order>,
    /// Those that hold in no placement.
    pub(super) contradicted: Vec<bool>,
}

impl<'a> Orders<'a> {
    pub(super) fn new(facts: &'a Facts, report: &'a mut Report) -> Self {
        Self { facts, report, all: Vec::new(), contradicted: Vec::new() }
    }

    pub(super) fn judge(mut self, settings: &Settings) -> Result<(), ClocksError> {
        let leads = self.leads();
        let facts = self.facts;
        let tenures = leads.iter().flat_map(|(older, newer)| {
            let (older, newer) = (&facts.tenures[*older], &facts.tenures[*newer]);
            let may_end = Moment { reading: older.may_end(), ..older.ends() };
            [older.begins, older.ends(), may_end, newer.begins, newer.ends()]
        });
        let writes = facts.writes.values();
        let writes = writes.flat_map(|writes| [writes.last_began, writes.first_ended]);
        let mut timelines = Timelines::new(facts, settings, tenures.chain(writes))?;
        for (older, newer) in &leads {
            self.constrain_lead(&mut timelines, *older, *newer);
        }
        self.contradictions(&mut timelines, PropertyName::SINGLE_LEADER);
        let decided = (0..self.all.len()).map(|place| self.decide(&timelines, place));
        for (is_contradicted, widest) in decided.collect::<Vec<_>>() {
            self.tally(PropertyName::SINGLE_LEADER, is_contradicted, widest);
        }
        let pairs = self.constrain_writes(&mut timelines);
        self.contradictions(&mut timelines, PropertyName::FENCED_WRITES);
        self.compare_writes(&pairs);
        Ok(())
    }

    /// Adds an order, for explanations.
    pub(super) fn add(&mut self, order: Order) -> Index {
        self.all.push(order);
        self.contradicted.push(false);
        self.all.len() - 1
    }

    pub(super) fn tally(
        &mut self,
        property: PropertyName,
        is_contradicted: bool,
        widest: Option<i128>,
    ) {
        if is_contradicted || widest.is_some_and(|widest| widest <= RESOLUTION) {
            return self.report.compared(property);
        }
        self.report.undecided(property);
        let widest = u64::try_from(widest.unwrap_or(0)).unwrap_or(u64::MAX);
        self.report.widest_undecided_ns = self.report.widest_undecided_ns.max(widest);
    }

    /// Looks for contradictions, gives up the orders of each, and looks for the next one.
    fn contradictions(&mut self, timelines: &mut Timelines, property: PropertyName) {
        for _ in 0..CONTRADICTIONS_MOST {
            let Some(found) = timelines.placement.contradiction() else { return };
            timelines.placement.drop_orders(&found);
            for edge in &found.edges {
                if let Why::Order(place) = edge.why {
                    self.contradicted[place] = true;
                }
            }
            let is_reversed = property == PropertyName::SINGLE_LEADER
                && found.edges.iter().any(|edge| self.is_reversed(timelines, edge.why));
            let property = if is_reversed { PropertyName::TOKEN_MONOTONIC } else { property };
            let violation = self.violation(property, &found);
            self.report.accuse(violation);
        }
        // The others must not be taken for contradictions of what follows.
        timelines.placement.drop_all_orders();
    }

    fn violation(&self, property: PropertyName, found: &Contradiction) -> Violation {
        let orders = found.edges.iter().filter_map(|edge| match edge.why {
            Why::Order(place) => Some(self.all[place]),
            Why::Rate | Why::Wall(_) => None,
        });
        let (finding, lines) = explain(self.facts, &orders.collect::<Vec<_>>(), found.excess);
        Violation { property: property.as_str(), finding, lines }
    }
}
