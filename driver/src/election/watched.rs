//! The work of a tenure that is watched, and what its silence means.

use std::time::Duration;

use tenure_core::{Input, Instant, StepDownReason, Token};

use super::Election;
use crate::alphabet::{Action, News};
use crate::world::World;

/// The watched work of the present tenure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Watched {
    /// There is none.
    #[default]
    No,
    /// It has to give its next sign of life by then, as far as is known.
    Until(Instant),
    /// The shell looks whether it has given one.
    Looks,
    /// The lead is being given up because it is silent.
    Silent,
}

impl Watched {
    pub(super) const fn deadline(self) -> Option<Instant> {
        match self {
            Self::Until(due) => Some(due),
            Self::No | Self::Looks | Self::Silent => None,
        }
    }

    /// The actual reason, if the machine gives that one.
    pub(super) const fn reason(self, reason: StepDownReason) -> StepDownReason {
        match (self, reason) {
            (Self::Silent, StepDownReason::Resigned) => StepDownReason::Unresponsive,
            (Self::Silent | Self::No | Self::Until(_) | Self::Looks, other) => other,
        }
    }
}

impl<K> Election<K> {
    /// Watched work may be silent: signs of life are no events, so the shell has to look.
    pub(super) fn look_at_work(&mut self, world: &mut World<K>, now: Instant) {
        if self.watched.deadline().is_some_and(|due| due <= now) {
            self.watched = Watched::Looks;
            world.acts(Action::LookAtWork(self.id));
        }
    }

    /// The time of the first sign of life that is due of the watched work. The work of any other
    /// tenure than the present one has lost the lead already.
    pub(crate) fn work_is_due(
        &mut self,
        world: &mut World<K>,
        now: Instant,
        token: Token,
        due: Option<Instant>,
        hold_off: Duration,
    ) {
        let is_present = self.machine.claim(now).is_some_and(|claim| claim.token() == token);
        let input = match (self.watched, due) {
            _ if !is_present => Input::Wake,
            (Watched::Silent, _) => Input::Wake,
            (_, Some(due)) if due <= now => {
                self.watched = Watched::Silent;
                self.publishes(world, News::WorkSilent(token));
                Input::Resign { again_after: Some(hold_off) }
            }
            (_, due) => {
                self.watched = due.map_or(Watched::No, Watched::Until);
                Input::Wake
            }
        };
        self.handle(world, now, input);
    }
}
