//! Places the readings of all clocks in true time, so that all that is known holds, if it can.
//!
//! Each node is a moment: a reading of one clock, or a moment between others. Each edge is a
//! constraint: the node `to` comes at most `most` nanoseconds after the node `from` (before it, if
//! negative). All constraints hold together if and only if no cycle of edges has a negative sum,
//! and a negative cycle is a proof that they can't: going round it, a moment would come before
//! itself.
//!
//! The search is that of Bellman and Ford, with a queue of the nodes that have moved. Nodes begin
//! far too late, and move to the latest time that the constraints permit: once the clocks are
//! placed, an order that holds costs nothing, and one that can't hold moves the origin of time,
//! which shows at once. Nodes that no constraint ties to the origin keep their guesses, by which
//! they are placed among each other.

use std::collections::VecDeque;

use super::facts::{Index, Moment};

/// A constraint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: Index,
    pub(super) to: Index,
    pub(super) most: i128,
    pub(super) why: Why,
}

/// The reason for a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The rate of a clock is within its bound.
    Rate,
    /// The wall clock is off by at most the stated uncertainty, in the line of that moment.
    Wall(Moment),
    /// An order of two tenures, or of writes: a position in the list of its maker.
    Order(Index),
}

/// No edge.
const NONE: u32 = u32::MAX;

/// A system of constraints.
#[derive(Debug, Default)]
pub(super) struct Placement {
    edges: Vec<Edge>,
    dropped: Vec<bool>,
    /// The edges from each node.
    of: Vec<Vec<u32>>,
    /// The time of each node so far.
    at: Vec<i128>,
    /// The edge that moved each node last.
    moved_by: Vec<u32>,
    /// Each node's moves since the last contradiction.
    moves: Vec<u32>,
    /// The last walk back that met each node, and the number of that walk.
    met: Vec<u32>,
    walk: u32,
    waiting: VecDeque<u32>,
    waits: Vec<bool>,
    /// The time of each node, and the edge that moved it, when the clocks alone were placed.
    settled: Vec<(i128, u32)>,
    /// The nodes with edges that are orders.
    ordered: Vec<u32>,
}

/// Later than every time.
const FAR: i128 = 1 << 80;

/// The node of the time zero.
pub(super) const ORIGIN: Index = 0;

/// The sum of a negative cycle, and its edges in order.
pub(super) struct Contradiction {
    pub(super) excess: i128,
    pub(super) edges: Vec<Edge>,
    positions: Vec<u32>,
}

impl Placement {
    /// A system with the origin alone.
    pub(super) fn new() -> Self {
        let mut new = Self::default();
        new.node(-FAR);
        new
    }

    /// Adds a node, and a guess of its time.
    pub(super) fn node(&mut self, guess: i128) -> Index {
        let at = guess + FAR;
        self.of.push(Vec::new());
        self.at.push(at);
        self.moved_by.push(NONE);
        self.settled.push((at, NONE));
        self.moves.push(0);
        self.met.push(0);
        self.waits.push(false);
        self.at.len() - 1
    }

    /// The guess of a node, or its time if it has moved.
    pub(super) fn guess(&self, node: Index) -> i128 {
        self.at[node] - FAR
    }

    /// Keeps the times so far: after a contradiction, the search begins from them.
    pub(super) fn settle(&mut self) {
        let now = self.at.iter().copied().zip(self.moved_by.iter().copied());
        self.settled = now.collect();
        self.moves.fill(0);
    }

    pub(super) fn edge(&mut self, edge: Edge) {
        let position = position(self.edges.len());
        self.of[edge.from].push(position);
        self.edges.push(edge);
        self.dropped.push(false);
        if let Why::Order(_) = edge.why {
            self.ordered.push(position_of(edge.from));
        }
        // Nothing follows from a node before its first edge.
        self.wait(position_of(edge.from));
    }

    /// Gives up the orders of a contradiction, and begins again.
    pub(super) fn drop_orders(&mut self, contradiction: &Contradiction) {
        for position in &contradiction.positions {
            let place = *position as usize;
            self.dropped[place] |= matches!(self.edges[place].why, Why::Order(_));
        }
        self.begin_again();
    }

    /// Gives up all orders so far.
    pub(super) fn drop_all_orders(&mut self) {
        for (edge, dropped) in self.edges.iter().zip(&mut self.dropped) {
            *dropped |= matches!(edge.why, Why::Order(_));
        }
        self.begin_again();
    }

