//! The facts about a run that its properties use: the settings of its candidates, and the engine's
//! tick.

use std::time::Duration;

use tenure_core::Config;

use crate::plan::clock::{PPM, pace, true_time};
use crate::plan::{Assumption, NANOSECOND, Plan, SimTime, scaled_up};
use crate::trace::Who;

/// The number of steps, of a round trip or a deadline, that may each end a tick later.
const ROUNDED: u32 = 8;

/// The longest random delay of waiting candidates, whatever the TTL.
const JITTER_MOST: Duration = Duration::from_millis(5);

/// The facts about a run that its properties use.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// The limits of each candidate.
    pub candidates: Vec<Limits>,
    /// The quarantine, if all candidates have the same one; the shortest otherwise.
    pub quarantine: Duration,
    /// The longest quarantine of any candidate.
    pub longest_quarantine: Duration,
    /// The shortest TTL of any candidate.
    pub shortest_ttl: Duration,
    /// The longest TTL of any candidate.
    pub longest_ttl: Duration,
    /// The longest random delay before a waiting candidate asks for a lease that it has watched.
    pub longest_jitter: Duration,
    /// True if also the very first server grants nothing before a quarantine: it does not trust an
    /// empty store.
    pub first_server_waits: bool,
    /// True if no candidate's clock counts faster than its drift bound allows, or is put forward.
    pub no_clock_too_fast: bool,
    /// The longest time from the beginning of the calm to the first leader.
    pub progress_bound: Duration,
    /// The largest latency of a message without faults.
    pub latency_most: Duration,
    /// The engine's tick: the leaders are known at multiples of it.
    pub tick: Duration,
}

/// The settings of one candidate that properties use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The stop margin.
    pub stop_margin: Duration,
    /// The drift bound.
    pub drift_ppm: u32,
    /// The longest time that it waits for an answer.
    pub request_timeout: Duration,
    /// The time from the sending of one renewal to the next.
    pub renew_interval: Duration,
    /// The longest random delay before another attempt.
    pub retry_most: Duration,
    /// The least time between two requests because of hints.
    pub hint_spacing: Duration,
    /// The longest time that work is given to end after a resignation.
    pub drain_bound: Duration,
    /// The longest time from the answer to a waiting candidate to its next request.
    pub look_interval: Duration,
    /// The longest time that a resignation takes.
    pub longest_stop: Duration,
}

impl Limits {
    /// `stop margin / (1 + rho)`, rounded down: the least true time by which a claim ends before
    /// its lease.
    pub fn margin(&self) -> Duration {
        on_fastest_clock(self.stop_margin, self.drift_ppm)
    }

    /// The most true time in which the candidate's clock counts that duration, rounded up.
    pub(super) fn at_most(&self, counted: Duration) -> Duration {
        on_slowest_clock(counted, self.drift_ppm)
    }
}

/// The least true time in which a clock counts that duration, rounded down.
pub(super) fn on_fastest_clock(counted: Duration, drift_ppm: u32) -> Duration {
    true_time(counted, drift_ppm.into())
}

/// The most true time in which a clock counts that duration, rounded up.
pub(super) fn on_slowest_clock(counted: Duration, drift_ppm: u32) -> Duration {
    scaled_up(counted, PPM, pace(-i64::from(drift_ppm)))
}

/// The time from a renewal to the look that should find the next one, or from any look to the next
/// one: the renew interval and a hundredth, 10 ms at most. Not as the settings say: they are judged
/// too.
fn look_interval(config: &Config) -> Duration {
    let renewals = config.renew_interval() * u32::from(config.look_every().get());
    let lag = (config.renew_interval() / 100).min(Duration::from_millis(10));
    (renewals + lag).min(config.poll_bound()).max(config.retry().0)
}

impl Terms {
    /// The terms that hold for every run of an engine with that tick.
    pub(super) fn of_engine(tick: Duration) -> Self {
        Self { tick, ..Self::default() }
    }

    /// True if candidates have handles that can be asked before their driver receives a request:
    /// not in an engine without ticks, whose candidates are the state machine alone.
    pub(super) fn has_handles(&self) -> bool {
        self.tick != NANOSECOND
    }

