//! The lines of one candidate.

use std::sync::Arc;

use tenure_core::Claim;

use super::line::{Ended, Line, Outcome, Who};
use super::writer::Queue;
use crate::store::Key;
use crate::{Instant, StepDownReason, Token};

/// One candidate of a log. No call waits.
#[derive(Debug)]
pub(crate) struct Recorder {
    queue: Arc<Queue>,
    who: Arc<Who>,
}

impl Recorder {
    pub(super) fn new(queue: Arc<Queue>, key: Key, name: Arc<str>) -> Self {
        let who = Arc::new(Who { id: queue.next_id(), key, name });
        Self { queue, who }
    }

    /// The claim began at `at`, the reading that the state machine decided by.
    pub(crate) fn elected(&self, at: Instant, claim: Claim) {
        let (token, until) = (claim.token(), claim.valid_until());
        self.queue.put(Line::Elected { who: self.who(), at, token, until });
    }

    pub(crate) fn renewed(&self, at: Instant, claim: Claim) {
        let (token, until) = (claim.token(), claim.valid_until());
        self.queue.put(Line::Renewed { who: self.who(), at, token, until });
    }

    pub(crate) fn stepped_down(&self, at: Instant, token: Token, reason: StepDownReason) {
        let reason = Ended::For(reason);
        self.queue.put(Line::SteppedDown { who: self.who(), at, token, reason });
    }

    /// The driver was dropped under a tenure.
    pub(crate) fn driver_gone(&self, at: Instant, token: Token) {
        let reason = Ended::DriverGone;
        self.queue.put(Line::SteppedDown { who: self.who(), at, token, reason });
    }

    pub(super) fn now(&self) -> Instant {
        self.queue.now()
    }

    pub(super) fn wrote(&self, token: Token, began: Instant, resource: Box<str>, outcome: Outcome) {
        let span = [began, self.now()];
        self.queue.put(Line::Write { who: self.who(), token, span, resource, outcome });
    }

    fn who(&self) -> Arc<Who> {
        Arc::clone(&self.who)
    }
}
