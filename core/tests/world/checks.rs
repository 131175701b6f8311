//! What must hold at every instant of true time.
//!
//! Ends are compared in the worst case: a claim's end on the slowest clock, a lease's on the fastest.
//! All figures are integers; fractions are multiplied out.

use super::World;
use super::node::{Node, Tenure};
use tenure_core::Instant;

const MILLION: i128 = 1_000_000;

impl World {
    /// Called after each operation.
    pub(super) fn check(&mut self) {
        self.single_leader();
        for node in 0..self.nodes.len() {
            self.nodes[node].no_resurrection(self.now);
            self.margin_kept(node);
            self.work_is_covered(node);
        }
    }

    /// (a) G1, and G6 where the store lost data.
    fn single_leader(&mut self) {
        let leads = |node: &Node| node.claim(self.now).map(|claim| claim.token());
        let leaders: Vec<_> = self.nodes.iter().filter_map(leads).collect();
        assert!(leaders.len() <= 1, "(a) two leaders: {leaders:?}");
        self.sights.leads |= !leaders.is_empty();
    }

    /// (b) G2: a claim ends at least a stop margin before its lease.
    fn margin_kept(&self, node: usize) {
        let node = &self.nodes[node];
        if let Some(claim) = node.claim(self.now)
            && node.lease_of == self.store.losses
        {
            let margin =
                i128::try_from(node.config.stop_margin().as_nanos()).expect("a day at most");
            self.outlived_by_lease(node, claim.token().get(), claim.valid_until(), margin, "(b)");
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
        if self.nodes[node].lease_of == self.store.losses {
            self.outlived_by_lease(&self.nodes[node], token.get(), until, 0, "(g)");
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

    /// `end` by the node's slowest clock, and `margin / (1 + rho)`, come before the lease can end.
    fn outlived_by_lease(&self, node: &Node, token: u64, end: Instant, margin: i128, what: &str) {
        let record = self.store.record.filter(|record| record.token.get() == token);
        let lease = record.filter(|record| !record.released);
        let Some(lease) = lease else {
            panic!("{what} {token} counts on a lease that is gone: {:?}", self.store.record)
        };
        let rho = i128::from(self.setup.rho_ppm);
        let (slow, fast) = (MILLION - rho, MILLION + rho);
        let claim_left = node.clock.left(self.now, end);
        let lease_left = self.store.clock.left(self.now, lease.lease_end);
        // claim_left / slow + margin / fast <= lease_left / fast
        assert!(
            claim_left * fast + margin * MILLION * slow <= lease_left * slow,
            "{what} {token}: until {end:?} with margin {margin} ns, beyond the lease {lease:?}, at {}",
            self.now
        );
    }
}
