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
    /// How long before it is killed the command is asked to end, when the lease is not renewed.
    grace: Duration,
}

/// The kernel has to end processes within half of it, also on a host under load.
const MARGIN_LEAST: Duration = Duration::from_millis(100);

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

    /// For a lease that no other candidate can be granted before `lease_end`.
    pub(super) fn until(self, lease_end: Instant) -> Deadlines {
        deadlines(lease_end, self.margin, self.grace)
    }

    /// When the supervisor kills a group that the guard has not killed: before the kernel kills the
    /// guard.
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
    fn a_margin_without_time_to_kill_is_refused() {
        let config = Config::builder(Duration::from_secs(15)).stop_margin(Duration::ZERO).build();
        let refused = Limits::new(&config.unwrap(), Duration::ZERO).unwrap_err().to_string();
        assert!(refused.contains("set TENURE_STOP_MARGIN to 100ms"), "{refused}");
    }
}
