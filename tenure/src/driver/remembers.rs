//! The lengths of a driver's maps, for tests.

use super::Driver;

impl Driver {
    /// The entries of all its maps.
    pub(crate) fn remembers(&self) -> [usize; 8] {
        let [elections, timers, subscriptions, waiting] = self.machine.remembers();
        let under_way = self.calls.remembers() + self.drains.len() + self.withdrawals.len();
        let (hints, outage) = (self.hints.remembers(), self.outage.remembers());
        let shown = self.elections.len();
        [shown, elections, timers, subscriptions, waiting, under_way, hints, outage]
    }
}
