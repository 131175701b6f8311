//! Settings, and the inequalities between them.

use core::num::NonZeroU8;
use core::time::Duration;

use super::chosen::Chosen;
use super::setting::Setting;
use super::{Config, ConfigError, MILLION, RenewErrorPolicy};
use crate::time::{Span, nanos};

const TTL_LEAST: Duration = Duration::from_millis(100);
pub(super) const TTL_MOST: Duration = Duration::from_secs(24 * 3_600);
/// The shortest time that a candidate waits for anything.
pub(super) const LEAST: Duration = Duration::from_millis(1);
/// The resolution of [`Instant`](crate::Instant): a reading of a store's clock may be that old when
/// it is taken.
const GRANULARITY_LEAST: Duration = Duration::from_nanos(1);
const DRIFT_LEAST_PPM: u32 = 1;
const DRIFT_MOST_PPM: u32 = 200_000;

/// Builds a [`Config`]. The TTL may be 100 ms to 24 h; the other times are 1 ms to the TTL, if
/// nothing else is said.
///
/// Settings that are not set are derived from the TTL. A store may end leases so early that this
/// takes more than a hundredth of the TTL, such as etcd. Then they are derived from the rest of the
/// TTL: a quarter of it for the renew interval, 16 % for the request timeout, a tenth for the stop
/// margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct ConfigBuilder(Config);

impl ConfigBuilder {
    pub(super) const fn new(ttl: Duration) -> Self {
        Self(Config {
            ttl: Span::of(ttl),
            renew_interval: Span::ZERO,
            request_timeout: Span::ZERO,
            stop_margin: Span::ZERO,
            drift_ppm: 10_000,
            retry_least: Span::ZERO,
            retry_most: Span::ZERO,
            poll_bound: Span::of(ttl),
            stop: Span::of(ttl),
            quarantine: Span::of(ttl),
            granularity: Span::of(Duration::from_millis(1)),
            round_trips: 1,
            look_every: NonZeroU8::MIN,
            defer: Span::ZERO,
            server_ends_leases: false,
            on_renew_error: RenewErrorPolicy::KeepUntilExpiry,
            chosen: Chosen::NONE,
        })
    }

    pub(super) const fn of(config: Config) -> Self {
        Self(config)
    }

