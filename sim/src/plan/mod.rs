//! A run as data: the same plan gives the same trace.

mod assumption;
mod broken;
mod catalogue;
pub mod clock;
pub mod draw;
mod ending;
mod error;
mod fault;
pub mod json;
mod names;
mod program;
mod quiet;
mod schedule;
mod swarm;
mod text;
mod time;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::{Config, ConfigError};

pub use assumption::Assumption;
#[cfg(feature = "turmoil")]
pub(crate) use catalogue::NO_REPLIES;
pub use catalogue::{
    Act, ClockFault, FaultKind, LAG_MOST_MS, LinkFault, LinksFault, Place, ProcessFault,
    RAFT_PAUSE_MOST_MS, StoreFault, What,
};
pub(crate) use catalogue::{Shown, Time};
use draw::Draw;
pub(crate) use ending::Ending;
pub use error::PlanError;
pub use fault::{Fault, Point, RequestKind, Trigger, When};
pub use names::UnknownName;
pub(crate) use names::named;
pub use program::{Manner, Program};
pub(crate) use schedule::{Schedule, Step, Strike};
pub use swarm::{Backend, SILENT_MOST_MS, Scope, Shows, swarm};
pub use time::SimTime;
pub(crate) use time::{NANOSECOND, micros, millis, nanos, scaled, scaled_up};
#[cfg(test)]
pub(crate) use time::{ms, ns};

/// A day in milliseconds: far from where nanoseconds overflow.
pub(crate) const DAY_MS: u64 = 86_400_000;

/// The version of the plan's format.
pub const SCHEMA: u32 = 1;

/// All inputs of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of the format: [`SCHEMA`].
    pub schema: u32,
    /// The key of all random numbers that the plan does not contain: latencies, jitter, holder ids.
    pub seed: u64,
    /// The settings of every candidate without settings of its own.
    pub settings: Settings,
    /// The candidates.
    pub nodes: Vec<NodePlan>,
    /// The store.
    pub store: StorePlan,
    /// The least and the largest latency of a message without faults, in microseconds.
    pub latency_us: (u64, u64),
    /// The work of leaders.
    pub work: Work,
    /// The program of each node.
    #[serde(default, skip_serializing_if = "Program::is_default")]
    pub program: Program,
    /// The faults, in order.
    pub faults: Vec<Fault>,
    /// The beginning of the recovery phase, in milliseconds of true time. No fault happens from
    /// then on.
    pub calm_from_ms: u64,
    /// True if the leader of the recovery phase is asked to hand over.
    #[serde(default)]
    pub handover: bool,
}

/// One candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodePlan {
    /// The first reading of its clock, in milliseconds.
    pub clock_offset_ms: u64,
    /// The error of the rate of its clocks, in ppm.
    #[serde(default)]
    pub clock_rate_ppm: i64,
    /// Its settings, if they differ from the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
}

/// The store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorePlan {
    /// The error of the rate of its clock, in ppm.
    #[serde(default)]
    pub clock_rate_ppm: i64,
    /// True if an empty store is trusted to have lost nothing: gives up promise G6.
    #[serde(default)]
    pub trust_empty_store: bool,
}

/// The repeated work of leaders: check the leadership, then write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The interval, in milliseconds of the leader's clock.
    pub every_ms: u64,
    /// The longest time of a write from the check to its arrival, in microseconds of true time. In
    /// the turmoil engine every write takes this time.
    #[serde(default)]
    pub takes_us: u64,
    /// True if a new leader reads the resource before it has taken it over: gives up the second
    /// half of promise G4.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_first: bool,
}

/// The settings of a candidate, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "named and explained at `tenure_core::ConfigBuilder`")]
pub struct Settings {
    pub ttl_ms: u64,
    pub renew_interval_ms: u64,
    pub request_timeout_ms: u64,
    pub stop_margin_ms: u64,
    pub retry_least_ms: u64,
    pub retry_most_ms: u64,
    pub poll_bound_ms: u64,
    pub drain_bound_ms: u64,
    pub quarantine_ms: u64,
    pub granularity_ns: u64,
    pub drift_ppm: u32,
}

