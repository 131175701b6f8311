//! The magnitudes of faults: how they are drawn, and their bounds.

use std::ops::RangeInclusive;

use super::{ClockFault, LinkFault, LinksFault, ProcessFault, StoreFault, What};
use crate::plan::DAY_MS;
use crate::plan::draw::Draw;

/// The most by which a real replica lags, in milliseconds.
pub const LAG_MOST_MS: u64 = 500;
/// The longest pause of a raft leader, in milliseconds: well below each TTL less the time since a
/// renewal. After a longer one, etcd before 3.4.31 and 3.5.13 may revoke leases that were renewed
/// at its successor.
pub const RAFT_PAUSE_MOST_MS: u64 = 900;
/// Shorter ones are not noticed by the other members.
pub(super) const RAFT_PAUSE_LEAST_MS: u64 = 300;

/// A server's clock is wrong by that much after a machine was resumed, in another time zone, and
/// without a battery. The last one is the most.
const FAR_MS: [u64; 3] = [30_000, 3_600_000, 3_653 * DAY_MS];

/// A store that is down for long hides all other faults.
pub(super) const OUTAGE: fn(u64) -> RangeInclusive<u64> = |ttl_ms| 1..=ttl_ms / 2;
/// Some locks take a leader's lease.
pub(super) const LOCK: fn(u64) -> RangeInclusive<u64> = |ttl_ms| 1..=ttl_ms;

/// A run for which magnitudes are drawn.
#[derive(Clone, Copy, Debug)]
pub(in crate::plan) struct Magnitudes {
    pub(in crate::plan) ttl_ms: u64,
    pub(in crate::plan) nodes: usize,
    /// True if its servers are real.
    pub(in crate::plan) is_real: bool,
}

impl Magnitudes {
    fn permille(draw: &mut Draw) -> u32 {
        u32::try_from(draw.pick(&[50, 300, 900])).unwrap_or(1)
    }

    /// In the direction of that step.
    fn step(self, by_ms: i64, draw: &mut Draw) -> i64 {
        by_ms.signum() * draw.within(1..=2 * self.ttl_ms).cast_signed()
    }

    /// The same of a store's clock, which decides nothing.
    fn store_step(self, by_ms: i64, draw: &mut Draw) -> i64 {
        let [seconds, hour, years] = FAR_MS;
        match draw.pick(&[0, 0, 0, seconds, hour, years]) {
            0 => self.step(by_ms, draw),
            far_ms => by_ms.signum() * far_ms.cast_signed(),
        }
    }

    fn of_link(self, fault: LinkFault, draw: &mut Draw) -> LinkFault {
        let ttl_ms = self.ttl_ms;
        match fault {
            LinkFault::OneWay { .. } => LinkFault::OneWay { to_store: draw.chance(1, 2) },
            LinkFault::Latency { .. } => {
                LinkFault::Latency { most_ms: draw.within(20..=ttl_ms / 2) }
            }
            LinkFault::Loss { .. } => LinkFault::Loss { permille: Self::permille(draw) },
            LinkFault::Duplicate { .. } => LinkFault::Duplicate {
                permille: Self::permille(draw),
                most_ms: draw.within(1..=2 * ttl_ms),
            },
            LinkFault::Reorder { .. } => LinkFault::Reorder {
                permille: Self::permille(draw),
                most_ms: draw.within(1..=ttl_ms),
            },
            LinkFault::Throttle { .. } => {
                let bytes_per_second = u32::try_from(draw.pick(&[500, 2_000, 10_000])).unwrap_or(1);
                LinkFault::Throttle { bytes_per_second }
            }
            LinkFault::Partition
            | LinkFault::Hold
            | LinkFault::Cut
            | LinkFault::Reset
            | LinkFault::HalfOpen
            | LinkFault::OldPrimary => fault,
        }
    }

