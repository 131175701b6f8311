//! Carries out the faults of a plan.

use std::collections::VecDeque;
use std::time::Duration;

use super::protocol::Order;
use super::run::Run;
use super::server::ServerOrder;
use crate::engines::EngineError;
use crate::plan::{Act, ClockFault, FaultKind, LinkFault, ProcessFault, StoreFault, Strike, What};

/// A request that was sent that long before the end of a stall has waited for it.
const WAITED: Duration = Duration::from_millis(1);

/// The faults that keep the store's server down or paused.
#[derive(Debug, Default)]
pub(super) struct Outage {
    /// The number of faults that keep it down, and whether one of them loses its data.
    down: u32,
    loses: bool,
    stalls: u32,
    /// The acts that last, one for each fault.
    acts: Vec<Act>,
    /// The faults that have kept it down, and do so no longer: others still do.
    ended: Vec<Strike>,
    /// The faults that are over once it has started, or follows the new primary: those of each such order, in the order
    /// in which the server's thread carries them out.
    over: VecDeque<Vec<Strike>>,
}

impl Outage {
    /// Whether a fault with that act has to begin it: another one may have begun it before.
    fn begins(&mut self, act: Act) -> bool {
        let is_first = !self.acts.contains(&act);
        if act.lasts() {
            self.acts.push(act);
        }
        is_first
    }

    /// Whether the last fault with that act is over.
    fn ends(&mut self, act: Act) -> bool {
        if let Some(place) = self.acts.iter().position(|other| *other == act) {
            self.acts.swap_remove(place);
        }
        !self.acts.contains(&act)
    }

    /// A fault keeps the server down no longer. Returns whether the next one starts with the data, if it may start.
    fn lets_it_start(&mut self, strike: Strike) -> Option<bool> {
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

impl Run<'_> {
    pub(super) async fn begin_fault(&mut self, strike: Strike) -> Result<(), EngineError> {
        let Strike { kind, what, node, .. } = strike;
        let now = self.time.now();
        let Some(node) = node else {
            self.begin_of_the_store(strike);
            return Ok(());
        };
        let machine = &mut self.machines[node];
        match what {
            What::Link {
                fault: fault @ (LinkFault::Cut | LinkFault::Reset | LinkFault::HalfOpen),
                ..
            } => {
                if machine.link.breaks(fault) {
                    self.took(now, kind, Some(node));
                }
            }
            What::Process { fault: ProcessFault::Pause, .. } => {
                if machine.pause(now) {
                    self.took(now, kind, Some(node));
                }
            }
            What::Process { fault: ProcessFault::NoDescriptors, .. } => {
                machine.takes_descriptors(now);
            }
            What::Process { fault: ProcessFault::Crash { power }, .. } => {
                if let Some(who) = machine.crash(power).await? {
                    self.killed(who);
                    self.took(now, kind, Some(node));
                }
            }
            // Their processes report the effects.
            What::Process { fault: ProcessFault::Resign, .. } => machine.order(Order::Resign),
            What::Process { fault: ProcessFault::Leave, .. } => machine.order(Order::Leave),
            What::Clock { fault: ClockFault::ClockStep { by_ms }, .. } => {
                machine.order(Order::StepClock { by_ms });
            }
            _ => machine.link.begin(kind, what),
        }
        Ok(())
    }

    /// Returns whether the fault is over at once.
    pub(super) fn end_fault(&mut self, strike: Strike) -> Result<bool, EngineError> {
        let Strike { kind, what, node, .. } = strike;
        let now = self.time.now();
        let Some(node) = node else { return Ok(self.end_of_the_store(strike)) };
        let machine = &mut self.machines[node];
        match what {
            What::Process { fault: ProcessFault::Pause, .. } => machine.unpause(now),
            What::Process { fault: ProcessFault::NoDescriptors, .. } => {
                if machine.gives_descriptors() {
                    self.took(now, kind, Some(node));
                }
            }
            What::Process { fault: ProcessFault::Crash { .. }, .. } => {
                if let Some(who) = machine.revive(now)? {
                    self.started(who);
                }
            }
            What::Process { fault: ProcessFault::Leave, .. } => machine.order(Order::Rejoin),
            _ => machine.link.end(kind, what),
        }
        Ok(true)
    }

    fn begin_of_the_store(&mut self, strike: Strike) {
        match strike.what {
            What::Store(fault @ (StoreFault::StoreCrash | StoreFault::StoreLoss)) => {
                let keeps_data = fault == StoreFault::StoreCrash;
                self.outage.down += 1;
                self.outage.loses |= !keeps_data;
                self.server.order(ServerOrder::Crash { keeps_data });
            }
            What::Store(StoreFault::StoreStall) => {
                self.outage.stalls += 1;
                // A server that is down is paused once it has started.
                if self.outage.stalls == 1 && self.outage.down == 0 {
                    self.server.order(ServerOrder::Pause);
                }
            }
            What::Store(StoreFault::Failover { lag_ms, .. }) => {
                self.server.order(ServerOrder::FailOver { lag: Duration::from_millis(lag_ms) });
            }
            What::Store(StoreFault::StoreClockStep { by_ms }) => {
                self.server.order(ServerOrder::StepClock { by_ms, strike });
            }
            What::Operator(act) => self.begin_act(act),
            // Refused before the run.
            _ => {}
        }
    }

    fn begin_act(&mut self, act: Act) {
        if self.outage.begins(act) {
            self.server.order(ServerOrder::Begin(act));
        }
    }

    /// Returns whether the fault is over at once.
    fn end_of_the_store(&mut self, strike: Strike) -> bool {
        match strike.what {
            What::Store(StoreFault::StoreCrash | StoreFault::StoreLoss) => {
                let Some(keeps_data) = self.outage.lets_it_start(strike) else { return false };
                self.server.order(ServerOrder::Start { keeps_data });
                if self.outage.stalls > 0 {
                    self.server.order(ServerOrder::Pause);
                }
                false
            }
            What::Operator(act) => {
                if !self.outage.ends(act) {
                    return true;
                }
                self.server.order(ServerOrder::End(act, strike));
                false
            }
            // It is over once the clock is set.
            What::Store(StoreFault::StoreClockStep { .. }) => false,
            What::Store(StoreFault::Failover { .. }) => {
                self.outage.over.push_back(vec![strike]);
                self.server.order(ServerOrder::Rejoin);
                false
            }
            What::Store(StoreFault::StoreStall) => {
                let now = self.time.now();
                let waits = |sent| sent + WAITED < now;
                if self.machines.iter().any(|machine| machine.waits_since(waits)) {
                    self.took(now, FaultKind::StoreStall, None);
                }
                self.outage.stalls -= 1;
                if self.outage.stalls == 0 && self.outage.down == 0 {
                    self.server.order(ServerOrder::Resume);
                }
                true
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
