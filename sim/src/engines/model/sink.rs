//! What leaders write to: the engine tells it what happened, and it says what came of it.

use crate::judge::properties::{Leader, PropertyName};
use crate::plan::SimTime;

/// What a leader does to a resource that compares tokens, decided when it checks its leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It has not seen its own token there: it takes the resource over, and reads nothing yet.
    TakesOver,
    /// It has, so it reads, and writes later what follows from that.
    Writes,
    /// It reads without having taken the resource over, and its write does both: the control.
    ReadsFirst,
}

/// The step of a leader that finds that token there.
pub(crate) fn step(fence: u64, token: u64, reads_first: bool) -> Step {
    match (reads_first, fence == token) {
        (true, _) => Step::ReadsFirst,
        (false, true) => Step::Writes,
        (false, false) => Step::TakesOver,
    }
}

impl Step {
    /// Whether a resource that holds that token accepts it. If so, it holds this one from now on.
    pub(crate) fn is_accepted(self, fence: u64, token: u64) -> bool {
        match self {
            Self::TakesOver | Self::ReadsFirst => token >= fence,
            Self::Writes => token == fence,
        }
    }
}

/// A write that arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) by: Leader,
    pub(crate) step: Step,
    /// When its leader checked its leadership, and read.
    pub(crate) checked: SimTime,
    /// The number of that check.
    pub(crate) check: u64,
}

/// What did not hold.
#[derive(Debug)]
pub(crate) struct Accusation {
    pub(crate) property: PropertyName,
    pub(crate) what: String,
}

/// Everything outside that leaders change.
pub(crate) trait Sink {
    /// The token that the resource which compares tokens holds.
    fn fence(&self) -> u64;

    /// A leader that has nothing under way has just found that it leads, and makes up its mind. It writes
    /// at once, or after a pause, or never.
    fn intends(&mut self, check: u64, leader: Leader);

    /// A write arrives. Says whether a resource that compares tokens accepts it.
    fn lands(&mut self, at: SimTime, write: Write) -> bool;

    /// Looks at what it has become.
    fn verify(&self) -> Result<(), Accusation>;

    /// Looks back at the whole run.
    fn finish(&self) -> Result<(), Accusation>;
}

/// Two resources that get the same writes: one compares tokens, one does not. What they should have become is
/// for the properties to say, from the trace.
///
/// The one that compares is taken over first. It accepts a take-over with a token of at least the stored one, and
/// a write with the stored token alone.
#[derive(Debug, Default)]
pub(crate) struct TwinSinks {
    /// The token of the last take-over that was accepted.
    fence: u64,
}

impl Sink for TwinSinks {
    fn fence(&self) -> u64 {
        self.fence
    }

    fn intends(&mut self, _: u64, _: Leader) {}

    fn lands(&mut self, _: SimTime, write: Write) -> bool {
        let accepted = write.step.is_accepted(self.fence, write.by.token);
        if accepted {
            self.fence = write.by.token;
        }
        accepted
    }

    fn verify(&self) -> Result<(), Accusation> {
        Ok(())
    }

    fn finish(&self) -> Result<(), Accusation> {
        Ok(())
    }
}
