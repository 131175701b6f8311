//! The settings of a candidate, and what follows from them.

mod builder;
mod chosen;
mod error;
mod explain;
mod remedy;
mod setting;

pub use builder::ConfigBuilder;
pub use error::ConfigError;
pub use explain::Explanation;
pub use remedy::Remedy;

use core::num::NonZeroU8;
use core::time::Duration;

use self::chosen::Chosen;
use crate::time::{Instant, Span, nanos};

/// One million: drift bounds are given in parts of it.
const MILLION: u64 = 1_000_000;
/// The TTL of the default settings.
const TTL_NORMAL: Duration = Duration::from_secs(15);

/// A candidate's policy when the outcome of a renewal is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum RenewErrorPolicy {
    /// Continue to lead, and retry, until the claim ends by itself: no other candidate can be
    /// granted the lease before.
    #[default]
    KeepUntilExpiry,
    /// Step down at the first renewal whose outcome is unknown.
    StepDown,
}

/// The settings of a candidate. Every value of this type is valid: [`ConfigBuilder::build`] is the
/// only way to make one, and the presets are checked when this crate is compiled.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::Config;
///
/// let config = Config::builder(Duration::from_secs(30)).longest_stop(Duration::from_secs(10)).build()?;
/// assert_eq!(config.renew_interval(), Duration::from_secs(10));
/// println!("{}", config.explain()); // what follows from them
/// # Ok::<(), tenure_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    ttl: Span,
    renew_interval: Span,
    request_timeout: Span,
    stop_margin: Span,
    pub(crate) drift_ppm: u32,
    retry_least: Span,
    retry_most: Span,
    poll_bound: Span,
    /// The drain bound; or the longest stop, if that was chosen.
    stop: Span,
    quarantine: Span,
    granularity: Span,
    round_trips: u8,
    look_every: NonZeroU8,
    defer: Span,
    server_ends_leases: bool,
    pub(crate) on_renew_error: RenewErrorPolicy,
    chosen: Chosen,
}

impl Config {
    /// Starts from the defaults for a lease of that length.
    pub const fn builder(ttl: Duration) -> ConfigBuilder {
        ConfigBuilder::new(ttl)
    }

    /// TTL 5 s: a crashed leader is replaced within about 5 s; pauses of up to a second cost no
    /// lead.
    pub const fn fast_failover() -> Self {
        const { preset(ConfigBuilder::new(Duration::from_secs(5))) }
    }

    /// TTL 15 s, the default.
    pub const fn normal() -> Self {
        const { preset(ConfigBuilder::new(TTL_NORMAL)) }
    }

    /// TTL 60 s: rides out long outages of the network, and takes a minute to notice a crash.
    pub const fn unreliable_network() -> Self {
        const { preset(ConfigBuilder::new(Duration::from_secs(60))) }
    }

    /// The same settings for a store whose clock ends leases up to `granularity` early. Settings
    /// that were not set are derived from the rest of the TTL, so the presets suit coarse stores
    /// too.
    ///
    /// # Errors
    /// If the rest of the TTL is too short for the renewals as they were set.
    #[doc(hidden)]
    pub const fn with_granularity(self, granularity: Duration) -> Result<Self, ConfigError> {
        Self { granularity: Span::of(granularity), ..self }.derive().check()
    }

    /// The same settings for a store some of whose requests take so many round trips, 1 at least.
    /// It changes nothing but [`Explanation::longest_round_trip`].
    #[doc(hidden)]
    #[must_use]
    pub const fn with_round_trips(self, round_trips: u8) -> Self {
        Self { round_trips: if round_trips == 0 { 1 } else { round_trips }, ..self }
    }

