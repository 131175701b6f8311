//! How to measure.

use std::time::Duration;

use tenure::Config;

/// How to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) config: Config,
    /// How long the steady state is measured.
    pub(crate) steady: Duration,
    /// How long to wait at most until all lead.
    pub(crate) bound: Duration,
    /// How long a server is paused.
    pub(crate) outage: Duration,
    /// How many calls `redis-benchmark` sends at each depth.
    pub(crate) rival_calls: u32,
    pub(crate) with_faults: bool,
}