    /// True if the engine has no ticks: it records every event at its own nanosecond.
    pub(super) fn is_exact(&self) -> bool {
        self.tick <= NANOSECOND
    }

    /// The terms of a plan's run in an engine with that tick.
    pub fn of(plan: &Plan, configs: &[Config], tick: Duration) -> Self {
        let candidates = configs.iter().map(|config| Limits {
            stop_margin: config.stop_margin(),
            drift_ppm: config.drift_ppm(),
            request_timeout: config.request_timeout(),
            renew_interval: config.renew_interval(),
            retry_most: config.retry().1,
            hint_spacing: config.retry().0,
            drain_bound: config.drain_bound(),
            look_interval: look_interval(config),
            longest_stop: config.explain().longest_stop,
        });
        let ttls = || configs.iter().map(Config::ttl);
        let quarantines = || configs.iter().map(Config::quarantine);
        Self {
            candidates: candidates.collect(),
            quarantine: quarantines().min().unwrap_or_default(),
            longest_quarantine: quarantines().max().unwrap_or_default(),
            shortest_ttl: ttls().min().unwrap_or_default(),
            longest_ttl: ttls().max().unwrap_or_default(),
            // Not as the settings say: they are judged too.
            longest_jitter: ttls()
                .map(|ttl| (ttl / 1_000).min(JITTER_MOST))
                .max()
                .unwrap_or_default(),
            first_server_waits: !plan.store.trust_empty_store,
            no_clock_too_fast: !plan.broken().contains(&Assumption::Waits),
            progress_bound: plan.progress_bound(configs),
            latency_most: Duration::from_micros(plan.latency_us.1),
            tick,
        }
    }

    /// True if a candidate certainly takes an answer at that time: it has not given the request up,
    /// however fast its clock is.
    pub(super) fn is_taken(&self, at: SimTime, who: Who, sent_at: SimTime) -> bool {
        let limits = self.limits_of(who);
        let waits = on_fastest_clock(limits.request_timeout, limits.drift_ppm);
        at.since(sent_at) + 2 * self.tick < waits
    }

    /// True if a healthy network answers a candidate within its request timeout. If not, its
    /// requests fail without any fault, and nothing is promised. Engines with ticks round up at
    /// every step of the way.
    pub(super) fn is_answered_in_time(&self, who: Who) -> bool {
        self.candidates.get(who.node).is_some_and(|limits| self.is_enough(limits))
    }

    /// True if that holds for all candidates: one whose requests fail may delay the others.
    pub(super) fn all_are_answered_in_time(&self) -> bool {
        self.candidates.iter().all(|limits| self.is_enough(limits))
    }

    fn is_enough(&self, limits: &Limits) -> bool {
        let round_trip = 2 * self.latency_most + self.rounding();
        on_fastest_clock(limits.request_timeout, limits.drift_ppm) > round_trip
    }

    /// True if every candidate's quarantine covers the leases of all: if not, some must watch a
    /// lease that was handed back.
    pub(super) fn settings_agree(&self) -> bool {
        self.quarantine >= self.longest_ttl
    }

    /// The latest true time at which a duration of that candidate has passed, with the engine's
    /// rounding.
    pub(super) fn latest_end(&self, from: SimTime, who: Who, counted: Duration) -> SimTime {
        from + self.limits_of(who).at_most(counted) + self.rounding()
    }

    /// The time by which an engine's ticks may delay a deadline.
    pub(super) fn rounding(&self) -> Duration {
        ROUNDED * self.tick
    }

    pub(super) fn limits_of(&self, who: Who) -> Limits {
        self.candidates.get(who.node).copied().unwrap_or_default()
    }

    pub(super) fn margin_of(&self, who: Who) -> Duration {
        self.limits_of(who).margin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_is_rounded_down() {
        let least = |nanos| on_fastest_clock(Duration::from_nanos(nanos), 100_000).as_nanos();
        assert_eq!([11, 10, 1, 0].map(least), [10, 9, 0, 0]);
    }

    #[test]
    fn the_slowest_clock_is_rounded_up() {
        let most = |nanos| on_slowest_clock(Duration::from_nanos(nanos), 100_000).as_nanos();
        assert_eq!([18, 19, 0].map(most), [20, 22, 0]);
    }
}
