//! A measurement's settings.

use std::time::Duration;

use tenure::Config;

/// A measurement's settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) config: Config,
    /// The length of the steady state.
    pub(crate) steady: Duration,
    /// The longest wait until all lead.
    pub(crate) bound: Duration,
    /// The length of a server's pause.
    pub(crate) outage: Duration,
    /// The number of calls that `redis-benchmark` sends at each depth.
    pub(crate) rival_calls: u32,
    pub(crate) with_faults: bool,
}
