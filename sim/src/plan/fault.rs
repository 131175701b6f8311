//! The faults of a run: their kinds, their beginnings, and their durations.

use serde::{Deserialize, Serialize};

use super::{FaultKind, ProcessFault, What};

/// One fault.
///
/// It ends after `for_ms`, and at the latest just before the recovery phase begins. A fault that
/// lasts, and would begin less than a millisecond before the recovery phase, does not happen. A
/// fault of one moment, such as a broken connection, has no duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Its beginning.
    pub when: When,
    /// Its duration, in milliseconds of true time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub for_ms: u64,
    /// The fault itself.
    pub what: What,
}

/// The beginning of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// At that time, in milliseconds of true time since the run began.
    AtMs(u64),
    /// At a point that a run reaches.
    On(Trigger),
}

/// An occurrence in a run at which a fault begins. Each trigger fires once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    /// The point that is reached.
    pub point: Point,
    /// The node that reaches it; any node, if `None`.
    pub node: Option<usize>,
    /// The kind of request, if the point is about a request; any kind, if `None`.
    pub of: Option<RequestKind>,
    /// The number of the occurrence, counted from one.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub nth: u32,
    /// Earlier occurrences are not counted: milliseconds of true time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after_ms: u64,
}

/// A point that a run reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// A node has decided to send a request, and has not sent it.
    Send,
    /// A node has just sent a request.
    Sent,
    /// A reply has reached a node, and its process has not read it.
    Reply,
    /// A leader has checked its leadership, and has not written.
    Guard,
    /// The store has just begun a new tenure.
    Grant,
    /// A node has just begun to lead.
    Leads,
}

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "as in `tenure_core::Request`")]
pub enum RequestKind {
    Acquire,
    Look,
    Renew,
    Release,
}

impl Fault {
    /// Its kind.
    pub const fn kind(&self) -> FaultKind {
        match (self.what, self.when) {
            (What::Process { fault: ProcessFault::Pause, .. }, When::On(trigger)) => {
                trigger.point.pause()
            }
            (what, _) => what.kind(),
        }
    }

    /// The node that it names.
    pub const fn node(&self) -> Option<usize> {
        self.what.node()
    }

    /// The earliest time at which it can begin, in milliseconds of true time.
    pub const fn from_ms(&self) -> u64 {
        match self.when {
            When::AtMs(at_ms) => at_ms,
            When::On(trigger) => trigger.after_ms,
        }
    }
}

impl Point {
    /// The points at which a pause is of a kind of its own.
    pub(super) const OF_PAUSES: [Self; 4] = [Self::Guard, Self::Send, Self::Sent, Self::Reply];

    /// The kind of a pause that begins there.
    pub(super) const fn pause(self) -> FaultKind {
        match self {
            Self::Guard => FaultKind::PauseAtGuard,
            Self::Send => FaultKind::PauseAtSend,
            Self::Sent => FaultKind::PauseAfterSend,
            Self::Reply => FaultKind::PauseAtReply,
            Self::Grant | Self::Leads => FaultKind::Pause,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

const fn first() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_first(nth: &u32) -> bool {
    *nth == 1
}
