//! Stretches without faults, and the progress that they must bring.

use super::World;
use super::clock::narrow;
use super::node::{Node, Tenure};
use tenure_core::{Event, Input, Output};

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

    /// The worst case of the slowest node in a network without delay: a loss is noticed at the end
    /// of a watch, and another watch follows. In true time, with a little more for times that are
    /// counted in whole milliseconds.
    fn leads_within(&self) -> u64 {
        let worst = |node: &Node| {
            node.config.explain().worst_case_failover_after_store_loss
                + node.config.request_timeout()
        };
        let worst = self.nodes.iter().map(worst).max().expect("has nodes").as_nanos() + 5_000_000;
        narrow((worst * MILLION).div_ceil(MILLION - u128::from(self.setup.rho_ppm)))
    }
}
