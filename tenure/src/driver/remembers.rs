//! The lengths of a driver's maps, for tests.

use super::Driver;

impl Driver {
    /// The entries of all its maps.
    pub(crate) fn remembers(&self) -> [usize; 5] {
        let under_way = self.world.waiting() + self.world.withdrawals.len();
        let (hints, outage) = (self.hints.remembers(), self.world.outage.remembers());
        [self.elections.len(), self.timers.remembers(), hints, outage, under_way]
    }
}
