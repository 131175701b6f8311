//! The work of a tenure that is watched, and what its silence means.

use std::sync::Arc;

use super::Election;
use crate::logging::{self, LIFE};
use crate::watchdog::WatchedWork;
use crate::{Instant, StepDownReason, Token};

/// The watched work of the present tenure, if there is any.
#[derive(Default)]
pub(super) struct Watched(Option<Box<Watch>>);

#[derive(Default)]
struct Watch {
    work: Vec<Arc<WatchedWork>>,
    /// The lead is being given up because some of it is silent.
    is_silent: bool,
}

impl Watched {
    fn add(&mut self, work: Arc<WatchedWork>) {
        let watch = self.0.get_or_insert_default();
        watch.work.retain(|one| one.due_at().is_some());
        watch.work.push(work);
    }

    /// The first due time of its calls.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.as_ref()?.work.iter().filter_map(|one| one.due_at()).min()
    }

    fn is_silent(&self) -> bool {
        self.0.as_ref().is_some_and(|watch| watch.is_silent)
    }

    /// The actual reason, if the machine gives that one.
    pub(super) fn reason(&self, reason: StepDownReason) -> StepDownReason {
        match reason {
            StepDownReason::Resigned if self.is_silent() => StepDownReason::Unresponsive,
            other => other,
        }
    }
}

impl Election {
    /// Watches work of the present tenure. The work of any other tenure has lost the lead already.
    pub(in super::super) fn watch_work(
        &mut self,
        now: Instant,
        token: Token,
        work: Arc<WatchedWork>,
    ) {
        if self.machine.claim(now).is_some_and(|claim| claim.token() == token) {
            self.watched.add(work);
        }
    }

    /// True if the tenure has to be resigned because its work is silent.
    pub(super) fn gives_up_silent_work(&mut self, now: Instant) -> bool {
        if self.watched.is_silent() || self.watched.deadline().is_none_or(|due| now < due) {
            return false;
        }
        let Some(claim) = self.machine.claim(now) else { return false };
        let (key, hold_off) = (&self.shared.key, self.shared.settings.chosen.hold_off);
        logging::warn!(
            target: LIFE, ?key, token = %claim.token(), ?hold_off,
            "the leader's work did not call alive() within the bound of its watchdog: resigning, and campaigning \
             again when the work has ended and the hold-off is over"
        );
        if let Some(watch) = &mut self.watched.0 {
            watch.is_silent = true;
        }
        true
    }
}
