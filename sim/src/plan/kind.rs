//! The kinds of faults, by which they are enabled and counted.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "explained at the variants of `What`, and by `about`")]
pub enum FaultKind {
    Partition,
    OneWay,
    Hold,
    Latency,
    Loss,
    Duplicate,
    Reorder,
    Cut,
    Swizzle,
    Pause,
    PauseAtGuard,
    PauseAtSend,
    PauseAfterSend,
    PauseAtReply,
    Suspend,
    VmStop,
    VmRestore,
    ClockStep,
    ClockBack,
    Crash,
    Resign,
    Leave,
    StoreCrash,
    StoreLoss,
    StoreRollback,
    Failover,
    OldPrimary,
    StoreStall,
    StoreClockStep,
    StoreClockBack,
    /// Clocks differ in rate, up to the drift bound. Not an event: it lasts the whole run.
    Drift,
    Starve,
    Reset,
    HalfOpen,
    Throttle,
    Disconnect,
    FlushScripts,
    FlushData,
    FillMemory,
    LockRow,
    LockTable,
    Pooler,
    RotatePassword,
    DeleteLog,
    KillMember,
    PauseRaftLeader,
    MoveRaftLeader,
    DisconnectLeader,
    NoDescriptors,
    SplitBrain,
    MoveSlot,
    FillDisk,
    ExpireCertificate,
}

impl FaultKind {
    /// All kinds.
    pub const ALL: [Self; 53] = [
        Self::Partition,
        Self::OneWay,
        Self::Hold,
        Self::Latency,
        Self::Loss,
        Self::Duplicate,
        Self::Reorder,
        Self::Cut,
        Self::Swizzle,
        Self::Pause,
        Self::PauseAtGuard,
        Self::PauseAtSend,
        Self::PauseAfterSend,
        Self::PauseAtReply,
        Self::Suspend,
        Self::VmStop,
        Self::VmRestore,
        Self::ClockStep,
        Self::ClockBack,
        Self::Crash,
        Self::Resign,
        Self::Leave,
        Self::StoreCrash,
        Self::StoreLoss,
        Self::StoreRollback,
        Self::Failover,
        Self::OldPrimary,
        Self::StoreStall,
        Self::StoreClockStep,
        Self::StoreClockBack,
        Self::Drift,
        Self::Starve,
        Self::Reset,
        Self::HalfOpen,
        Self::Throttle,
        Self::Disconnect,
        Self::FlushScripts,
        Self::FlushData,
        Self::FillMemory,
        Self::LockRow,
        Self::LockTable,
        Self::Pooler,
        Self::RotatePassword,
        Self::DeleteLog,
        Self::KillMember,
        Self::PauseRaftLeader,
        Self::MoveRaftLeader,
        Self::DisconnectLeader,
        Self::NoDescriptors,
        Self::SplitBrain,
        Self::MoveSlot,
        Self::FillDisk,
        Self::ExpireCertificate,
    ];