    fn of_store(self, fault: StoreFault, draw: &mut Draw) -> StoreFault {
        let ttl_ms = self.ttl_ms;
        match fault {
            StoreFault::StoreRollback { .. } => {
                StoreFault::StoreRollback { back_ms: draw.within(0..=2 * ttl_ms) }
            }
            // A real replica has the machine's clock, and a lag that its promotion survives.
            StoreFault::Failover { .. } if self.is_real => StoreFault::Failover {
                lag_ms: draw.pick(&[0, 100, LAG_MOST_MS]),
                clock_ahead_ms: 0,
            },
            StoreFault::Failover { .. } => {
                let ttl = ttl_ms.cast_signed();
                StoreFault::Failover {
                    lag_ms: draw.pick(&[0, 1, ttl_ms / 10, ttl_ms]),
                    clock_ahead_ms: draw.pick(&[0, 0, 1, ttl, 3 * ttl]),
                }
            }
            StoreFault::StoreClockStep { by_ms } => {
                StoreFault::StoreClockStep { by_ms: self.store_step(by_ms, draw) }
            }
            StoreFault::StoreCrash | StoreFault::StoreLoss | StoreFault::StoreStall => fault,
        }
    }
}

impl What {
    /// The same fault with drawn magnitudes.
    pub(in crate::plan) fn drawn(self, run: Magnitudes, draw: &mut Draw) -> Self {
        match self {
            Self::Link { node, fault } => run.of_link(fault, draw).at(node),
            Self::Links(LinksFault::Swizzle { .. }) => Self::Links(LinksFault::Swizzle {
                step_ms: draw.within(1..=run.ttl_ms / 4),
                shift: usize::try_from(draw.within(0..=run.nodes as u64)).unwrap_or(0),
            }),
            Self::Process { node, fault: ProcessFault::Crash { .. } } => {
                ProcessFault::Crash { power: draw.chance(1, 2) }.at(node)
            }
            Self::Process { node, fault: ProcessFault::HandOver { .. } } => {
                let to = usize::try_from(draw.within(0..=run.nodes as u64)).unwrap_or(0);
                ProcessFault::HandOver { to }.at(node)
            }
            Self::Clock { node, fault: ClockFault::ClockStep { by_ms } } => {
                ClockFault::ClockStep { by_ms: run.step(by_ms, draw) }.at(node)
            }
            Self::Store(fault) => Self::Store(run.of_store(fault, draw)),
            Self::Process { .. } | Self::Operator(_) => self,
        }
    }

    /// The magnitudes that have bounds: the field, the value without its sign, and the bounds.
    pub(in crate::plan) fn bounded(self) -> Vec<(&'static str, u64, RangeInclusive<u64>)> {
        let permille = |permille| ("permille", u64::from(permille), 1..=1_000);
        let most_ms = |most_ms| ("most_ms", most_ms, 1..=DAY_MS);
        let by_ms = |by_ms: i64| ("by_ms", by_ms.unsigned_abs(), 1..=DAY_MS);
        match self {
            Self::Link { fault, .. } => match fault {
                LinkFault::Latency { most_ms: most } => vec![most_ms(most)],
                LinkFault::Loss { permille: some } => vec![permille(some)],
                LinkFault::Duplicate { permille: some, most_ms: most }
                | LinkFault::Reorder { permille: some, most_ms: most } => {
                    vec![permille(some), most_ms(most)]
                }
                LinkFault::Throttle { bytes_per_second } => {
                    let rate = u64::from(bytes_per_second);
                    vec![("bytes_per_second", rate, 1..=u64::from(u32::MAX))]
                }
                LinkFault::Partition
                | LinkFault::OneWay { .. }
                | LinkFault::Hold
                | LinkFault::Cut
                | LinkFault::Reset
                | LinkFault::HalfOpen
                | LinkFault::OldPrimary => Vec::new(),
            },
            Self::Links(LinksFault::Swizzle { step_ms, .. }) => {
                vec![("step_ms", step_ms, 1..=DAY_MS)]
            }
            Self::Clock { fault: ClockFault::ClockStep { by_ms: by }, .. } => vec![by_ms(by)],
            Self::Store(fault) => match fault {
                StoreFault::StoreRollback { back_ms } => vec![("back_ms", back_ms, 0..=DAY_MS)],
                StoreFault::Failover { lag_ms, clock_ahead_ms } => vec![
                    ("lag_ms", lag_ms, 0..=DAY_MS),
                    ("clock_ahead_ms", clock_ahead_ms.unsigned_abs(), 0..=DAY_MS),
                ],
                StoreFault::StoreClockStep { by_ms } => {
                    vec![("by_ms", by_ms.unsigned_abs(), 1..=FAR_MS[2])]
                }
                StoreFault::StoreCrash | StoreFault::StoreLoss | StoreFault::StoreStall => {
                    Vec::new()
                }
            },
            Self::Process { .. } | Self::Operator(_) => Vec::new(),
        }
    }
}
