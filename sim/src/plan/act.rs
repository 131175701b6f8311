//! Acts of an operator at a real server that stays up, or of the server itself.

use serde::{Deserialize, Serialize};

use super::FaultKind;

/// What is done to a server.
///
/// An act does nothing at a server that is down or answers nothing when it begins. A restart of the server undoes those
/// that last. Those that [need no server](Self::needs_a_server) are exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// The server ends all connections of candidates.
    Disconnect,
    /// The server forgets the scripts that it was given.
    FlushScripts,
    /// All data is deleted, and the server runs on.
    FlushData,
    /// The server's memory is full: it refuses what would take more, until the act ends.
    FillMemory,
    /// Another session keeps the election's row locked until the act ends.
    LockRow,
    /// Another session keeps the whole table locked until the act ends, for readers too.
    LockTable,
    /// A pooler is put between candidates and the server until the act ends.
    Pooler,
    /// The password of candidates is another one until the act ends, and their connections end.
    RotatePassword,
    /// The files that are kept beside the store's file are deleted, though nothing is lost with them.
    DeleteLog,
    /// One member of a cluster is killed, the one with the most connections of candidates, and starts again with its data
    /// when the act ends.
    KillMember,
    /// The member that leads the others is paused until the act ends.
    PauseRaftLeader,
    /// The member that leads the others hands its leadership to another one.
    MoveRaftLeader,
    /// The server ends the one connection over which the present lease was renewed last.
    DisconnectLeader,
    /// A replica is promoted while its primary is up, which only candidates can reach, and which answers them until the
    /// act ends.
    SplitBrain,
    /// The slot of the election is moved to another primary of a cluster, with all that it holds. Candidates are redirected
    /// for each request until the act ends, and find the other primary from then on.
    MoveSlot,
    /// The file system of the store's file is full until the act ends.
    FillDisk,
    /// The server's certificate has expired, and the connections of candidates end. It is renewed when the act ends.
    ExpireCertificate,
}

impl Act {
    /// All acts.
    pub const ALL: [Self; 17] = [
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
        Self::SplitBrain,
        Self::MoveSlot,
        Self::FillDisk,
        Self::ExpireCertificate,
    ];

    /// The kind of a fault that consists of it.
    pub const fn kind(self) -> FaultKind {
        match self {
            Self::Disconnect => FaultKind::Disconnect,
            Self::FlushScripts => FaultKind::FlushScripts,
            Self::FlushData => FaultKind::FlushData,
            Self::FillMemory => FaultKind::FillMemory,
            Self::LockRow => FaultKind::LockRow,
            Self::LockTable => FaultKind::LockTable,
            Self::Pooler => FaultKind::Pooler,
            Self::RotatePassword => FaultKind::RotatePassword,
            Self::DeleteLog => FaultKind::DeleteLog,
            Self::KillMember => FaultKind::KillMember,
            Self::PauseRaftLeader => FaultKind::PauseRaftLeader,
            Self::MoveRaftLeader => FaultKind::MoveRaftLeader,
            Self::DisconnectLeader => FaultKind::DisconnectLeader,
            Self::SplitBrain => FaultKind::SplitBrain,
            Self::MoveSlot => FaultKind::MoveSlot,
            Self::FillDisk => FaultKind::FillDisk,
            Self::ExpireCertificate => FaultKind::ExpireCertificate,
        }
    }

    /// The act that faults of that kind consist of, if they consist of one.
    pub fn of_kind(kind: FaultKind) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.kind() == kind)
    }

    /// Whether it has a duration.
    pub const fn lasts(self) -> bool {
        match self {
            Self::Disconnect
            | Self::FlushScripts
            | Self::FlushData
            | Self::DeleteLog
            | Self::MoveRaftLeader
            | Self::DisconnectLeader => false,
            Self::FillMemory
            | Self::LockRow
            | Self::LockTable
            | Self::Pooler
            | Self::RotatePassword
            | Self::KillMember
            | Self::PauseRaftLeader
            | Self::SplitBrain
            | Self::MoveSlot
            | Self::FillDisk
            | Self::ExpireCertificate => true,
        }
    }

    /// Whether it is done to a server that answers, and undone by a restart.
    pub const fn needs_a_server(self) -> bool {
        !matches!(self, Self::FillDisk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Fault, What, When};

    #[test]
    fn each_act_is_a_kind_of_its_own() {
        for act in Act::ALL {
            assert_eq!(Act::of_kind(act.kind()), Some(act));
            let fault = Fault { when: When::AtMs(1), for_ms: 0, what: What::Operator(act) };
            assert_eq!(fault.kind(), act.kind());
            assert_eq!(fault.what.lasts(), act.lasts());
            assert!(act.kind().is_of_real_servers());
        }
        assert_eq!(Act::of_kind(FaultKind::StoreLoss), None);
    }
}