    /// The time that another candidate must watch the lease, without a renewal, before it may take
    /// it. What was not set follows. To lower a TTL that other candidates still use, set the
    /// [quarantine](Self::quarantine) to theirs.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.0 = self.0.with_ttl(ttl);
        self
    }

    /// The time from sending one renewal to sending the next. Default: a third of the TTL.
    pub const fn renew_interval(mut self, interval: Duration) -> Self {
        self.0.renew_interval = Span::of(interval);
        self.choose(Chosen::RENEW_INTERVAL)
    }

    /// The longest wait for a reply. Default: a tenth of the TTL.
    pub const fn request_timeout(mut self, timeout: Duration) -> Self {
        self.0.request_timeout = Span::of(timeout);
        self.choose(Chosen::REQUEST_TIMEOUT)
    }

    /// The least time from the claim's end to the lease's end at the store: time for work to stop
    /// between its last check and its effect. Zero is allowed. Default: a tenth of the TTL.
    pub const fn stop_margin(mut self, margin: Duration) -> Self {
        self.0.stop_margin = Span::of(margin);
        self.choose(Chosen::STOP_MARGIN)
    }

    /// The largest error of the *rate* of any candidate's clock, in parts per million: 1 to
    /// 200,000. Where the server ends leases itself (etcd), its clock counts too. Default: 10,000,
    /// one percent.
    pub const fn drift_ppm(mut self, ppm: u32) -> Self {
        self.0.drift_ppm = ppm;
        self
    }

    /// The longest random delay before another attempt after one failure. It doubles with each
    /// failure in a row, up to the [largest](Self::largest_retry), and is drawn from zero on. Also
    /// the least time between two attempts caused by hints. Default: 100 ms, less for short leases
    /// and short largest delays.
    pub const fn least_retry(mut self, delay: Duration) -> Self {
        self.0.retry_least = Span::of(delay);
        self.choose(Chosen::LEAST_RETRY)
    }

    /// The longest random delay before another attempt after many failures in a row. Default: 1 s,
    /// less for short leases, but no less than the [least](Self::least_retry).
    pub const fn largest_retry(mut self, delay: Duration) -> Self {
        self.0.retry_most = Span::of(delay);
        self.choose(Chosen::LARGEST_RETRY)
    }

    /// The longest time between two attempts of a waiting candidate, for stores and networks that
    /// lose hints: at most 24 h. Default: the TTL; with a store that has no hints at all, a
    /// fiftieth of it.
    pub const fn poll_bound(mut self, bound: Duration) -> Self {
        self.0.poll_bound = Span::of(bound);
        self.choose(Chosen::POLL_BOUND)
    }

    /// At which of a leader's renewals a waiting candidate looks. With 3, it looks a third as
    /// often, and a leader that crashed is replaced later by up to two renew intervals. Default:
    /// each.
    pub const fn look_every(mut self, renewals: NonZeroU8) -> Self {
        self.0.look_every = renewals;
        self
    }

    /// The time in which others go first when the candidate finds the lease vacant, from the first
    /// lease of an election on: at most 24 h. For a site that should lead only if no other one can.
    /// A handover to this candidate does not wait. Default: not at all.
    pub const fn defer(mut self, time: Duration) -> Self {
        self.0.defer = Span::of(time);
        self
    }

    /// The longest time that leader-only work is given to end after a resignation: at most 24 h.
    /// Default: the TTL. Replaces [`longest_stop`](Self::longest_stop).
    pub const fn drain_bound(mut self, bound: Duration) -> Self {
        self.0 = self.0.drain_within(bound);
        self
    }

    /// For a process that is killed `bound` after it is asked to stop: the [drain
    /// bound](Self::drain_bound) is the part of that time which is not needed to hand the lease
    /// back, whatever request timeout suits the store. Containers have 10 s by default; at a TTL of
    /// 15 s, stopping takes up to 18 s by default.
    ///
    /// At least two request timeouts to hand the lease back, and the stop margin (or the request
    /// timeout, if that is longer) for work whose lease expired. Replaces the drain bound.
    pub const fn longest_stop(mut self, bound: Duration) -> Self {
        self.0 = self.0.stop_within(bound);
        self
    }

    /// The time that the candidate watches a store that may have lost data before it may be granted
    /// a lease: at least the longest TTL that any candidate of this election still uses, or used
    /// until lately; at most 7 days. Default: the TTL.
    pub const fn quarantine(mut self, quarantine: Duration) -> Self {
        self.0.quarantine = Span::of(quarantine);
        self.choose(Chosen::QUARANTINE)
    }

    /// The most that a lease may end early because the store counts coarsely: at least the
    /// resolution of its clock. A candidate that starts raises it to what the store declares.
    /// Default: 1 ms.
    pub const fn granularity(mut self, granularity: Duration) -> Self {
        self.0.granularity = Span::of(granularity);
        self
    }

    /// The policy when a renewal's outcome is unknown. Default: continue to lead until the claim
    /// ends.
    pub const fn on_renew_error(mut self, policy: RenewErrorPolicy) -> Self {
        self.0.on_renew_error = policy;
        self
    }

    const fn choose(mut self, setting: Chosen) -> Self {
        self.0.chosen = self.0.chosen.and(setting);
        self
    }

    /// Checks the settings against each other.
    ///
    /// # Errors
    /// If a setting is out of its range, or if settings contradict each other: at least three
    /// attempts of a renewal must fit before a claim ends.
    pub const fn build(self) -> Result<Config, ConfigError> {
        self.0.derive().check()
    }
}

