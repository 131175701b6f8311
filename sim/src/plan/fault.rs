//! The kinds of faults, and what each of them breaks.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// From when to when, in milliseconds of true time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The beginning.
    pub from_ms: u64,
    /// The end.
    pub to_ms: u64,
}

/// One thing that goes wrong. Nodes are numbered from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the fields are the spans, nodes and magnitudes of the variant")]
pub enum Fault {
    /// No message passes between a node and the store.
    Partition { node: usize, span: Span },
    /// No message passes from a node to the store, or the other way.
    OneWay { node: usize, to_store: bool, span: Span },
    /// Messages between a node and the store wait, and arrive when it ends.
    Hold { node: usize, span: Span },
    /// Messages between a node and the store take up to that long.
    Latency { node: usize, most_ms: u64, span: Span },
    /// The node's connections break.
    Cut { node: usize, at_ms: u64 },
    /// The node's process stands still.
    Pause { node: usize, span: Span },
    /// The node's process stands still between a check of its leadership and the write that follows,
    /// at its next write after `from_ms`.
    PauseAtGuard { node: usize, from_ms: u64, for_ms: u64 },
    /// The node's process stands still between deciding to send and sending, at its next message after
    /// `from_ms`.
    PauseAtSend { node: usize, from_ms: u64, for_ms: u64 },
    /// The node's process stands still right after sending, at its next message after `from_ms`: the
    /// reply waits for it.
    PauseAfterSend { node: usize, from_ms: u64, for_ms: u64 },
    /// The node's clock is put forward.
    ClockStep { node: usize, at_ms: u64, forward_ms: u64 },
    /// The node's process is gone, and starts again. With `power` its connections are not closed.
    Crash { node: usize, power: bool, span: Span },
    /// The leader hands over on request.
    Resign { node: usize, at_ms: u64 },
    /// The store's process is gone, and starts again with its data.
    StoreCrash { span: Span },
    /// The store's process is gone, and starts again without its data.
    StoreLoss { span: Span },
    /// The store answers nothing, and goes on later.
    StoreStall { span: Span },
}

/// A kind of fault, by which it is switched on and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "named like the variants of `Fault`")]
pub enum FaultKind {
    Partition,
    OneWay,
    Hold,
    Latency,
    Cut,
    Pause,
    PauseAtGuard,
    PauseAtSend,
    PauseAfterSend,
    ClockStep,
    Crash,
    Resign,
    StoreCrash,
    StoreLoss,
    StoreStall,
    /// Clocks differ in rate, up to the drift bound. Not an event: it lasts the whole run.
    Drift,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Partition,
        Self::OneWay,
        Self::Hold,
        Self::Latency,
        Self::Cut,
        Self::Pause,
        Self::PauseAtGuard,
        Self::PauseAtSend,
        Self::PauseAfterSend,
        Self::ClockStep,
        Self::Crash,
        Self::Resign,
        Self::StoreCrash,
        Self::StoreLoss,
        Self::StoreStall,
        Self::Drift,
    ];

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Partition => "partition",
            Self::OneWay => "one-way",
            Self::Hold => "hold",
            Self::Latency => "latency",
            Self::Cut => "cut",
            Self::Pause => "pause",
            Self::PauseAtGuard => "pause-at-guard",
            Self::PauseAtSend => "pause-at-send",
            Self::PauseAfterSend => "pause-after-send",
            Self::ClockStep => "clock-step",
            Self::Crash => "crash",
            Self::Resign => "resign",
            Self::StoreCrash => "store-crash",
            Self::StoreLoss => "store-loss",
            Self::StoreStall => "store-stall",
            Self::Drift => "drift",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No fault has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown fault {name:?}; known are {}", known())]
pub struct UnknownFault {
    /// What was asked for.
    pub name: String,
}

fn known() -> String {
    FaultKind::ALL.map(FaultKind::name).join(", ")
}

impl FromStr for FaultKind {
    type Err = UnknownFault;

    fn from_str(name: &str) -> Result<Self, UnknownFault> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownFault { name: name.to_owned() })
    }
}

impl Fault {
    /// Its kind.
    pub const fn kind(&self) -> FaultKind {
        match self {
            Self::Partition { .. } => FaultKind::Partition,
            Self::OneWay { .. } => FaultKind::OneWay,
            Self::Hold { .. } => FaultKind::Hold,
            Self::Latency { .. } => FaultKind::Latency,
            Self::Cut { .. } => FaultKind::Cut,
            Self::Pause { .. } => FaultKind::Pause,
            Self::PauseAtGuard { .. } => FaultKind::PauseAtGuard,
            Self::PauseAtSend { .. } => FaultKind::PauseAtSend,
            Self::PauseAfterSend { .. } => FaultKind::PauseAfterSend,
            Self::ClockStep { .. } => FaultKind::ClockStep,
            Self::Crash { .. } => FaultKind::Crash,
            Self::Resign { .. } => FaultKind::Resign,
            Self::StoreCrash { .. } => FaultKind::StoreCrash,
            Self::StoreLoss { .. } => FaultKind::StoreLoss,
            Self::StoreStall { .. } => FaultKind::StoreStall,
        }
    }
}

/// What promises rest on, as `docs/guarantees.md` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assumption {
    /// A2: every clock's rate stays within the drift bound over every interval.
    Rates,
}
