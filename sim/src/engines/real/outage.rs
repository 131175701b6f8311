//! The crashes of the store's server, and the faults that are over only once it is back.

use std::collections::VecDeque;

use crate::plan::Strike;

#[derive(Debug, Default)]
pub(super) struct Outage {
    /// True if a crash that keeps the server down loses its data.
    pub(super) loses: bool,
    /// The crashes that have kept it down, and do so no longer: others still do.
    ended: Vec<Strike>,
    /// The faults that are over once it has started, or follows the new primary: those of each such
    /// order, in the order in which the server's thread carries them out.
    pub(super) over: VecDeque<Vec<Strike>>,
}

impl Outage {
    /// A crash keeps the server down no longer. Returns whether the next one starts with the data,
    /// if `is_last` says that no other crash is under way.
    pub(super) fn lets_it_start(&mut self, strike: Strike, is_last: bool) -> Option<bool> {
        self.ended.push(strike);
        is_last.then(|| {
            self.over.push_back(std::mem::take(&mut self.ended));
            !std::mem::take(&mut self.loses)
        })
    }

    /// The server has started, or follows the new primary. Returns the faults that are over with
    /// that.
    pub(super) fn is_back(&mut self) -> Vec<Strike> {
        self.over.pop_front().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{FaultKind, StoreFault, What};

    /// A server that is slow to follow its new primary has not started yet: the start waits behind
    /// it.
    #[test]
    fn each_order_ends_its_own_faults() {
        let strike = |index, kind, what| Strike { index, kind, what, node: None };
        let what = What::Store(StoreFault::Failover { lag_ms: 0, clock_ahead_ms: 0 });
        let failover = strike(0, FaultKind::Failover, what);
        let loss = strike(1, FaultKind::StoreLoss, What::Store(StoreFault::StoreLoss));
        let crash = strike(2, FaultKind::StoreCrash, What::Store(StoreFault::StoreCrash));
        let mut outage = Outage { loses: true, ..Outage::default() };
        outage.over.push_back(vec![failover]);
        assert_eq!(outage.lets_it_start(loss, false), None, "the crash keeps it down");
        assert_eq!(outage.lets_it_start(crash, true), Some(false));
        assert_eq!(outage.is_back(), [failover]);
        assert_eq!(outage.is_back(), [loss, crash]);
        assert_eq!(outage.is_back(), []);
    }
}
