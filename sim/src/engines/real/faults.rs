//! Carries out the faults of a plan.

use std::time::Duration;

use super::protocol::Order;
use super::run::Run;
use super::server::ServerOrder;
use crate::engines::EngineError;
use crate::plan::{ClockFault, FaultKind, LinkFault, ProcessFault, StoreFault, Strike, What};

/// A request that was sent that long before the end of a stall has waited for it.
const WAITED: Duration = Duration::from_millis(1);

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
            What::Process { fault: ProcessFault::HandOver { to }, .. } => {
                machine.order(Order::HandOver { to });
            }
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
        let Some(index) = node else { return Ok(self.end_of_the_store(strike)) };
        let has = |does: fn(What) -> bool| self.schedule.at(node).any(does);
        let machine = &mut self.machines[index];
        match what {
            What::Process { fault: ProcessFault::Pause, .. } => {
                if !has(What::is_a_pause) {
                    machine.unpause(now);
                }
            }
            What::Process { fault: ProcessFault::NoDescriptors, .. } => {
                if machine.gives_descriptors() {
                    self.took(now, kind, node);
                }
            }
            What::Process { fault: ProcessFault::Crash { .. }, .. } => {
                if !has(What::is_a_crash)
                    && let Some(who) = machine.revive(now)?
                {
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
                self.outage.loses |= !keeps_data;
                self.server.order(ServerOrder::Crash { keeps_data });
            }
            // A server that is down is paused once it has started.
            What::Store(StoreFault::StoreStall)
                if self.number_of(strike.what) == 1 && !self.is_down() =>
            {
                self.server.order(ServerOrder::Pause);
            }
            What::Store(StoreFault::Failover { lag_ms, .. }) => {
                self.server.order(ServerOrder::FailOver { lag: Duration::from_millis(lag_ms) });
            }
            What::Store(StoreFault::StoreClockStep { by_ms }) => {
                self.server.order(ServerOrder::StepClock { by_ms, strike });
            }
            What::Operator(act) if self.number_of(strike.what) <= 1 => {
                self.server.order(ServerOrder::Begin(act));
            }
            // Begun by another fault, or refused before the run.
            _ => {}
        }
    }

    /// The number of such faults of the store that are under way.
    fn number_of(&self, fault: What) -> usize {
        self.schedule.at(None).filter(|what| *what == fault).count()
    }

    /// True if a crash keeps the server down.
    fn is_down(&self) -> bool {
        self.schedule.at(None).any(What::is_a_store_crash)
    }

    /// Returns whether the fault is over at once.
    fn end_of_the_store(&mut self, strike: Strike) -> bool {
        match strike.what {
            What::Store(StoreFault::StoreCrash | StoreFault::StoreLoss) => {
                let is_last = !self.is_down();
                let Some(keeps_data) = self.outage.lets_it_start(strike, is_last) else {
                    return false;
                };
                self.server.order(ServerOrder::Start { keeps_data });
                if self.number_of(What::Store(StoreFault::StoreStall)) > 0 {
                    self.server.order(ServerOrder::Pause);
                }
                false
            }
            What::Operator(act) => {
                if self.number_of(strike.what) > 0 {
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
                if self.number_of(strike.what) == 0 && !self.is_down() {
                    self.server.order(ServerOrder::Resume);
                }
                true
            }
            _ => true,
        }
    }
}
