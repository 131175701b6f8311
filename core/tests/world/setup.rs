//! Settings of a world, up to the edges of what is valid.

use core::time::Duration;
use proptest::prelude::*;
use tenure_core::{Config, RenewErrorPolicy};

/// A world before its first operation. Plain data, so that it shrinks and prints.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) rho_ppm: u32,
    pub(crate) granularity: u64,
    pub(crate) knows_its_past: bool,
    pub(crate) extra_quarantine: u16,
    /// True if requests wait until an operation or a healthy stretch admits them.
    pub(crate) queues: bool,
    pub(crate) nodes: Vec<NodeSetup>,
}

/// One candidate. `of_...` are permille of what is left for the setting.
#[derive(Clone, Debug)]
pub(crate) struct NodeSetup {
    ttl_ms: u64,
    of_margin: u64,
    of_renew: u64,
    of_retry: u64,
    of_timeout: u64,
    of_poll: u64,
    of_drain: u64,
    strict: bool,
    pub(crate) clock_shows: u64,
    pub(crate) rate: i8,
}

impl Setup {
    /// Two candidates whose clocks are as far apart as the drift bound allows: the inequalities of
    /// the proof are tight here.
    pub(crate) fn slow_and_fast() -> Self {
        Self {
            rho_ppm: 100_000,
            granularity: 1,
            knows_its_past: true,
            extra_quarantine: 0,
            queues: false,
            nodes: vec![NodeSetup::with_rate(-100), NodeSetup::with_rate(100)],
        }
    }

    /// The error of a rate, from hundredths of the drift bound.
    pub(crate) fn off_ppm(&self, percent: i8) -> i64 {
        i64::from(self.rho_ppm) * i64::from(percent.clamp(-100, 100)) / 100
    }

    pub(crate) fn config(&self, node: &NodeSetup) -> Config {
        let longest_ttl = self.nodes.iter().map(|node| node.ttl_ms).max().expect("has nodes");
        let quarantine = longest_ttl * (1_000 + u64::from(self.extra_quarantine)) / 1_000;
        let ttl = Duration::from_millis(node.ttl_ms);
        let rho = u64::from(self.rho_ppm);
        let counted = (node.ttl_ms * 1_000_000 - self.granularity) / 1_000;
        let countable = counted * (1_000_000 - rho) / (1_000_000 + rho) * 1_000;
        let margin = countable * node.of_margin / 1_000;
        let renew = (countable - margin) * node.of_renew / 1_000;
        let each = (countable - margin - renew) / 3;
        let retry = (each * node.of_retry / 1_000).max(1_000_000);
        let longest = (each - retry).min((countable - margin).saturating_sub(3 * retry) / 4);
        let timeout = (longest * node.of_timeout / 1_000).max(1_000_000);
        Config::builder(ttl)
            .drift_ppm(self.rho_ppm)
            .granularity(Duration::from_nanos(self.granularity))
            .stop_margin(Duration::from_nanos(margin))
            .renew_interval(Duration::from_nanos(renew))
            .least_retry(Duration::from_nanos(retry / 10).max(Duration::from_millis(1)))
            .largest_retry(Duration::from_nanos(retry))
            .request_timeout(Duration::from_nanos(timeout))
            .poll_bound(ttl * u32::try_from(node.of_poll).expect("permille") / 1_000)
            .drain_bound(ttl * u32::try_from(node.of_drain).expect("permille") / 1_000)
            .quarantine(Duration::from_millis(quarantine))
            .on_renew_error(if node.strict {
                RenewErrorPolicy::StepDown
            } else {
                RenewErrorPolicy::KeepUntilExpiry
            })
            .build()
            .expect("drawn within the bounds")
    }
}

impl NodeSetup {
    fn with_rate(rate: i8) -> Self {
        Self {
            ttl_ms: 10_000,
            of_margin: 0,
            of_renew: 300,
            of_retry: 100,
            of_timeout: 1_000,
            of_poll: 1_000,
            of_drain: 1_000,
            strict: false,
            clock_shows: 0,
            rate,
        }
    }
}

pub(crate) fn setups() -> impl Strategy<Value = Setup> {
    let rho = prop_oneof![Just(1_000), Just(10_000), Just(100_000), 1_000_u32..=100_000];
    let granularity = prop_oneof![Just(1), Just(1_000), Just(1_000_000), 1_u64..10_000_000];
    let extra = prop_oneof![Just(0), 0_u16..500];
    let nodes = prop::collection::vec(node_setups(), 2..=4);
    let flags = (any::<bool>(), any::<bool>());
    (rho, granularity, flags, extra, nodes).prop_map(
        |(rho_ppm, granularity, (knows_its_past, queues), extra_quarantine, nodes)| Setup {
            rho_ppm,
            granularity,
            knows_its_past,
            extra_quarantine,
            queues,
            nodes,
        },
    )
}

fn node_setups() -> impl Strategy<Value = NodeSetup> {
    let ttl_ms = prop_oneof![Just(1_000), 300_u64..20_000];
    let of_margin = prop_oneof![Just(0), 0_u64..400];
    // 1,000 is the longest valid timeout.
    let of_timeout = prop_oneof![Just(1_000), 100_u64..=1_000];
    let of_drain = prop_oneof![Just(0), 0_u64..3_000];
    let times = (of_margin, 50_u64..500, 100_u64..900, of_timeout, 200_u64..2_000, of_drain);
    let strict = prop::bool::weighted(0.2);
    (ttl_ms, times, strict, 0_u64..1 << 60, rates()).prop_map(
        |(ttl_ms, times, strict, clock_shows, rate)| {
            let (of_margin, of_renew, of_retry, of_timeout, of_poll, of_drain) = times;
            NodeSetup {
                ttl_ms,
                of_margin,
                of_renew,
                of_retry,
                of_timeout,
                of_poll,
                of_drain,
                strict,
                clock_shows,
                rate,
            }
        },
    )
}

/// Hundredths of the drift bound. A wrong bound fails at the edges first.
pub(crate) fn rates() -> impl Strategy<Value = i8> {
    prop_oneof![Just(0), Just(-100), Just(100), -100_i8..=100]
}