    fn begin_again(&mut self) {
        for (node, (at, moved_by)) in self.settled.iter().enumerate() {
            (self.at[node], self.moved_by[node]) = (*at, *moved_by);
        }
        self.moves.fill(0);
        for place in 0..self.ordered.len() {
            self.wait(self.ordered[place]);
        }
    }

    /// Moves nodes until all constraints hold, or a contradiction is found.
    pub(super) fn contradiction(&mut self) -> Option<Contradiction> {
        while let Some(node) = self.waiting.pop_front() {
            self.waits[node as usize] = false;
            let of = std::mem::take(&mut self.of[node as usize]);
            let found = of.iter().find_map(|edge| self.follow(*edge));
            self.of[node as usize] = of;
            if found.is_some() {
                self.wait(node);
                return found;
            }
        }
        None
    }

    /// Moves the node at the end of that edge, if it is too late.
    fn follow(&mut self, position: u32) -> Option<Contradiction> {
        let Edge { from, to, most, .. } = self.edges[position as usize];
        let latest = self.at[from] + most;
        if latest >= self.at[to] || self.dropped[position as usize] {
            return None;
        }
        self.at[to] = latest;
        self.moved_by[to] = position;
        self.moves[to] += 1;
        self.wait(position_of(to));
        // The origin moves only in a cycle. Other nodes of a negative cycle move without end: a
        // look after 8, 16, 32 moves costs little.
        let looks = to == ORIGIN || self.moves[to] >= 8 && self.moves[to].is_power_of_two();
        if looks { self.cycle(to) } else { None }
    }

    fn wait(&mut self, node: u32) {
        if !std::mem::replace(&mut self.waits[node as usize], true) {
            self.waiting.push_back(node);
        }
    }

    /// A cycle among the last moves, on the way back from that node.
    fn cycle(&mut self, from: Index) -> Option<Contradiction> {
        self.walk += 1;
        let mut node = from;
        while self.met[node] != self.walk {
            self.met[node] = self.walk;
            let edge = self.moved_by[node];
            if edge == NONE {
                return None;
            }
            node = self.edges[edge as usize].from;
        }
        Some(self.cycle_at(node))
    }

    fn cycle_at(&self, node: Index) -> Contradiction {
        let (mut positions, mut at) = (Vec::new(), node);
        loop {
            let position = self.moved_by[at];
            positions.push(position);
            at = self.edges[position as usize].from;
            if at == node {
                break;
            }
        }
        positions.reverse();
        let edges: Vec<Edge> =
            positions.iter().map(|position| self.edges[*position as usize]).collect();
        let excess = -edges.iter().map(|edge| edge.most).sum::<i128>();
        Contradiction { excess, edges, positions }
    }
}

fn position(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(NONE)
}

fn position_of(node: Index) -> u32 {
    position(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(nodes: usize, edges: &[(usize, usize, i128)]) -> Placement {
        let mut placement = Placement::new();
        for _ in 1..nodes {
            placement.node(0);
        }
        for (place, (from, to, most)) in edges.iter().enumerate() {
            placement.edge(Edge { from: *from, to: *to, most: *most, why: Why::Order(place) });
        }
        placement
    }

    #[test]
    fn a_cycle_of_zero_is_no_contradiction() {
        let mut placement = placement(3, &[(0, 1, -5), (1, 2, -7), (2, 0, 12)]);
        assert!(placement.contradiction().is_none());
        assert_eq!((placement.at[1], placement.at[2]), (-5, -12));
    }

    #[test]
    fn a_negative_cycle_is_found_with_its_sum() {
        let edges = [(0, 1, -5), (1, 2, -7), (2, 0, 11), (2, 3, 0), (3, 0, 100)];
        let mut placement = placement(4, &edges);
        let found = placement.contradiction().expect("a contradiction");
        assert_eq!(found.excess, 1);
        let mut orders: Vec<_> = found.edges.iter().map(|edge| edge.why).collect();
        orders.sort_by_key(|why| if let Why::Order(place) = why { *place } else { 0 });
        assert_eq!(orders, [Why::Order(0), Why::Order(1), Why::Order(2)]);
        placement.drop_orders(&found);
        assert!(placement.contradiction().is_none());
    }

    #[test]
    fn each_contradiction_is_found() {
        let mut placement = placement(4, &[(0, 1, -5), (1, 0, 4), (2, 3, -5), (3, 2, 4)]);
        let mut found = 0;
        while let Some(contradiction) = placement.contradiction() {
            assert_eq!(contradiction.edges.len(), 2);
            placement.drop_orders(&contradiction);
            found += 1;
        }
        assert_eq!(found, 2);
    }
}