    /// The same settings for a store whose server ends leases itself, by its own clock. A lease
    /// that it keeps can't be taken, however long it was watched.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_leases_ended_by_server(self, ends: bool) -> Self {
        Self { server_ends_leases: ends, ..self }
    }

    /// The same settings for a store without hints. Unless it was set, the poll bound is then a
    /// fiftieth of the TTL, since only polling finds a release.
    #[doc(hidden)]
    #[must_use]
    pub const fn without_hints(self) -> Self {
        if self.chosen.has(Chosen::POLL_BOUND) { self } else { self.poll_often() }
    }

    /// The same settings, to change some of them, also those of a preset. What was not set follows
    /// from the TTL again.
    pub const fn to_builder(self) -> ConfigBuilder {
        ConfigBuilder::of(self)
    }

    /// The time that another candidate must watch the lease, without a renewal, before it may take
    /// it.
    pub const fn ttl(&self) -> Duration {
        self.ttl.get()
    }

    /// The time from sending one renewal to sending the next.
    pub const fn renew_interval(&self) -> Duration {
        self.renew_interval.get()
    }

    /// The longest wait for a reply.
    pub const fn request_timeout(&self) -> Duration {
        self.request_timeout.get()
    }

    /// The least time from the claim's end to the lease's end at the store.
    pub const fn stop_margin(&self) -> Duration {
        self.stop_margin.get()
    }

    /// The largest error of any clock's rate, in parts per million.
    pub const fn drift_ppm(&self) -> u32 {
        self.drift_ppm
    }

    /// The bounds of the random delay before another attempt.
    pub const fn retry(&self) -> (Duration, Duration) {
        (self.retry_least(), self.retry_most())
    }

    pub(crate) const fn retry_least(&self) -> Duration {
        self.retry_least.get()
    }

    pub(crate) const fn retry_most(&self) -> Duration {
        self.retry_most.get()
    }

    /// At which of a leader's renewals a waiting candidate looks: each, each second, and so on.
    pub const fn look_every(&self) -> NonZeroU8 {
        self.look_every
    }

    /// The longest time between two attempts of a waiting candidate.
    pub const fn poll_bound(&self) -> Duration {
        self.poll_bound.get()
    }

    /// The longest time that leader-only work is given to end after a resignation.
    pub const fn drain_bound(&self) -> Duration {
        if self.chosen.has(Chosen::LONGEST_STOP) {
            self.stop.get().saturating_sub(self.release_bound())
        } else {
            self.stop.get()
        }
    }

    /// The time that the candidate watches a store that may have lost data before it may be granted
    /// a lease.
    pub const fn quarantine(&self) -> Duration {
        self.quarantine.get()
    }

    /// The time in which others go first at a vacancy.
    pub const fn defer(&self) -> Duration {
        self.defer.get()
    }

    /// For how long a lease that is handed over is kept for the candidate that asked for it.
    pub(crate) fn reserve(&self) -> Duration {
        self.ttl() / 5
    }

    /// The most that a lease may end early because the store counts coarsely.
    pub const fn granularity(&self) -> Duration {
        self.granularity.get()
    }

    /// The validity of a claim, from the sending of the request that won it, on the candidate's own
    /// clock: `(ttl - g) * (1 - rho) / (1 + rho) - stop margin`, rounded down.
    ///
    /// With the rate of every candidate's clock within `1 - rho ..= 1 + rho`, nobody has watched
    /// the lease for its TTL before `(ttl - g) / (1 + rho)` of true time after the sending, and no
    /// candidate's clock takes longer than that to count `(ttl - g) * (1 - rho) / (1 + rho)`.
    pub const fn validity(&self) -> Duration {
        Duration::from_nanos(nanos(self.countable()).saturating_sub(nanos(self.stop_margin())))
    }

    /// The part of the TTL that a candidate can count on, whatever the clocks do within the drift
    /// bound.
    #[allow(clippy::cast_possible_truncation, reason = "the quotient is at most the TTL")]
    const fn countable(&self) -> Duration {
        let lasts = nanos(self.ttl()).saturating_sub(nanos(self.granularity())) as u128;
        let rho = self.drift_ppm as u128;
        let million = MILLION as u128;
        Duration::from_nanos((lasts * (million - rho) / (million + rho)) as u64)
    }

    /// The end of a claim that was won by a request sent at `sent_at`.
    pub(crate) fn valid_until(&self, sent_at: Instant) -> Instant {
        sent_at + self.validity()
    }

    /// The time until a look that finds the next renewal, if the last one was that long ago: a
    /// little later than it should come. An age above the renew interval is none: it comes from
    /// another clock.
    pub(crate) fn look_interval(&self, age: Duration) -> Duration {
        let interval = self.renew_interval();
        let known = if age <= interval { age } else { Duration::ZERO };
        let lag = (interval / 100).min(Duration::from_millis(10));
        (interval * u32::from(self.look_every.get())).saturating_sub(known) + lag
    }

    /// The first pause after a look that found no renewal.
    pub(crate) fn first_overdue(&self) -> Duration {
        (self.renew_interval() / 50).min(Duration::from_millis(100))
    }

    pub(crate) const fn server_ends_leases(&self) -> bool {
        self.server_ends_leases
    }

    /// The time for attempts of a release.
    pub(crate) const fn release_bound(&self) -> Duration {
        self.request_timeout().saturating_mul(2)
    }

    /// The longest random delay before a waiting candidate asks for a lease that it has watched for
    /// long enough.
    #[doc(hidden)]
    pub fn takeover_jitter(&self) -> Duration {
        (self.ttl() / 1_000).min(Duration::from_millis(5))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::normal()
    }
}

const fn preset(builder: ConfigBuilder) -> Config {
    match builder.build() {
        Ok(config) => config,
        Err(_) => panic!("a preset fails its own validation"),
    }
}
