//! The ways to stop a process.

use super::Spot;
use crate::plan::{Fault, Plan, ProcessFault};

/// The ways to stop a process: pauses and crashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stops {
    /// The durations of pauses, in milliseconds.
    pub pauses_ms: Vec<u64>,
    /// The time until a crashed process starts again, in milliseconds.
    pub restart_ms: u64,
}

impl Stops {
    /// The stops for a plan's settings. The durations of pauses are: just under and just over the
    /// stop margin, where an effect may be too late; from the sending of a renewal to just before
    /// and just after the end of the claim that it should extend; and longer than the lease.
    pub fn of(plan: &Plan) -> Self {
        let settings = plan.settings;
        let (ttl, margin) = (settings.ttl_ms, settings.stop_margin_ms);
        let left = ttl.saturating_sub(settings.renew_interval_ms);
        let wanted = [
            margin.saturating_sub(1),
            margin + 1,
            left.saturating_sub(margin + 1),
            left + 1,
            ttl + ttl / 4,
        ];
        let mut pauses_ms: Vec<u64> = wanted.into_iter().filter(|length| *length > 0).collect();
        pauses_ms.sort_unstable();
        pauses_ms.dedup();
        Self { pauses_ms, restart_ms: (ttl / 10).max(1) }
    }

    /// All stops at one point.
    pub(super) fn at(&self, spot: &Spot) -> impl Iterator<Item = Fault> + '_ {
        let Spot { when, node, .. } = *spot;
        let pauses = self.pauses_ms.iter();
        let pauses = pauses.map(move |for_ms| Fault {
            when,
            for_ms: *for_ms,
            what: ProcessFault::Pause.at(node),
        });
        let crash = move |power| Fault {
            when,
            for_ms: self.restart_ms,
            what: ProcessFault::Crash { power }.at(node),
        };
        pauses.chain([false, true].map(crash))
    }
}

#[cfg(test)]
mod tests {
    use super::super::default_plan;
    use super::*;

    #[test]
    fn pauses_surround_the_stop_margin_and_the_claim() {
        let mut plan = default_plan().expect("a valid TTL");
        let stops = Stops::of(&plan);
        assert_eq!(stops.pauses_ms, [999, 1_001, 5_666, 6_668, 12_500]);
        plan.settings.stop_margin_ms = 0;
        assert_eq!(Stops::of(&plan).pauses_ms, [1, 6_666, 6_668, 12_500]);
    }
}