    /// The kinds that pause a process.
    pub const PAUSES: [Self; 7] = [
        Self::Pause,
        Self::PauseAtGuard,
        Self::PauseAtSend,
        Self::PauseAfterSend,
        Self::PauseAtReply,
        Self::Suspend,
        Self::VmStop,
    ];

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        self.described().0
    }

    /// A short description.
    pub const fn about(self) -> &'static str {
        self.described().1
    }

    /// Whether a fault of this kind breaks an assumption all by itself.
    pub const fn is_beyond_the_assumptions(self) -> bool {
        matches!(
            self,
            Self::VmStop
                | Self::VmRestore
                | Self::ClockBack
                | Self::OldPrimary
                | Self::StoreClockStep
                | Self::StoreClockBack
        )
    }

    /// Whether only engines with real servers have it.
    pub const fn is_of_real_servers(self) -> bool {
        matches!(
            self,
            Self::Reset
                | Self::HalfOpen
                | Self::Throttle
                | Self::Disconnect
                | Self::FlushScripts
                | Self::FlushData
                | Self::FillMemory
                | Self::LockRow
                | Self::LockTable
                | Self::Pooler
                | Self::RotatePassword
                | Self::DeleteLog
                | Self::KillMember
                | Self::PauseRaftLeader
                | Self::MoveRaftLeader
                | Self::DisconnectLeader
                | Self::NoDescriptors
                | Self::SplitBrain
                | Self::MoveSlot
                | Self::FillDisk
                | Self::ExpireCertificate
        )
    }

    const fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::Partition => ("partition", "no message passes between a node and the store"),
            Self::OneWay => ("one-way", "messages pass in one direction only"),
            Self::Hold => ("hold", "messages wait, and arrive in order when it ends"),
            Self::Latency => ("latency", "messages take long"),
            Self::Loss => ("loss", "some messages are lost"),
            Self::Duplicate => ("duplicate", "some messages arrive twice"),
            Self::Reorder => ("reorder", "some messages are overtaken"),
            Self::Cut => ("cut", "a connection breaks"),
            Self::Swizzle => {
                ("swizzle", "all nodes are partitioned one by one, and heal in another order")
            }
            Self::Pause => ("pause", "a process is paused"),
            Self::PauseAtGuard => {
                ("pause-at-guard", "a process is paused between a check and its effect")
            }
            Self::PauseAtSend => ("pause-at-send", "a process is paused right before it sends"),
            Self::PauseAfterSend => {
                ("pause-after-send", "a process is paused right after it sends")
            }
            Self::PauseAtReply => {
                ("pause-at-reply", "a process is paused right before it reads a reply")
            }
            Self::Suspend => {
                ("suspend", "a machine sleeps: its monotonic clock stops, its boot clock does not")
            }
            Self::VmStop => ("vm-stop", "a machine is stopped, with all its clocks"),
            Self::VmRestore => ("vm-restore", "a machine is restored from a snapshot"),
            Self::ClockStep => ("clock-step", "a node's clock is put forward"),
            Self::ClockBack => ("clock-back", "a node's clock is put back"),
            Self::Crash => ("crash", "a process crashes, and starts again"),
            Self::Resign => ("resign", "the leader hands over on request"),
            Self::Leave => ("leave", "a candidate leaves the election, and campaigns again"),
            Self::StoreCrash => ("store-crash", "the store restarts with its data"),
            Self::StoreLoss => ("store-loss", "the store restarts without its data"),
            Self::StoreRollback => ("store-rollback", "the store restarts with older data"),
            Self::Failover => ("failover", "a lagging replica takes the store's place"),
            Self::OldPrimary => {
                ("old-primary", "a cut-off primary still acknowledges after a promotion")
            }
            Self::StoreStall => ("store-stall", "the store answers nothing for a while"),
            Self::StoreClockStep => ("store-clock-step", "the store's clock is put forward"),
            Self::StoreClockBack => ("store-clock-back", "the store's clock is put back"),
            Self::Drift => ("drift", "clocks differ in rate, up to the drift bound"),
            Self::Starve => ("starve", "the task that drives the candidates is not run"),
            Self::Reset => ("reset", "connections are reset"),
            Self::HalfOpen => ("half-open", "connections are open at the node's end alone"),
            Self::Throttle => ("throttle", "few bytes a second pass"),
            Self::Disconnect => ("disconnect", "the server ends all connections"),
            Self::FlushScripts => ("flush-scripts", "the server forgets its scripts"),
            Self::FlushData => ("flush-data", "all data is deleted, and the server runs on"),
            Self::FillMemory => ("fill-memory", "the server's memory is full"),
            Self::LockRow => ("lock-row", "another session locks the election's row"),
            Self::LockTable => ("lock-table", "another session locks the whole table"),
            Self::Pooler => ("pooler", "a pooler is put in front of the server"),
            Self::RotatePassword => {
                ("rotate-password", "the password of candidates is another one for a while")
            }
            Self::DeleteLog => ("delete-log", "the files beside the store's file are deleted"),
            Self::KillMember => ("kill-member", "a member is killed, and starts again"),
            Self::PauseRaftLeader => {
                ("pause-raft-leader", "the member that leads the others is paused")
            }
            Self::MoveRaftLeader => {
                ("move-raft-leader", "the members are led by another one of them")
            }
            Self::DisconnectLeader => {
                ("disconnect-leader", "the server ends the leader's connection alone")
            }
            Self::NoDescriptors => {
                ("no-descriptors", "a process can open no more connections or files")
            }
            Self::SplitBrain => {
                ("split-brain", "a replica is promoted while its primary answers candidates")
            }
            Self::MoveSlot => ("move-slot", "the election's slot moves to another primary"),
            Self::FillDisk => ("fill-disk", "the file system of the store's file is full"),
            Self::ExpireCertificate => {
                ("expire-certificate", "the server's certificate has expired, and is renewed")
            }
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
    /// The name that was given.
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
