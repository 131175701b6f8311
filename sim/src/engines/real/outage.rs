//! The faults under way at the store's server.

use std::collections::VecDeque;

use crate::plan::{Act, Strike};

/// The faults that keep the store's server down or paused.
#[derive(Debug, Default)]
pub(super) struct Outage {
    /// The number of faults that keep it down, and whether one of them loses its data.
    pub(super) down: u32,
    pub(super) loses: bool,
    pub(super) stalls: u32,
    /// The acts that last, one for each fault.
    acts: Vec<Act>,
    /// The faults that have kept it down, and do so no longer: others still do.
    ended: Vec<Strike>,
    /// The faults that are over once it has started, or follows the new primary: those of each such order, in the order
    /// in which the server's thread carries them out.
    pub(super) over: VecDeque<Vec<Strike>>,
}

impl Outage {
    /// Whether a fault with that act has to begin it: another one may have begun it before.
    pub(super) fn begins(&mut self, act: Act) -> bool {
        let is_first = !self.acts.contains(&act);
        if act.lasts() {
            self.acts.push(act);
        }
        is_first
    }

    /// Whether the last fault with that act is over.
    pub(super) fn ends(&mut self, act: Act) -> bool {
        if let Some(place) = self.acts.iter().position(|other| *other == act) {
            self.acts.swap_remove(place);
        }
        !self.acts.contains(&act)
    }

    /// A fault keeps the server down no longer. Returns whether the next one starts with the data, if it may start.
    pub(super) fn lets_it_start(&mut self, strike: Strike) -> Option<bool> {
        self.ended.push(strike);
        self.down -= 1;
        (self.down == 0).then(|| {
            self.over.push_back(std::mem::take(&mut self.ended));
            !std::mem::take(&mut self.loses)
        })
    }

    /// The server has started, or follows the new primary. Returns the faults that are over with that.
    pub(super) fn is_back(&mut self) -> Vec<Strike> {
        self.over.pop_front().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{FaultKind, StoreFault, What};

    #[test]
    fn an_act_lasts_as_long_as_its_last_fault() {
        let mut outage = Outage::default();
        assert!(outage.begins(Act::LockRow) && outage.begins(Act::FillMemory));
        assert!(!outage.begins(Act::LockRow), "it has begun before");
        assert!(!outage.ends(Act::LockRow) && outage.ends(Act::LockRow));
        assert!(outage.begins(Act::Disconnect) && outage.begins(Act::Disconnect));
    }

    /// A server that is slow to follow its new primary has not started yet: the start waits behind it.
    #[test]
    fn each_order_ends_its_own_faults() {
        let strike = |index, kind, what| Strike { index, kind, what, node: None };
        let what = What::Store(StoreFault::Failover { lag_ms: 0, clock_ahead_ms: 0 });
        let failover = strike(0, FaultKind::Failover, what);
        let loss = strike(1, FaultKind::StoreLoss, What::Store(StoreFault::StoreLoss));
        let crash = strike(2, FaultKind::StoreCrash, What::Store(StoreFault::StoreCrash));
        let mut outage = Outage { down: 2, loses: true, ..Outage::default() };
        outage.over.push_back(vec![failover]);
        assert_eq!(outage.lets_it_start(loss), None, "the crash keeps it down");
        assert_eq!(outage.lets_it_start(crash), Some(false));
        assert_eq!(outage.is_back(), [failover]);
        assert_eq!(outage.is_back(), [loss, crash]);
        assert_eq!(outage.is_back(), []);
    }
}
