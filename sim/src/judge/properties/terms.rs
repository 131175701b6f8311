//! The facts about a run that its properties use: the settings of its candidates, and the engine's tick.

use std::time::Duration;

use tenure_core::Config;

use crate::plan::clock::SimTime;
use crate::plan::{FaultKind, Plan};
use crate::trace::Who;

/// The number of steps, of a round trip or a deadline, that may each end a tick later.
const ROUNDED: u64 = 8;

/// The facts about a run that its properties use. Times are in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// The limits of each candidate.
    pub candidates: Vec<Limits>,
    /// The quarantine, if all candidates have the same one; the shortest otherwise.
    pub quarantine: u64,
    /// The longest quarantine of any candidate.
    pub longest_quarantine: u64,
    /// The shortest TTL of any candidate.
    pub shortest_ttl: u64,
    /// The longest TTL of any candidate.
    pub longest_ttl: u64,
    /// Whether also the very first server makes its first leader wait for the whole quarantine: it does not trust
    /// an empty store, and no clock is too fast.
    pub first_leader_waits: bool,
    /// Whether no candidate's clock counts faster than its drift bound allows, or is put forward.
    pub no_clock_too_fast: bool,
    /// The longest time from the beginning of the calm to the first leader.
    pub progress_bound: u64,
    /// The largest latency of a message without faults.
    pub latency_most: u64,
    /// The engine's tick: the leaders are known at multiples of it.
    pub tick: u64,
}

/// The settings of one candidate that properties use. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The stop margin.
    pub stop_margin: u64,
    /// The drift bound.
    pub drift_ppm: u32,
    /// The longest time that it waits for an answer.
    pub request_timeout: u64,
    /// The time from the sending of one renewal to the next.
    pub renew_interval: u64,
    /// The longest random delay before another attempt.
    pub retry_most: u64,
    /// The least time between two requests because of hints.
    pub hint_spacing: u64,
    /// The longest time that work is given to end after a resignation.
    pub drain_bound: u64,
    /// The longest time between two requests of a waiting candidate.
    pub poll_bound: u64,
    /// The longest time that a resignation takes.
    pub longest_stop: u64,
}

impl Limits {
    /// `stop margin / (1 + rho)`, rounded down: the least true time by which a claim ends before its
    /// lease.
    pub fn margin(&self) -> u64 {
        on_fastest_clock(self.stop_margin, self.drift_ppm)
    }
}

impl Limits {
    /// The most true time in which the candidate's clock counts that duration, rounded up.
    pub(super) fn at_most(&self, nanos: u64) -> u64 {
        on_slowest_clock(nanos, self.drift_ppm)
    }
}

/// The least true time in which a clock counts that duration, rounded down.
pub(super) fn on_fastest_clock(nanos: u64, drift_ppm: u32) -> u64 {
    let lasts = u128::from(nanos) * 1_000_000 / (1_000_000 + u128::from(drift_ppm));
    u64::try_from(lasts).unwrap_or(u64::MAX)
}

/// The most true time in which a clock counts that duration, rounded up.
pub(super) fn on_slowest_clock(nanos: u64, drift_ppm: u32) -> u64 {
    let pace = 1_000_000_u128.saturating_sub(drift_ppm.into()).max(1);
    u64::try_from((u128::from(nanos) * 1_000_000).div_ceil(pace)).unwrap_or(u64::MAX)
}

impl Terms {
    /// The terms that hold for every run of an engine with that tick.
    pub(super) fn of_engine(tick: Duration) -> Self {
        Self { tick: nanos(tick), ..Self::default() }
    }

    /// Whether candidates have handles that can be asked before their driver receives a request: not in an engine
    /// without ticks, whose candidates are the state machine alone.
    pub(super) fn has_handles(&self) -> bool {
        self.tick != 1
    }

