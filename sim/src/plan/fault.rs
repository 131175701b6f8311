//! The faults of a run: their kinds, their beginnings, and their durations.

use serde::{Deserialize, Serialize};

use super::{Act, FaultKind};

/// One fault.
///
/// It ends after `for_ms`, and at the latest just before the recovery phase begins. A fault that lasts, and would begin
/// less than a millisecond before the recovery phase, does not happen. A fault of one moment, such as a broken
/// connection, has no duration.
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
    /// When a run reaches a point.
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
    pub of: Option<Asking>,
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
pub enum Asking {
    Acquire,
    Renew,
    Release,
}

/// A fault, and its parameters. Nodes are numbered from zero.
///
/// A fault that names no node happens to the node at which its trigger fired, or else to the node that leads when it
/// begins. Without a leader it has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs, reason = "the fields are the nodes and magnitudes of the variant")]
pub enum What {
    /// No message passes between a node and the store.
    Partition { node: Option<usize> },
    /// No message passes in one direction: from a node to the store, or from the store to the node.
    OneWay { node: Option<usize>, to_store: bool },
    /// Messages between a node and the store wait, and arrive in order when it ends.
    Hold { node: Option<usize> },
    /// Messages between a node and the store take up to that long.
    Latency { node: Option<usize>, most_ms: u64 },
    /// That many of a thousand messages are lost.
    Loss { node: Option<usize>, permille: u32 },
    /// That many of a thousand messages arrive twice, the second time up to that much later.
    Duplicate { node: Option<usize>, permille: u32, most_ms: u64 },
    /// That many of a thousand messages take up to that much longer, and others overtake them.
    Reorder { node: Option<usize>, permille: u32, most_ms: u64 },
    /// The node's connection breaks. Messages that have left it may still arrive at the store.
    Cut { node: Option<usize> },
    /// The node's connections are reset, as by a firewall. What was on its way is lost.
    Reset { node: Option<usize> },
    /// The server's ends of the node's connections are gone, and the node's ends are open: nothing answers on them.
    HalfOpen { node: Option<usize> },
    /// That many bytes a second pass in each direction between a node and the store.
    Throttle { node: Option<usize>, bytes_per_second: u32 },
    /// The node's process has no file descriptors left: its connections break, and it can open no others.
    NoDescriptors { node: Option<usize> },
    /// All nodes are partitioned one by one, `step_ms` after each other, and healed one by one in an order that begins
    /// `shift` nodes further on.
    Swizzle { step_ms: u64, shift: usize },
    /// The node's process is paused, and its clocks keep running: a garbage collection, a throttled container.
    Pause { node: Option<usize> },
    /// The task that drives the node's candidates gets no turn, while all others of its process run.
    Starve { node: Option<usize> },
    /// The machine sleeps: the process is paused and the monotonic clock stopped, but neither the
    /// boot clock nor the wall clock.
    Suspend { node: Option<usize> },
    /// The process is paused and all its clocks are stopped: a virtual machine that is stopped or moved.
    VmStop { node: Option<usize> },
    /// When the fault ends, the node's memory and clocks are reset to their states at its beginning: a restored
    /// snapshot of a virtual machine.
    VmRestore { node: Option<usize> },
    /// The node's clock is put forward, or back if negative.
    ClockStep { node: Option<usize>, by_ms: i64 },
    /// The node's process crashes, and starts again. With `power` its connections are not closed.
    Crash { node: Option<usize>, power: bool },
    /// The leader hands over on request, and campaigns again later.
    Resign { node: Option<usize> },
    /// The candidate leaves the election, and campaigns again when it ends.
    Leave { node: Option<usize> },
    /// The store's process crashes, and starts again with its data.
    StoreCrash,
    /// The store's process crashes, and starts again without its data.
    StoreLoss,
    /// The store's process crashes, and starts again with the data of `back_ms` before.
    StoreRollback { back_ms: u64 },
    /// The store's machine fails, and a replica replaces it at the end of the fault: with the data of `lag_ms` before,
    /// and a clock that is ahead by that much, or behind.
    Failover { lag_ms: u64, clock_ahead_ms: i64 },
    /// A replica replaces the store at once for all nodes but one. For that node the old primary continues to
    /// acknowledge requests.
    OldPrimary { node: Option<usize> },
    /// The store answers nothing until the fault ends; then it answers all requests that have arrived.
    StoreStall,
    /// The store's clock is put forward, or back if negative.
    StoreClockStep { by_ms: i64 },
    /// An act at the store's server, which stays up.
    Operator(Act),
}

