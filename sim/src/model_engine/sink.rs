//! What leaders write to: the engine tells it what happened, and it says what came of it.

use crate::clock::True;
use crate::properties::Leader;

/// A write that arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) by: Leader,
    /// When its leader checked its leadership.
    pub(crate) checked: True,
    /// The number of that check.
    pub(crate) check: u64,
}

/// What did not hold.
#[derive(Debug)]
pub(crate) struct Accusation {
    pub(crate) property: &'static str,
    pub(crate) what: String,
}

/// Everything outside that leaders change.
pub(crate) trait Sink {
    /// A leader that has nothing under way has just found that it leads, and makes up its mind. It writes
    /// at once, or after standing still, or never.
    fn intends(&mut self, check: u64, leader: Leader);

    /// A write arrives. Says whether a resource that compares tokens accepts it.
    fn lands(&mut self, at: True, write: Write) -> bool;

    /// Looks at what it has become.
    fn verify(&self) -> Result<(), Accusation>;

    /// Looks back at the whole run.
    fn finish(&self) -> Result<(), Accusation>;
}

/// Two resources that get the same writes: one compares tokens and refuses older ones, one does not. What
/// they should have become is for the properties to say, from the trace.
#[derive(Debug, Default)]
pub(crate) struct TwinSinks {
    /// The highest token that the fenced one has accepted.
    fence: u64,
}

impl Sink for TwinSinks {
    fn intends(&mut self, _: u64, _: Leader) {}

    fn lands(&mut self, _: True, write: Write) -> bool {
        let accepted = write.by.token >= self.fence;
        self.fence = self.fence.max(write.by.token);
        accepted
    }

    fn verify(&self) -> Result<(), Accusation> {
        Ok(())
    }

    fn finish(&self) -> Result<(), Accusation> {
        Ok(())
    }
}
