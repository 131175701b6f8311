//! From a tenure's times to the deadlines of the command.

use std::time::Duration;

use tenure::{Config, Instant};

use crate::exit::Failure;
use crate::guard::{Deadlines, deadlines};

/// The times of one candidate that decide when its command ends.
///
/// **Why the command is gone in time**: while a tenure holds, and while its work drains, no other
/// candidate can be granted the lease before [`Tenure::drain_until`](tenure::Tenure::drain_until),
/// by this host's boot clock, under the assumption on the rates of clocks that the library states.
/// `kill_at` is a stop margin before that (while the tenure holds, it is the end of the claim), and
/// `hard_at` half a margin. All of them are instants of that clock, and don't move by themselves: a
/// guard that is told a deadline needs to know nothing else.
///
/// **Not guaranteed**: that the kernel carries out a kill within half a stop margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    margin: Duration,
    /// The time between the request to end and the kill, when the lease is not renewed.
    grace: Duration,
}

/// The kernel has to end processes within half of it, also on a host under load.
const MARGIN_LEAST: Duration = Duration::from_millis(100);

/// The command's time to end after SIGTERM, if neither an option nor a variable says so.
const GRACE: Duration = Duration::from_secs(10);
/// A lease is kept for a day at most for the work of a leader that hands it over.
const GRACE_MOST: Duration = Duration::from_secs(12 * 3_600);

/// The stop grace, which holds at a handover too.
///
/// # Errors
/// If a bound that was set leaves less than was asked for.
pub(super) fn stop_grace(
    config: &Config,
    asked: Option<Duration>,
    bound_set_by: Option<&str>,
) -> Result<Duration, Failure> {
    let left = config.drain_bound().saturating_sub(config.stop_margin());
    let (most, remedy) = match bound_set_by {
        Some(name) => (left, format!(" under {name}: leave {name} out, or set --stop-grace to")),
        None => (GRACE_MOST, ": set it to".to_owned()),
    };
    // Without an option, a shorter bound holds at handovers alone.
    let grace = asked.unwrap_or(GRACE);
    if asked.is_some() && grace > most {
        let millis = most.as_millis();
        return Err(Failure::usage(format!(
            "--stop-grace is {grace:?}, and the most is {most:?}{remedy} {millis}ms"
        )));
    }
    Ok(grace)
}

impl Limits {
    /// # Errors
    /// If the stop margin leaves no time to kill a process.
    pub(super) fn new(config: &Config, stop_grace: Duration) -> Result<Self, Failure> {
        let margin = config.stop_margin();
        if margin < MARGIN_LEAST {
            return Err(Failure::usage(format!(
                "the stop margin is {margin:?}, and a command needs at least {MARGIN_LEAST:?} to be killed in: set \
                 TENURE_STOP_MARGIN to {MARGIN_LEAST:?}, or a longer TENURE_TTL"
            )));
        }
        // A healthy leader renews long before it must. The command is asked to end once two
        // attempts have failed.
        let (_, longest_retry) = config.retry();
        let patience = config.renew_interval() + (config.request_timeout() + longest_retry) * 2;
        let left = config.validity().saturating_sub(patience);
        Ok(Self { margin, grace: stop_grace.min(left) })
    }

    /// The settings with which a handover waits for the command's stop grace, and its kill.
    pub(super) fn with_time_for(
        self,
        stop_grace: Duration,
        chosen: &Config,
    ) -> Result<Config, Failure> {
        let bound = chosen.drain_bound().max(stop_grace + self.margin);
        chosen.to_builder().drain_bound(bound).build().map_err(Failure::usage)
    }

    /// For a lease that no other candidate can be granted before `lease_end`.
    pub(super) fn until(self, lease_end: Instant) -> Deadlines {
        deadlines(lease_end, self.margin, self.grace)
    }

    /// The supervisor's time to kill a group that the guard has not killed: before the kernel kills
    /// the guard.
    pub(super) fn guard_is_late_at(self, until: Deadlines) -> Instant {
        until.kill_at + self.margin / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grace_leaves_room_for_two_failed_renewals() {
        let limits = Limits::new(&Config::normal(), Duration::from_secs(10)).unwrap();
        assert_eq!(limits.margin, Duration::from_millis(1_500));
        assert!(limits.grace > Duration::from_secs(3), "{limits:?}");
        assert!(limits.grace < Duration::from_millis(3_300), "{limits:?}");
        let short = Limits::new(&Config::normal(), Duration::from_secs(1)).unwrap();
        assert_eq!(short.grace, Duration::from_secs(1));
    }

    #[test]
    fn the_deadlines_are_in_order_before_the_end() {
        let limits = Limits::new(&Config::normal(), Duration::from_secs(2)).unwrap();
        let end = Instant::from_nanos(60_000_000_000);
        let until = limits.until(end);
        let late = limits.guard_is_late_at(until);
        let order = [until.term_at, until.kill_at, late, until.hard_at, end];
        assert!(order.is_sorted() && until.kill_at < late && late < until.hard_at, "{order:?}");
    }

    #[test]
    fn a_grace_beyond_a_bound_is_refused() {
        let secs = Duration::from_secs;
        let of = |config: &Config, asked, by| {
            stop_grace(config, asked, by).map_err(|error| error.to_string())
        };
        let normal = Config::normal();
        assert_eq!(of(&normal, None, None), Ok(secs(10)));
        assert_eq!(of(&normal, Some(secs(60)), None), Ok(secs(60)));
        let limits = Limits::new(&normal, secs(60)).unwrap();
        let longer = limits.with_time_for(secs(60), &normal).unwrap();
        assert_eq!(longer.drain_bound(), Duration::from_millis(61_500));
        let refused = of(&normal, Some(secs(24 * 3_600)), None).unwrap_err();
        assert!(refused.ends_with("the most is 43200s: set it to 43200000ms"), "{refused}");

        let short = normal.to_builder().drain_bound(secs(5)).build().unwrap();
        let by = Some("TENURE_DRAIN_BOUND");
        assert_eq!(of(&short, None, by), Ok(secs(10)));
        let refused = of(&short, Some(secs(4)), by).unwrap_err();
        assert_eq!(
            refused,
            "--stop-grace is 4s, and the most is 3.5s under TENURE_DRAIN_BOUND: leave TENURE_DRAIN_BOUND out, or set \
             --stop-grace to 3500ms"
        );
    }

    #[test]
    fn a_margin_without_time_to_kill_is_refused() {
        let config = Config::builder(Duration::from_secs(15)).stop_margin(Duration::ZERO).build();
        let refused = Limits::new(&config.unwrap(), Duration::ZERO).unwrap_err().to_string();
        assert!(refused.contains("set TENURE_STOP_MARGIN to 100ms"), "{refused}");
    }
}
