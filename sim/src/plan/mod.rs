//! What will happen in a run, as data.

mod fault;
mod swarm;

use std::time::Duration;

use serde::Serialize;
use tenure_core::{Config, ConfigError};

pub use fault::{Assumption, Fault, FaultKind, Span, UnknownFault};
pub use swarm::swarm;

/// Everything that a run depends on. The same plan gives the same trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Keys all chance that the plan does not spell out: latencies, jitter, holder ids.
    pub seed: u64,
    /// Each candidate's clock.
    pub nodes: Vec<NodePlan>,
    /// How far the store's clock is off in rate, in ppm.
    pub store_rate_ppm: i64,
    /// The settings of every candidate.
    pub settings: Settings,
    /// The least and the largest latency of a message without faults, in milliseconds.
    pub latency_ms: (u64, u64),
    /// How often a leader writes, in milliseconds of its own clock.
    pub work_every_ms: u64,
    /// What goes wrong, in order.
    pub faults: Vec<Fault>,
    /// From here on nothing goes wrong any more, in milliseconds of true time.
    pub calm_from_ms: u64,
}

/// One candidate's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NodePlan {
    /// What its clock shows at the beginning, in milliseconds.
    pub clock_offset_ms: u64,
    /// How far its rate is off, in ppm.
    pub clock_rate_ppm: i64,
}

/// The settings of every candidate, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "named and explained at `tenure_core::ConfigBuilder`")]
pub struct Settings {
    pub ttl_ms: u64,
    pub renew_interval_ms: u64,
    pub request_timeout_ms: u64,
    pub stop_margin_ms: u64,
    pub retry_least_ms: u64,
    pub retry_most_ms: u64,
    pub drain_bound_ms: u64,
    pub drift_ppm: u32,
}

impl Settings {
    /// The same as a candidate takes them.
    ///
    /// # Errors
    /// If they can't hold.
    pub fn config(&self) -> Result<Config, ConfigError> {
        let ms = Duration::from_millis;
        Config::builder(ms(self.ttl_ms))
            .renew_interval(ms(self.renew_interval_ms))
            .request_timeout(ms(self.request_timeout_ms))
            .stop_margin(ms(self.stop_margin_ms))
            .retry(ms(self.retry_least_ms), ms(self.retry_most_ms))
            .drain_bound(ms(self.drain_bound_ms))
            .drift_ppm(self.drift_ppm)
            .build()
    }
}

impl Plan {
    /// The assumptions that this plan does not keep; promises that rest on them are not judged.
    ///
    /// A forward step of a candidate's clock alone ends claims early, and so breaks nothing. Together
    /// with a loss of data it can end the wait of a quarantine early, and the rates no longer bound
    /// what happens.
    pub fn broken(&self) -> Vec<Assumption> {
        let has = |kind| self.faults.iter().any(|fault| fault.kind() == kind);
        if has(FaultKind::ClockStep) && has(FaultKind::StoreLoss) {
            vec![Assumption::Rates]
        } else {
            Vec::new()
        }
    }

    /// How long after the calm begins somebody must lead, and the run ends: promise G7's bound.
    pub fn progress_bound(&self, config: &Config) -> Duration {
        let explained = config.explain();
        let round_trip = Duration::from_millis(2 * self.latency_ms.1 + 4);
        explained.worst_case_failover_after_store_loss + config.drain_bound() + 3 * round_trip
    }
}
