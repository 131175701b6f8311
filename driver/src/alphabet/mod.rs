//! The events and the actions of a driver.

mod action;
mod event;

pub use action::{Action, News, Outgoing, Verdict};
pub use event::{Command, DescribeOutcome, Event, InCall, Join, LostWork, Outcome, Question};

/// Names an election within its process.
pub type ElectionId = u64;

/// Names an observer within its process.
pub type ObserverId = u64;

/// Names a question of the application within its process.
pub type QuestionId = u64;

/// Names a call to the store. The calls of a driver are numbered in the order in which they leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(crate) u64);

impl CallId {
    /// The call's number, from 1.
    pub const fn get(self) -> u64 {
        self.0
    }
}