impl Settings {
    /// The default settings for a TTL, for a store whose clock is exact.
    ///
    /// # Errors
    /// If the TTL is invalid.
    pub fn of_ttl(ttl: Duration) -> Result<Self, ConfigError> {
        let builder = Config::builder(ttl).granularity(Duration::from_nanos(1));
        let config = builder.build()?;
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let (retry_least, retry_most) = config.retry();
        Ok(Self {
            ttl_ms: ms(config.ttl()),
            renew_interval_ms: ms(config.renew_interval()),
            request_timeout_ms: ms(config.request_timeout()),
            stop_margin_ms: ms(config.stop_margin()),
            retry_least_ms: ms(retry_least),
            retry_most_ms: ms(retry_most),
            poll_bound_ms: ms(config.poll_bound()),
            drain_bound_ms: ms(config.drain_bound()),
            quarantine_ms: ms(config.quarantine()),
            granularity_ns: 1,
            drift_ppm: config.drift_ppm(),
        })
    }

    /// Settings in the same proportions for `1 / parts` of the TTL, the quarantine included.
    #[must_use]
    pub fn in_parts(self, parts: u64) -> Self {
        Self {
            ttl_ms: self.ttl_ms / parts,
            renew_interval_ms: self.renew_interval_ms / parts,
            request_timeout_ms: (self.request_timeout_ms / parts).max(1),
            stop_margin_ms: self.stop_margin_ms / parts,
            retry_least_ms: (self.retry_least_ms / parts).max(1),
            retry_most_ms: (self.retry_most_ms / parts).max(1),
            poll_bound_ms: (self.poll_bound_ms / parts).max(1),
            drain_bound_ms: self.drain_bound_ms / parts,
            quarantine_ms: self.quarantine_ms / parts,
            ..self
        }
    }

    /// The settings as a candidate's configuration.
    ///
    /// # Errors
    /// If they contradict each other.
    pub fn config(&self) -> Result<Config, ConfigError> {
        let ms = Duration::from_millis;
        Config::builder(ms(self.ttl_ms))
            .renew_interval(ms(self.renew_interval_ms))
            .request_timeout(ms(self.request_timeout_ms))
            .stop_margin(ms(self.stop_margin_ms))
            .least_retry(ms(self.retry_least_ms))
            .largest_retry(ms(self.retry_most_ms))
            .poll_bound(ms(self.poll_bound_ms))
            .drain_bound(ms(self.drain_bound_ms))
            .quarantine(ms(self.quarantine_ms))
            .granularity(Duration::from_nanos(self.granularity_ns))
            .drift_ppm(self.drift_ppm)
            .build()
    }
}

impl Plan {
    /// The settings of one node.
    pub fn settings_of(&self, node: usize) -> Settings {
        self.nodes[node].settings.unwrap_or(self.settings)
    }

    /// The beginning of the recovery phase.
    pub fn calm_from(&self) -> SimTime {
        SimTime::from_millis(self.calm_from_ms)
    }

    /// By how much the clock of a node is ahead after each suspend, in milliseconds: often by a
    /// whole TTL, or not at all. What tells how long a machine has slept is a clock of its hardware,
    /// which may be wrong.
    pub(crate) fn oversleeps_ms(&self, node: usize) -> i64 {
        let ttl_ms = self.settings_of(node).ttl_ms;
        let mut draw = Draw::new(self.seed, "oversleeps", node as u64);
        let between = draw.within(ttl_ms / 2..=ttl_ms);
        draw.pick(&[0, ttl_ms, between]).cast_signed()
    }

    /// The configuration of every candidate.
    ///
    /// # Errors
    /// If the settings of a node contradict each other.
    pub fn configs(&self) -> Result<Vec<Config>, PlanError> {
        let config = |node| {
            self.settings_of(node)
                .config()
                .map_err(|why| PlanError::Settings { node, why: why.into() })
        };
        (0..self.nodes.len()).map(config).collect()
    }

    /// True if the plan has faults of that kind, drift included.
    pub fn has(&self, kind: FaultKind) -> bool {
        match kind {
            FaultKind::Drift => {
                self.store.clock_rate_ppm != 0
                    || self.nodes.iter().any(|node| node.clock_rate_ppm != 0)
            }
            _ => self.faults.iter().any(|fault| fault.kind() == kind),
        }
    }

    /// The longest time from the beginning of the recovery phase to a leader: promise G7's bound,
    /// for the slowest candidate.
    pub fn progress_bound(&self, configs: &[Config]) -> Duration {
        let round_trip = Duration::from_micros(2 * self.latency_us.1) + Duration::from_millis(4);
        let bound = |config: &Config| {
            config.explain().worst_case_failover_after_store_loss + config.drain_bound()
        };
        configs.iter().map(bound).max().unwrap_or_default() + 3 * round_trip
    }
}