impl Fault {
    /// Its kind.
    pub const fn kind(&self) -> FaultKind {
        match self.what {
            What::Partition { .. } => FaultKind::Partition,
            What::OneWay { .. } => FaultKind::OneWay,
            What::Hold { .. } => FaultKind::Hold,
            What::Latency { .. } => FaultKind::Latency,
            What::Loss { .. } => FaultKind::Loss,
            What::Duplicate { .. } => FaultKind::Duplicate,
            What::Reorder { .. } => FaultKind::Reorder,
            What::Cut { .. } => FaultKind::Cut,
            What::Reset { .. } => FaultKind::Reset,
            What::HalfOpen { .. } => FaultKind::HalfOpen,
            What::Throttle { .. } => FaultKind::Throttle,
            What::NoDescriptors { .. } => FaultKind::NoDescriptors,
            What::Swizzle { .. } => FaultKind::Swizzle,
            What::Pause { .. } => match self.when {
                When::On(Trigger { point: Point::Guard, .. }) => FaultKind::PauseAtGuard,
                When::On(Trigger { point: Point::Send, .. }) => FaultKind::PauseAtSend,
                When::On(Trigger { point: Point::Sent, .. }) => FaultKind::PauseAfterSend,
                When::On(Trigger { point: Point::Reply, .. }) => FaultKind::PauseAtReply,
                When::On(Trigger { point: Point::Grant | Point::Leads, .. }) | When::AtMs(_) => {
                    FaultKind::Pause
                }
            },
            What::Starve { .. } => FaultKind::Starve,
            What::Suspend { .. } => FaultKind::Suspend,
            What::VmStop { .. } => FaultKind::VmStop,
            What::VmRestore { .. } => FaultKind::VmRestore,
            What::ClockStep { by_ms: ..0, .. } => FaultKind::ClockBack,
            What::ClockStep { .. } => FaultKind::ClockStep,
            What::Crash { .. } => FaultKind::Crash,
            What::Resign { .. } => FaultKind::Resign,
            What::Leave { .. } => FaultKind::Leave,
            What::StoreCrash => FaultKind::StoreCrash,
            What::StoreLoss => FaultKind::StoreLoss,
            What::StoreRollback { .. } => FaultKind::StoreRollback,
            What::Failover { .. } => FaultKind::Failover,
            What::OldPrimary { .. } => FaultKind::OldPrimary,
            What::StoreStall => FaultKind::StoreStall,
            What::StoreClockStep { by_ms: ..0 } => FaultKind::StoreClockBack,
            What::StoreClockStep { .. } => FaultKind::StoreClockStep,
            What::Operator(act) => act.kind(),
        }
    }

    /// The node that it names.
    pub const fn node(&self) -> Option<usize> {
        match self.what {
            What::Partition { node }
            | What::OneWay { node, .. }
            | What::Hold { node }
            | What::Latency { node, .. }
            | What::Loss { node, .. }
            | What::Duplicate { node, .. }
            | What::Reorder { node, .. }
            | What::Cut { node }
            | What::Reset { node }
            | What::HalfOpen { node }
            | What::Throttle { node, .. }
            | What::NoDescriptors { node }
            | What::Pause { node }
            | What::Starve { node }
            | What::Suspend { node }
            | What::VmStop { node }
            | What::VmRestore { node }
            | What::ClockStep { node, .. }
            | What::Crash { node, .. }
            | What::Resign { node }
            | What::Leave { node }
            | What::OldPrimary { node } => node,
            What::Swizzle { .. }
            | What::StoreCrash
            | What::StoreLoss
            | What::StoreRollback { .. }
            | What::Failover { .. }
            | What::StoreStall
            | What::StoreClockStep { .. }
            | What::Operator(_) => None,
        }
    }

    /// The earliest time at which it can begin, in milliseconds of true time.
    pub const fn from_ms(&self) -> u64 {
        match self.when {
            When::AtMs(at_ms) => at_ms,
            When::On(trigger) => trigger.after_ms,
        }
    }
}

impl What {
    /// Whether it happens to one node.
    pub const fn is_of_a_node(&self) -> bool {
        !matches!(
            self,
            Self::Swizzle { .. }
                | Self::StoreCrash
                | Self::StoreLoss
                | Self::StoreRollback { .. }
                | Self::Failover { .. }
                | Self::StoreStall
                | Self::StoreClockStep { .. }
                | Self::Operator(_)
        )
    }

    /// Whether it needs a process that exists. Other faults of a node affect its machine or its link.
    pub(super) const fn is_of_a_process(&self) -> bool {
        matches!(
            self,
            Self::Pause { .. }
                | Self::Starve { .. }
                | Self::Cut { .. }
                | Self::Reset { .. }
                | Self::HalfOpen { .. }
                | Self::NoDescriptors { .. }
                | Self::Resign { .. }
                | Self::Leave { .. }
        )
    }

    /// Whether the fault stops the process that it strikes until the fault ends.
    pub(super) const fn stops_a_process(&self) -> bool {
        matches!(
            self,
            Self::Pause { .. } | Self::Suspend { .. } | Self::VmStop { .. } | Self::Crash { .. }
        )
    }

    /// Whether it has a duration. Any other fault happens at one moment.
    pub const fn lasts(&self) -> bool {
        match self {
            Self::Cut { .. }
            | Self::Reset { .. }
            | Self::HalfOpen { .. }
            | Self::ClockStep { .. }
            | Self::Resign { .. }
            | Self::StoreClockStep { .. } => false,
            Self::Operator(act) => act.lasts(),
            _ => true,
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
