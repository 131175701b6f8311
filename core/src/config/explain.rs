//! Figures that follow from the settings, for operators to plan with.

use core::fmt;
use core::time::Duration;

use super::{Config, MILLION, RenewErrorPolicy};
use crate::time::nanos;

/// The expected behaviour of a [`Config`]. Durations are on the candidate's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The validity of a claim, from the sending of the request that won it.
    pub validity: Duration,
    /// The longest time from a leader's crash to its successor's election, with a reachable store
    /// that lost nothing.
    pub worst_case_failover: Duration,
    /// The same if the store lost its data at the worst moment.
    pub worst_case_failover_after_store_loss: Duration,
    /// The number of attempts of a renewal before a claim ends if each of them takes as long as it
    /// can.
    pub renewal_attempts: u32,
    /// The longest pause of the process that never costs the lead.
    pub largest_pause: Duration,
    /// The longest time without any message between leader and store that never costs the lead.
    pub longest_cut: Duration,
    /// The longest round trip to the store with which each request is answered in time, once there
    /// is a connection: the request timeout, shared by the round trips that a request takes.
    pub longest_round_trip: Duration,
    /// The most that the leader's clock may be set back or be stopped, and a waiting candidate's be
    /// set forward, once in the life of a claim, without a second leader, if all rates keep the
    /// drift bound. It is the stop margin: the part that a jump uses up is missing for writes under
    /// way.
    pub clock_jump_tolerated: Duration,
    /// The error of a clock's rate, in parts per million, up to which single leadership holds. It
    /// is above the drift bound by what the stop margin buys.
    pub drift_tolerated_ppm: u32,
    /// Store commands a minute of a leader without faults, rounded up.
    pub leader_commands_per_minute: u32,
    /// Store commands a minute of a waiting candidate without faults, rounded up, at the most.
    pub standby_commands_per_minute: u32,
    /// The longest time that stopping takes, whatever the network does.
    pub longest_stop: Duration,
}

impl Config {
    /// The figures that follow from these settings.
    pub fn explain(&self) -> Explanation {
        let slow_try = self.request_timeout() + self.retry_most();
        let look = self.look_interval(Duration::ZERO);
        let longest_watch = self.on_slowest_clock(look + self.ttl().max(self.quarantine()));
        let failover =
            longest_watch + slow_try + self.takeover_jitter() + self.on_slowest_clock(self.defer());
        // A renewal that is due waits for the reply to the one before it.
        let first_try = self.renew_interval().max(self.request_timeout());
        let spare = self.validity().saturating_sub(first_try);
        let wait = look.min(self.poll_bound());
        Explanation {
            validity: self.validity(),
            worst_case_failover: failover,
            worst_case_failover_after_store_loss: failover + longest_watch,
            renewal_attempts: count(spare, slow_try),
            // The pause may begin just before a reply, cost that try, and be followed by the
            // longest delay and a slow second try.
            largest_pause: spare.saturating_sub(slow_try + self.request_timeout()),
            // The cut may begin just before a reply, as a pause may, and end just after a request
            // that it still loses: that is one slow attempt more.
            longest_cut: spare.saturating_sub(slow_try + self.request_timeout() * 2),
            longest_round_trip: self.request_timeout() / u32::from(self.round_trips),
            clock_jump_tolerated: self.stop_margin(),
            drift_tolerated_ppm: self.drift_tolerated_ppm(),
            leader_commands_per_minute: per_minute(self.renew_interval()),
            standby_commands_per_minute: per_minute(wait),
            longest_stop: self.drain_bound().max(self.longest_end()).max(self.request_timeout())
                + self.release_bound(),
        }
    }

    /// The longest drain after an end other than a resignation: a stop at that time waits for it.
    pub(super) const fn longest_end(&self) -> Duration {
        match self.on_renew_error {
            RenewErrorPolicy::KeepUntilExpiry => self.stop_margin(),
            // The claim may have been at its beginning.
            RenewErrorPolicy::StepDown => self.countable(),
        }
    }

    /// `duration / (1 - rho)`: the longest true time that a candidate's clock takes to count it.
    #[allow(clippy::cast_possible_truncation, reason = "a week in nanoseconds is far below 2^63")]
    fn on_slowest_clock(&self, duration: Duration) -> Duration {
        let million = u128::from(MILLION);
        let slowest = million - u128::from(self.drift_ppm);
        Duration::from_nanos((u128::from(nanos(duration)) * million / slowest) as u64)
    }

    /// Solves `validity = (ttl - g) * (1 - r) / (1 + r)` for `r`, rounded down.
    #[allow(clippy::cast_possible_truncation, reason = "at most one million")]
    fn drift_tolerated_ppm(&self) -> u32 {
        let lasts = u128::from(nanos(self.ttl().saturating_sub(self.granularity())));
        let valid = u128::from(nanos(self.validity()));
        ((lasts - valid) * u128::from(MILLION) / (lasts + valid)) as u32
    }
}

#[allow(clippy::cast_possible_truncation, reason = "clamped")]
fn count(span: Duration, each: Duration) -> u32 {
    (nanos(span) / nanos(each).max(1)).min(u64::from(u32::MAX)) as u32
}

#[allow(clippy::cast_possible_truncation, reason = "clamped")]
fn per_minute(every: Duration) -> u32 {
    nanos(Duration::from_secs(60)).div_ceil(nanos(every).max(1)).min(u64::from(u32::MAX)) as u32
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "a claim is valid for               {:?}", self.validity)?;
        writeln!(f, "worst-case failover                {:?}", self.worst_case_failover)?;
        writeln!(
            f,
            "worst-case failover, store lost    {:?}",
            self.worst_case_failover_after_store_loss
        )?;
        writeln!(f, "renewal attempts that fit          {}", self.renewal_attempts)?;
        writeln!(f, "largest pause that costs no lead   {:?}", self.largest_pause)?;
        writeln!(f, "longest cut that costs no lead     {:?}", self.longest_cut)?;
        writeln!(f, "longest round trip to the store    {:?}", self.longest_round_trip)?;
        writeln!(f, "clock jump tolerated               {:?}", self.clock_jump_tolerated)?;
        writeln!(f, "drift tolerated                    {} ppm", self.drift_tolerated_ppm)?;
        writeln!(f, "leader, store commands a minute    {}", self.leader_commands_per_minute)?;
        writeln!(f, "standby, store commands a minute   {}", self.standby_commands_per_minute)?;
        write!(f, "longest stop                       {:?}", self.longest_stop)
    }
}
