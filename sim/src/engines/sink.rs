//! The resources to which leaders write: the engine passes in checks and writes, and a sink
//! accepts, refuses and verifies them.

use crate::judge::properties::{Leader, PropertyName};
use crate::plan::SimTime;

/// A leader's action on a resource that compares tokens. It is chosen when the leader checks its
/// leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The resource does not have the leader's token: the leader takes it over, and reads nothing
    /// yet.
    TakesOver,
    /// The resource has the leader's token: the leader reads, and later writes a result that
    /// depends on the reading.
    Writes,
    /// The leader reads without having taken the resource over, and its write also takes it over:
    /// the control.
    ReadsFirst,
}

/// The action of a leader that finds that token at the resource.
pub(crate) fn step(fence: u64, token: u64, reads_first: bool) -> Step {
    match (reads_first, fence == token) {
        (true, _) => Step::ReadsFirst,
        (false, true) => Step::Writes,
        (false, false) => Step::TakesOver,
    }
}

impl Step {
    /// True if a resource with that token accepts it. If so, the resource has the leader's token
    /// from now on.
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
    /// The time at which its leader checked its leadership, and read.
    pub(crate) checked: SimTime,
    /// The number of that check.
    pub(crate) check: u64,
}

/// A violation that a sink has found.
#[derive(Debug)]
pub(crate) struct Accusation {
    pub(crate) property: PropertyName,
    pub(crate) what: String,
}

/// Every resource that leaders change.
pub(crate) trait Sink {
    /// The token of the resource that compares tokens.
    fn fence(&self) -> u64;

    /// A leader without a write under way has just found that it leads, and chooses its next write.
    /// It writes at once, or after a pause, or never.
    fn intends(&mut self, check: u64, leader: Leader);

    /// A write arrives. Returns whether a resource that compares tokens accepts it.
    fn lands(&mut self, at: SimTime, write: Write) -> bool;

    /// Verifies the present state.
    fn verify(&self) -> Result<(), Accusation>;

    /// Verifies the whole run at its end.
    fn finish(&self) -> Result<(), Accusation>;
}

/// Two resources that get the same writes: one compares tokens, one does not. The properties verify
/// both from the trace.
///
/// The resource that compares tokens is taken over first. It accepts a take-over with a token of at
/// least the stored one, and otherwise only a write with the stored token.
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
