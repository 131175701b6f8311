//! The clock of a store's server: that of the machine, unless the plan sets it or gives it a rate.

use tenure_servers::{ServerClock, ServerError};

use crate::engines::real::clock::{boot_clock, wall_clock};
use crate::engines::real::steps::ServerTime;
use crate::plan::{FaultKind, Plan};

/// A clock was set if it shows that time, in microseconds, no more than that much later.
const SHOWN_WITHIN: u64 = 100_000;

#[derive(Debug)]
pub(super) struct Clock(Option<ServerClock>);

impl Clock {
    /// The clock that a plan gives the store's server.
    pub(super) fn of(plan: &Plan) -> Result<Self, ServerError> {
        let fast_by_ppm = plan.store.clock_rate_ppm;
        let is_set = plan.has(FaultKind::StoreClockStep) || plan.has(FaultKind::StoreClockBack);
        let own = (is_set || fast_by_ppm != 0).then(|| ServerClock::start(fast_by_ppm));
        own.transpose().map(Self)
    }

    /// The server's own clock, if it has one.
    pub(super) fn own(&self) -> Option<&ServerClock> {
        self.0.as_ref()
    }

    /// The server clock's course now.
    pub(super) fn time(&self) -> ServerTime {
        ServerTime(self.own().map(ServerClock::course))
    }

    /// The reading of the server's clock, in microseconds since 1970.
    pub(super) fn reading(&self) -> u64 {
        self.own().map_or_else(wall_clock, |own| own.course().reading_at(boot_clock()) / 1_000)
    }

    /// Puts the clock forward, or back if negative, and asks the server for the time, in
    /// microseconds. Returns whether it is another one than before.
    pub(super) fn step(
        &mut self,
        by_ms: i64,
        ask: impl FnOnce(&ServerClock) -> Result<u64, ServerError>,
    ) -> Result<bool, ServerError> {
        let Some(own) = &mut self.0 else { return Ok(false) };
        let before = own.course();
        own.step(by_ms)?;
        let told = ask(own)?;
        let now = boot_clock();
        let differs = |reading: u64| told.abs_diff(reading / 1_000) > SHOWN_WITHIN;
        let is_set = !differs(self.reading().saturating_mul(1_000));
        // A step that is shorter can't be told from the time that the question took.
        Ok(is_set && differs(before.reading_at(now)))
    }
}