    /// The terms of a plan's run in an engine with that tick.
    pub fn of(plan: &Plan, configs: &[Config], tick: Duration) -> Self {
        let candidates = configs.iter().map(|config| Limits {
            stop_margin: nanos(config.stop_margin()),
            drift_ppm: config.drift_ppm(),
            request_timeout: nanos(config.request_timeout()),
            renew_interval: nanos(config.renew_interval()),
            retry_most: nanos(config.retry().1),
            hint_spacing: nanos(config.retry().0),
            drain_bound: nanos(config.drain_bound()),
            poll_bound: nanos(config.poll_bound()),
            longest_stop: nanos(config.explain().longest_stop),
        });
        let ttls = || configs.iter().map(|config| nanos(config.ttl()));
        let quarantines = || configs.iter().map(|config| nanos(config.quarantine()));
        let no_clock_too_fast = !has_fast_clock(plan, configs);
        Self {
            candidates: candidates.collect(),
            quarantine: quarantines().min().unwrap_or(0),
            longest_quarantine: quarantines().max().unwrap_or(0),
            shortest_ttl: ttls().min().unwrap_or(0),
            longest_ttl: ttls().max().unwrap_or(0),
            first_leader_waits: !plan.store.trust_empty_store && no_clock_too_fast,
            no_clock_too_fast,
            progress_bound: nanos(plan.progress_bound(configs)),
            latency_most: plan.latency_us.1 * 1_000,
            tick: nanos(tick),
        }
    }

    /// Whether a healthy network answers a candidate within its request timeout. If not, its requests fail
    /// without any fault, and nothing is promised. Engines with ticks round up
    /// at every step of the way.
    pub(super) fn is_answered_in_time(&self, who: Who) -> bool {
        self.candidates.get(who.node).is_some_and(|limits| self.is_enough(limits))
    }

    /// Whether that holds for all candidates: one whose requests fail may delay the others.
    pub(super) fn all_are_answered_in_time(&self) -> bool {
        self.candidates.iter().all(|limits| self.is_enough(limits))
    }

    fn is_enough(&self, limits: &Limits) -> bool {
        let round_trip = 2 * self.latency_most + self.rounding();
        on_fastest_clock(limits.request_timeout, limits.drift_ppm) > round_trip
    }

    /// The latest true time at which a duration of that candidate has passed, with the engine's rounding.
    pub(super) fn latest_end(&self, from: SimTime, who: Who, nanos: u64) -> SimTime {
        let takes = self.limits_of(who).at_most(nanos);
        from.saturating_add(takes).saturating_add(self.rounding())
    }

    /// The time by which an engine's ticks may delay a deadline.
    pub(super) fn rounding(&self) -> u64 {
        ROUNDED * self.tick
    }

    pub(super) fn limits_of(&self, who: Who) -> Limits {
        self.candidates.get(who.node).copied().unwrap_or_default()
    }

    pub(super) fn margin_of(&self, who: Who) -> u64 {
        self.limits_of(who).margin()
    }
}

/// Whether some candidate may wait for less time than it should. There is no assumption for that in runs without
/// a loss of data, as no promise rests on it there.
fn has_fast_clock(plan: &Plan, configs: &[Config]) -> bool {
    let is_fast = |(node, config): (&crate::plan::NodePlan, &Config)| {
        node.clock_rate_ppm > i64::from(config.drift_ppm())
    };
    plan.has(FaultKind::ClockStep) || plan.nodes.iter().zip(configs).any(is_fast)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_is_rounded_down() {
        let margin =
            |stop_margin| Limits { stop_margin, drift_ppm: 100_000, ..Limits::default() }.margin();
        assert_eq!([11, 10, 1, 0].map(margin), [10, 9, 0, 0]);
    }

    #[test]
    fn the_slowest_clock_is_rounded_up() {
        assert_eq!([18, 19, 0].map(|nanos| on_slowest_clock(nanos, 100_000)), [20, 22, 0]);
    }
}
