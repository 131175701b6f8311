//! Stretches without faults, and the progress that they must bring.

use super::World;
use super::clock::narrow;
use super::node::Tenure;
use tenure_core::{Config, Event, Input, Output};

const MILLION: u128 = 1_000_000;

impl World {
    /// Delivers everything at once and meets every deadline until the given true time.
    pub(super) fn healthy_until(&mut self, end: u64, work_ends_at_once: bool) {
        self.admits = true;
        for node in 0..self.nodes.len() {
            if self.nodes[node].candidate.pending().is_some() {
                self.handle(node, Input::Admitted);
            }
        }
        loop {
            self.deliver_everything();
            if work_ends_at_once && self.drain_everything() {
                continue;
            }
            let next = (0..self.nodes.len())
                .filter_map(|node| Some((self.deadline(node)?, node)))
                .min()
                .filter(|(due, _)| *due <= end);
            let Some((due, node)) = next else { break };
            self.pass_to(due);
            self.handle(node, Input::Wake);
        }
        self.pass_to(end);
        self.admits = !self.setup.queues;
    }

    fn deliver_everything(&mut self) {
        while !(self.requests.is_empty() && self.replies.is_empty()) {
            if self.requests.is_empty() {
                let answer = self.replies.remove(0);
                self.answered(answer);
            } else {
                let message = self.requests.remove(0);
                self.carry_out(message);
            }
        }
    }

    fn drain_everything(&mut self) -> bool {
        let draining = |node: &usize| matches!(self.nodes[*node].tenure, Tenure::Draining { .. });
        let node = (0..self.nodes.len()).find(draining);
        if let Some(node) = node {
            self.handle(node, Input::Drained);
        }
        node.is_some()
    }

    /// (j) G7: faults end, all nodes campaign, and one of them leads in time and keeps the lead.
    pub(super) fn faults_end(&mut self) {
        for node in 0..self.nodes.len() {
            self.handle(node, Input::Campaign);
        }
        let bound = self.leads_within();
        self.healthy_until(self.now + bound, true);
        let leader = (0..self.nodes.len()).find(|node| self.nodes[*node].claim(self.now).is_some());
        assert!(leader.is_some(), "(j) nobody leads {bound} ns after the last fault: {self:#?}");

        self.outputs.clear();
        self.healthy_until(self.now + 2 * self.longest_ttl(), true);
        let lost = |output: &Output| matches!(output, Output::Event(Event::SteppedDown { .. }));
        assert!(
            !self.outputs.iter().any(lost),
            "(j) lost the lead without a fault: {:?}",
            self.outputs
        );
    }

    /// `(TTL + quarantine) / (1 - rho) + request timeout + largest retry + jitter`, of the slowest node
    /// in a network without delay, with a little more for times that are counted in whole milliseconds.
    fn leads_within(&self) -> u64 {
        let longest = |of: fn(&Config) -> u128| {
            self.nodes.iter().map(|node| of(&node.config)).max().expect("has nodes")
        };
        let ttl = longest(|config| config.ttl().as_nanos());
        let quarantine = longest(|config| config.quarantine().as_nanos());
        let spent_on_a_try = longest(|config| {
            let explained = config.explain();
            // The failover without the rest of the lease: the request timeout, the largest retry and the jitter.
            let slowest = MILLION - u128::from(config.drift_ppm());
            explained.worst_case_failover.as_nanos() - config.ttl().as_nanos() * MILLION / slowest
        });
        let slowest = MILLION - u128::from(self.setup.rho_ppm);
        let whole = ttl + quarantine + spent_on_a_try + 5_000_000;
        narrow((whole * MILLION).div_ceil(slowest))
    }
}
