//! How a process is stopped.

use super::Spot;
use crate::plan::{Fault, Plan, What};

/// The ways to stop a process: for a while, or for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stops {
    /// How long pauses last, in milliseconds.
    pub pauses_ms: Vec<u64>,
    /// How long it takes a crashed process to start again, in milliseconds.
    pub restart_ms: u64,
}

impl Stops {
    /// Those that suit the plan's settings. Pauses last: just under and just over the stop margin, where
    /// an effect may come too late; from sending a renewal to just before and just after the end of the
    /// claim that it should extend; and past the lease.
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

    /// All of them, at one point.
    pub(super) fn at(&self, spot: &Spot) -> impl Iterator<Item = Fault> + '_ {
        let Spot { when, node, .. } = *spot;
        let pauses = self.pauses_ms.iter();
        let pauses =
            pauses.map(move |for_ms| Fault { when, for_ms: *for_ms, what: What::Pause { node } });
        let crash =
            move |power| Fault { when, for_ms: self.restart_ms, what: What::Crash { node, power } };
        pauses.chain([false, true].map(crash))
    }
}

#[cfg(test)]
mod tests {
    use super::super::usual_plan;
    use super::*;

    #[test]
    fn pauses_lie_on_both_sides_of_what_matters() {
        let mut plan = usual_plan().expect("a valid TTL");
        let stops = Stops::of(&plan);
        assert_eq!(stops.pauses_ms, [999, 1_001, 5_666, 6_668, 12_500]);
        plan.settings.stop_margin_ms = 0;
        assert_eq!(Stops::of(&plan).pauses_ms, [1, 6_666, 6_668, 12_500]);
    }
}