impl Config {
    pub(super) const fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Span::of(ttl);
        if !self.chosen.has(Chosen::POLL_BOUND) {
            self.poll_bound = self.ttl;
        }
        if !self.chosen.has(Chosen::DRAIN_BOUND.and(Chosen::LONGEST_STOP)) {
            self.stop = self.ttl;
        }
        if !self.chosen.has(Chosen::QUARANTINE) {
            self.quarantine = self.ttl;
        }
        self
    }

    pub(super) const fn drain_within(mut self, bound: Duration) -> Self {
        self.stop = Span::of(bound);
        self.chosen = self.chosen.without(Chosen::LONGEST_STOP).and(Chosen::DRAIN_BOUND);
        self
    }

    pub(super) const fn stop_within(mut self, bound: Duration) -> Self {
        self.stop = Span::of(bound);
        self.chosen = self.chosen.without(Chosen::DRAIN_BOUND).and(Chosen::LONGEST_STOP);
        self
    }

    /// Derives the settings that were not set.
    pub(super) const fn derive(mut self) -> Self {
        let is_coarse = nanos(self.granularity()) > nanos(self.ttl()) / 100;
        let lease =
            if is_coarse { self.ttl().saturating_sub(self.granularity()) } else { self.ttl() };
        if is_coarse && !self.chosen.has_any_of_renewals() {
            return self.leave_room_for_round_trips(lease);
        }
        if !self.chosen.has(Chosen::RENEW_INTERVAL) {
            self.renew_interval = Span::of(longer(LEAST, part(lease, 3)));
        }
        if !self.chosen.has(Chosen::REQUEST_TIMEOUT) {
            self.request_timeout = Span::of(longer(LEAST, part(lease, 10)));
        }
        if !self.chosen.has(Chosen::STOP_MARGIN) {
            self.stop_margin = Span::of(part(lease, 10));
        }
        if !self.chosen.has(Chosen::LEAST_RETRY) {
            let first = shorter(part(lease, 150), Duration::from_millis(100));
            let is_bounded = self.chosen.has(Chosen::LARGEST_RETRY);
            let first = if is_bounded { shorter(first, self.retry_most()) } else { first };
            self.retry_least = Span::of(longer(LEAST, first));
        }
        if !self.chosen.has(Chosen::LARGEST_RETRY) {
            let last = shorter(part(lease, 15), Duration::from_secs(1));
            self.retry_most = Span::of(longer(longer(LEAST, last), self.retry_least()));
        }
        self
    }

    /// A request to a coarse store takes several round trips, and little of the TTL is left:
    /// earlier renewals and shorter retries give each request more than half as long again, in the
    /// same time for three attempts.
    const fn leave_room_for_round_trips(mut self, lease: Duration) -> Self {
        self.renew_interval = Span::of(longer(LEAST, part(lease, 4)));
        self.request_timeout = Span::of(longer(LEAST, part(lease.saturating_mul(4), 25)));
        self.stop_margin = Span::of(part(lease, 10));
        self.retry_least =
            Span::of(longer(LEAST, shorter(part(lease, 150), Duration::from_millis(100))));
        self.retry_most = Span::of(longer(LEAST, shorter(part(lease, 30), Duration::from_secs(1))));
        self
    }

    pub(super) const fn poll_often(self) -> Self {
        Self { poll_bound: Span::of(longer(LEAST, part(self.ttl(), 50))), ..self }
    }

    pub(super) const fn check(self) -> Result<Self, ConfigError> {
        if let Some((setting, value, least, most)) = self.out_of_range() {
            let remedy = self.remedy_of_range(setting, least, most);
            let setting = setting.name();
            return Err(ConfigError::OutOfRange { setting, value, least, most, remedy });
        }
        if !self.has_drift_in_range() {
            let (ppm, least, most) = (self.drift_ppm, DRIFT_LEAST_PPM, DRIFT_MOST_PPM);
            let remedy = self.remedy_of_drift(least);
            return Err(ConfigError::DriftOutOfRange { ppm, least, most, remedy });
        }
        if !self.has_room_for_renewals() {
            let (needed, validity) = (self.time_for_three_attempts(), self.validity());
            let remedy = self.remedy_of_renewals();
            return Err(ConfigError::RenewalsDoNotFit { needed, validity, remedy });
        }
        Ok(self)
    }

    pub(super) const fn is_accepted(&self) -> bool {
        self.out_of_range().is_none() && self.has_drift_in_range() && self.has_room_for_renewals()
    }

    const fn has_drift_in_range(&self) -> bool {
        self.drift_ppm >= DRIFT_LEAST_PPM && self.drift_ppm <= DRIFT_MOST_PPM
    }

    const fn has_room_for_renewals(&self) -> bool {
        nanos(self.time_for_three_attempts()) <= nanos(self.validity())
    }

    /// The first setting that is out of its range: its value, the least and the most.
    const fn out_of_range(&self) -> Option<(Setting, Duration, Duration, Duration)> {
        let most_of_least = shorter(self.retry_most(), self.ttl());
        let least_retry = (Setting::RetryLeast, self.retry_least(), LEAST, most_of_least);
        let largest_retry = (Setting::RetryMost, self.retry_most(), LEAST, self.ttl());
        // A largest delay that was set bounds the least one; otherwise it follows the least one.
        let (first, second) = if self.chosen.has(Chosen::LARGEST_RETRY) {
            (largest_retry, least_retry)
        } else {
            (least_retry, largest_retry)
        };
        let ranges = [
            (Setting::Ttl, self.ttl(), TTL_LEAST, TTL_MOST),
            (Setting::Granularity, self.granularity(), GRANULARITY_LEAST, self.ttl()),
            (Setting::RenewInterval, self.renew_interval(), LEAST, self.ttl()),
            (Setting::RequestTimeout, self.request_timeout(), LEAST, self.ttl()),
            (Setting::StopMargin, self.stop_margin(), Duration::ZERO, self.ttl()),
            first,
            second,
            (Setting::PollBound, self.poll_bound(), LEAST, TTL_MOST),
            self.range_of_stop(),
            (Setting::Quarantine, self.quarantine(), self.ttl(), TTL_MOST.saturating_mul(7)),
            (Setting::Defer, self.defer(), Duration::ZERO, TTL_MOST),
        ];
        let mut i = 0;
        while i < ranges.len() {
            let (_, value, least, most) = ranges[i];
            if nanos(value) < nanos(least) || nanos(value) > nanos(most) {
                return Some(ranges[i]);
            }
            i += 1;
        }
        None
    }

    /// The drain bound or the longest stop, whichever was set: its value, the least and the most.
    const fn range_of_stop(&self) -> (Setting, Duration, Duration, Duration) {
        if !self.chosen.has(Chosen::LONGEST_STOP) {
            return (Setting::DrainBound, self.drain_bound(), Duration::ZERO, TTL_MOST);
        }
        let release = self.release_bound();
        let least = longer(self.longest_end(), self.request_timeout()).saturating_add(release);
        (Setting::LongestStop, self.stop.get(), least, TTL_MOST.saturating_add(release))
    }

    /// `max(renew interval, request timeout) + 3 x (request timeout + largest retry)`: a renewal
    /// that is due waits for the reply to the one before it.
    pub(super) const fn time_for_three_attempts(&self) -> Duration {
        longer(self.renew_interval(), self.request_timeout()).saturating_add(
            self.request_timeout().saturating_add(self.retry_most()).saturating_mul(3),
        )
    }
}

const fn part(lease: Duration, parts: u64) -> Duration {
    Duration::from_nanos(nanos(lease) / parts)
}

const fn shorter(one: Duration, other: Duration) -> Duration {
    if nanos(one) < nanos(other) { one } else { other }
}

pub(super) const fn longer(one: Duration, other: Duration) -> Duration {
    if nanos(one) > nanos(other) { one } else { other }
}

const _: () = assert!(MILLION > DRIFT_MOST_PPM as u64);
