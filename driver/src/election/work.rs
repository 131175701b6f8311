//! The consequences of lost work: a leader without work would keep other candidates from doing it.

use std::time::Duration;

use tenure_core::{Input, Instant, Stage, StepDownReason, Token};

use super::Election;
use crate::alphabet::{LostWork, News};
use crate::world::World;

/// The candidate's stay out of the election because its work was lost.
#[derive(Clone, Copy, Debug)]
pub(super) enum WithoutWork {
    No,
    /// It gives back what it holds, and stays out for that long afterwards.
    Leaving {
        reason: StepDownReason,
        pause: Duration,
    },
    /// From then on it campaigns again, once work is offered.
    Until(Instant),
}

/// The failures in a row that double the pause.
const DOUBLINGS: u32 = 4;

impl WithoutWork {
    /// The actual reason, if the machine gives that one.
    pub(super) const fn reason(self, reason: StepDownReason) -> StepDownReason {
        match (self, reason) {
            (Self::Leaving { reason, .. }, StepDownReason::Resigned) => reason,
            (Self::Leaving { .. } | Self::No | Self::Until(_), other) => other,
        }
    }

    /// The candidate holds nothing any more.
    pub(super) fn withdrawn(&mut self, now: Instant) {
        if let Self::Leaving { pause, .. } = *self {
            *self = Self::Until(now + pause);
        }
    }

    /// The candidate resigns as well: the longer of the two pauses counts.
    pub(super) fn holds_off(&mut self, now: Instant, hold_off: Duration) {
        match self {
            Self::No => {}
            Self::Leaving { pause, .. } => *pause = hold_off.max(*pause),
            Self::Until(at) => *at = (now + hold_off).max(*at),
        }
    }
}

impl<K> Election<K> {
    /// The next campaign of a candidate that was without work.
    pub(super) const fn campaigns_again_at(&self) -> Option<Instant> {
        match self.without_work {
            WithoutWork::Until(at) if self.is_offered_work => Some(at),
            WithoutWork::Until(_) | WithoutWork::Leaving { .. } | WithoutWork::No => None,
        }
    }

    /// Offered work was lost under that tenure, unless it was waiting for one. The candidate leaves
    /// the election: under its own tenure, or if all of it was lost.
    pub(crate) fn lost_work(
        &mut self,
        world: &mut World<K>,
        now: Instant,
        token: Option<Token>,
        how: LostWork,
        hold_off: Duration,
    ) {
        let claim = self.machine.claim(now);
        let was_under_way = claim.is_some_and(|claim| Some(claim.token()) == token);
        let concerns_all = was_under_way || !self.is_offered_work;
        let takes_part = matches!(self.without_work, WithoutWork::No) && !self.stopping;
        if !concerns_all || !takes_part {
            return;
        }
        let pause = match self.machine.stage() {
            // It gives nothing up that another candidate could take over meanwhile. A program that
            // offers and drops work in a loop must not ask the store each time.
            Stage::Campaigning | Stage::Watching { .. } => self.machine.config().retry().0,
            Stage::Out | Stage::Leading | Stage::Ending => self.pause_after(how, hold_off),
        };
        let token = claim.map(|claim| claim.token());
        self.publishes(world, News::WorkLost { token, how, pause });
        self.without_work = WithoutWork::Leaving { reason: how.reason(), pause };
        self.handle(world, now, Input::Resign { again_after: None });
    }

    /// The time to stay out.
    fn pause_after(&self, how: LostWork, hold_off: Duration) -> Duration {
        match how {
            LostWork::Dropped | LostWork::Panicked => hold_off,
            LostWork::Failed { before, thousandths } => {
                let (_, longest_retry) = self.machine.config().retry();
                let beyond = longest_beyond(hold_off, longest_retry, before);
                hold_off.saturating_add(beyond / 1_000 * thousandths.min(1_000))
            }
        }
    }

    /// The pause after a resignation; `None` for a candidate that waits for work, or stops.
    pub(super) fn again_after(&self, hold_off: Duration) -> Option<Duration> {
        match self.without_work {
            WithoutWork::No => Some(hold_off).filter(|_| !self.stopping),
            WithoutWork::Leaving { .. } | WithoutWork::Until(_) => None,
        }
    }
}

/// Work that fails again and again returns ever later, at a random time within this bound after the
/// hold-off: where all processes fail alike, they must not take turns at the rate of the hold-off.
fn longest_beyond(hold_off: Duration, longest_retry: Duration, failures_before: u32) -> Duration {
    hold_off.max(longest_retry).saturating_mul(1 << failures_before.min(DOUBLINGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_bound() {
        let (second, retry) = (Duration::from_secs(1), Duration::from_millis(500));
        let bounds = [0, 1, 3, 4, 5, u32::MAX].map(|before| longest_beyond(second, retry, before));
        assert_eq!(bounds, [1, 2, 8, 16, 16, 16].map(Duration::from_secs));
        assert_eq!(longest_beyond(Duration::ZERO, retry, 1), second, "also without a hold-off");
        assert_eq!(longest_beyond(Duration::MAX, retry, 9), Duration::MAX);
    }
}
