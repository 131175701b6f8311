//! Carries out the faults of a plan.

use std::time::Duration;

use super::protocol::Order;
use super::run::Run;
use super::server::ServerOrder;
use crate::engines::EngineError;
use crate::plan::{Act, FaultKind, Strike, What};

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
    /// Faults that are over once it has started, or follows the new primary.
    pub(super) over: Vec<Strike>,
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
            What::Cut { .. } | What::Reset { .. } | What::HalfOpen { .. } => {
                if machine.link.breaks(what) {
                    self.took(now, kind, Some(node));
                }
            }
            What::Pause { .. } => {
                if machine.pause(now) {
                    self.took(now, kind, Some(node));
                }
            }
            What::NoDescriptors { .. } => machine.takes_descriptors(now),
            What::Crash { power, .. } => {
                if let Some(who) = machine.crash(power).await? {
                    self.killed(who);
                    self.took(now, kind, Some(node));
                }
            }
            // Their processes report the effects.
            What::Resign { .. } => machine.order(Order::Resign),
            What::Leave { .. } => machine.order(Order::Leave),
            What::ClockStep { by_ms, .. } => machine.order(Order::StepClock { by_ms }),
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
            What::Pause { .. } => machine.unpause(now),
            What::NoDescriptors { .. } => {
                if machine.gives_descriptors() {
                    self.took(now, kind, Some(node));
                }
            }
            What::Crash { .. } => {
                if let Some(who) = machine.revive(now)? {
                    self.started(who);
                }
            }
            What::Leave { .. } => machine.order(Order::Rejoin),
            _ => machine.link.end(kind, what),
        }
        Ok(true)
    }

    fn begin_of_the_store(&mut self, strike: Strike) {
        let what = strike.what;
        match what {
            What::StoreCrash | What::StoreLoss => {
                let keeps_data = what == What::StoreCrash;
                self.outage.down += 1;
                self.outage.loses |= !keeps_data;
                self.server.order(ServerOrder::Crash { keeps_data });
            }
            What::StoreStall => {
                self.outage.stalls += 1;
                // A server that is down is paused once it has started.
                if self.outage.stalls == 1 && self.outage.down == 0 {
                    self.server.order(ServerOrder::Pause);
                }
            }
            What::Failover { lag_ms, .. } => {
                self.server.order(ServerOrder::FailOver { lag: Duration::from_millis(lag_ms) });
            }
            What::StoreClockStep { by_ms } => {
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
            What::StoreCrash | What::StoreLoss => {
                self.outage.over.push(strike);
                self.outage.down -= 1;
                if self.outage.down > 0 {
                    return false;
                }
                let keeps_data = !std::mem::take(&mut self.outage.loses);
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
            What::StoreClockStep { .. } => false,
            What::Failover { .. } => {
                self.outage.over.push(strike);
                self.server.order(ServerOrder::Rejoin);
                false
            }
            What::StoreStall => {
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
}
