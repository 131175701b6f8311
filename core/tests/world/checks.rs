//! Invariants at every instant of true time, and at every grant.

use std::time::Duration;

use super::World;
use super::node::Tenure;

impl World {
    /// Called after each operation.
    pub(super) fn check(&mut self) {
        self.single_leader();
        for node in 0..self.nodes.len() {
            self.work_is_covered(node);
        }
    }

    /// (a) G1, and G6 where the store lost data.
    fn single_leader(&mut self) {
        let mut leader = None;
        for node in &mut self.nodes {
            let Some(claim) = node.no_resurrection(self.now) else { continue };
            assert!(leader.is_none(), "(a) two leaders: {leader:?}, {claim:?}");
            leader = Some(claim);
        }
        self.sights.leads |= leader.is_some();
    }

    /// (b) G2: at a grant, the claims of all others have been over for a stop margin, and no work
    /// of theirs drains.
    ///
    /// Also after a loss of data, since a candidate that is granted a lease has watched the store
    /// for long enough by then.
    pub(super) fn margin_kept(&mut self, granted: usize) {
        for (number, node) in self.nodes.iter().enumerate() {
            let (end, margin) = match (node.tenure, node.valid_until) {
                _ if number == granted => continue,
                (Tenure::Elected { .. }, Some(end)) => (end, node.config.stop_margin()),
                (Tenure::Draining { until: Some(until), .. }, _) => (until, Duration::ZERO),
                (Tenure::None | Tenure::Elected { .. } | Tenure::Draining { .. }, _) => continue,
            };
            // A nanosecond for each of the two roundings.
            let read = node.clock.read(self.now) + Duration::from_nanos(2);
            assert!(read >= end + margin, "(b) node {granted} is granted, {number} until {end:?}");
            self.sights.taken_from_a_leader = true;
        }
    }

    /// (g) Work that drains is covered: by the lease, and no other node leads.
    fn work_is_covered(&mut self, node: usize) {
        let Tenure::Draining { token, until: Some(until) } = self.nodes[node].tenure else {
            return;
        };
        if self.nodes[node].clock.read(self.now) >= until {
            return;
        }
        for (other, rival) in self.nodes.iter().enumerate() {
            let claim = rival.claim(self.now);
            assert!(
                other == node || claim.is_none(),
                "(g) {claim:?} while {token:?} may drain until {until:?}"
            );
        }
        self.sights.drains_covered = true;
    }
}
