//! Accepted writes to one resource: those of a tenure come before those of a newer one.
//!
//! A write happened at some moment between its two readings. So for each tenure there is a moment
//! at which its writes give way to newer ones: after the beginning of each of its own, before the
//! end of each newer one, and in the order of the tokens.

use super::explain::Order;
use super::facts::{Facts, Index, Moment, Writes, WritesOf};
use super::orders::Orders;
use super::placement::{Edge, Why};
use super::timeline::{RESOLUTION, Timelines};
use crate::judge::properties::PropertyName;

type One = (WritesOf, Writes);

/// The writes of one tenure to one resource, and the moment at which they gave way.
struct Tenure {
    of: Vec<One>,
    gives_way: Index,
    /// The orders of the beginnings.
    began: Vec<Index>,
}

/// Two tenures' writes to be compared: the orders of the older beginning and of the newer end, and
/// by how much the first may come after the second.
pub(super) struct Pair {
    orders: [Index; 2],
    widest: Option<i128>,
    is_on_one_clock: bool,
}

impl Orders<'_> {
    /// Adds the constraints, and gives the pairs that they compare.
    pub(super) fn constrain_writes(&mut self, timelines: &mut Timelines) -> Vec<Pair> {
        let (mut pairs, mut before) = (Vec::new(), None);
        for group in sorted(self.facts).chunk_by(|(one, _), (other, _)| is_same_tenure(one, other))
        {
            let tenure = self.begin(timelines, group);
            let older = before
                .take()
                .filter(|before: &Tenure| is_same_resource(&before.of[0].0, &group[0].0));
            if let Some(older) = older {
                self.follow(timelines, &older, &tenure, &mut pairs);
            }
            before = Some(tenure);
        }
        pairs
    }

    fn begin(&mut self, timelines: &mut Timelines, group: &[One]) -> Tenure {
        let node = |(of, writes): &One| node(timelines, of, writes.last_began);
        let nodes: Vec<Index> = group.iter().map(node).collect();
        let guess = nodes.iter().map(|node| timelines.placement.guess(*node)).max();
        let gives_way = timelines.placement.node(guess.unwrap_or(0));
        let mut began = Vec::new();
        for ((of, writes), to) in group.iter().zip(nodes) {
            let order = self.add(Order::Began(*of, *writes));
            began.push(order);
            let (from, most, why) = (gives_way, RESOLUTION, Why::Order(order));
            timelines.placement.edge(Edge { from, to, most, why });
        }
        Tenure { of: group.to_vec(), gives_way, began }
    }

    fn follow(
        &mut self,
        timelines: &mut Timelines,
        older: &Tenure,
        newer: &Tenure,
        pairs: &mut Vec<Pair>,
    ) {
        let (to, most) = (older.gives_way, 0);
        let why = Why::Order(self.add(Order::GaveWay));
        timelines.placement.edge(Edge { from: newer.gives_way, to, most, why });
        for (by, others) in &newer.of {
            let ended = self.add(Order::Ended(*by, *others));
            let (from, why) = (node(timelines, by, others.first_ended), Why::Order(ended));
            timelines.placement.edge(Edge { from, to, most, why });
            for ((of, writes), began) in older.of.iter().zip(&older.began) {
                let first = (of.clock, writes.last_began.reading);
                let widest = timelines.widest(first, (by.clock, others.first_ended.reading));
                let is_on_one_clock = of.clock == by.clock;
                pairs.push(Pair { orders: [*began, ended], widest, is_on_one_clock });
            }
        }
    }

    /// Counts what was compared, once the contradictions are known.
    pub(super) fn compare_writes(&mut self, pairs: &[Pair]) {
        for Pair { orders, widest, is_on_one_clock } in pairs {
            let is_decided = *is_on_one_clock || widest.is_some_and(|widest| widest <= RESOLUTION);
            if is_decided || orders.iter().any(|order| self.contradicted[*order]) {
                self.report.compared(PropertyName::FENCED_WRITES);
            } else {
                self.report.undecided(PropertyName::FENCED_WRITES);
            }
        }
    }
}

fn node(timelines: &Timelines, of: &WritesOf, at: Moment) -> Index {
    timelines.node(of.clock, at.reading)
}

/// All writes, in the order of their tokens.
fn sorted(facts: &Facts) -> Vec<One> {
    let mut sorted: Vec<One> = facts.writes.iter().map(|(of, writes)| (*of, *writes)).collect();
    sorted.sort_unstable_by_key(|(of, _)| *of);
    sorted
}

fn is_same_resource(one: &WritesOf, other: &WritesOf) -> bool {
    (one.key, one.resource) == (other.key, other.resource)
}

fn is_same_tenure(one: &WritesOf, other: &WritesOf) -> bool {
    is_same_resource(one, other) && one.token == other.token
}
