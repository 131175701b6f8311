//! The conditions, their names, and the engines that can meet them.

use crate::plan::{Act, Scope, Shows};

/// A situation that a campaign should have met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Condition {
    /// A grant over an ended lease of another holder that was not handed back.
    TakeoverAfterExpiry,
    /// A grant over a lease that another holder had just handed back.
    GracefulHandover,
    /// A grant in answer to a retry: the reply to an earlier request was lost or late.
    LostGrantRetried,
    /// An acquire by a candidate that did not know the last tenure.
    StaleAcquireRefused,
    /// A renewal of a tenure that was over.
    RenewalSuperseded,
    /// A leader that stepped down because its claim had ended by its clock.
    LeaderExpiredByClock,
    /// A write that the fenced sink refused.
    StaleWriteFenced,
    /// A grant, after the store had lost all data, whose holder had to wait before it could lead.
    QuarantineWaited,
    /// A loss of all data while there was a leader.
    StoreLostDataUnderALeader,
    /// A crash of a node that led.
    LeaderCrashed,
    /// A leader without connection whose `is_leader()` ended by its clock before the fault did.
    LedWhilePartitioned,
    /// A leader whose `is_leader()` ended by its clock while it was paused.
    LeaderPausedPastItsLease,
    /// A resignation while work of that tenure was running.
    ResignedUnderWork,
    /// A release of a tenure whose work had ended.
    ReleaseAfterDrain,
    /// Work that was dropped at the end of its time to drain.
    DrainingWorkDropped,
    /// A renewal that gave draining work more time.
    DrainLengthened,
    /// A grant over another holder's lease within the millisecond in which it ended.
    TakeoverAtTheExactExpiry,
    /// A grant over an ended lease whose holder had resigned, and whose release never arrived.
    ResignedLeaseRanOut,
    /// A release of a tenure that never had a leader.
    GrantHandedBackUnused,
    /// A grant to a candidate that knew a later tenure than the store did.
    GrantBeyondTheRecord,
    /// A renewal carried out after the lead of its tenure had ended.
    RenewedWithoutALeader,
    /// A renewal carried out in the last twentieth of its lease.
    RenewedAtTheLastMoment,
    /// A renewal that arrived after its lease had been handed back.
    RenewalAfterRelease,
    /// An acquire of a holder whose tenure was over, refused as stale.
    LateAcquireRefused,
    /// A grant or renewal by a server after the one that replaced it had carried out a request.
    OldPrimaryAcknowledged,
    /// A renewal sent again because the answer to one that was carried out had not arrived.
    RenewalReplyLost,
    /// An answer to a request after which its candidate had already sent another one.
    LateReply,
    /// An answer that arrived after the answer to a later request.
    ReplyOvertaken,
    /// A write of a process that was paused after it had checked its leadership.
    PauseBetweenCheckAndEffect,
    /// A write that arrived when its leader no longer led.
    EffectAfterTheLead,
    /// A leader that stepped down because the store had answered that its tenure was superseded.
    LeaderSuperseded,
    /// A resignation of a leader that was cut off from the store.
    ResignedWhileCutOff,
    /// A lead of a node that had already led in an earlier life.
    RestartedNodeLedAgain,
    /// A lead after a gap without a leader that was longer than a whole lease.
    NobodyLedForALease,
    /// A crash of a candidate that waited out a quarantine.
    CrashedInAQuarantine,
    /// A replacement of the store's server while a candidate waited out a quarantine.
    StoreReplacedInAQuarantine,
    /// A moment from which every candidate, of at least two, was cut off from the store.
    AllNodesCutOff,
    /// A fault that began while at least two others lasted.
    SeveralFaultsAtOnce,
    /// A step of a leader's clock, forward or back.
    ClockSteppedUnderALeader,
    /// A step of the store's clock, forward or back, while there was a leader.
    StoreClockSteppedUnderALeader,
    /// A store restored to older data while there was a leader.
    StoreRolledBackUnderALeader,
    /// A promotion of a replica while there was a leader.
    FailoverUnderALeader,
    /// A machine suspended while its candidate led.
    LeaderSuspended,
    /// A virtual machine stopped while its candidate led.
    LeaderStoppedWithItsClocks,
    /// A virtual machine restored to a snapshot in which its candidate led.
    LeaderSnapshot,
    /// A leader whose connections had lost the server's end.
    HalfOpenUnderALeader,
    /// An end of all connections by the server while there was a leader.
    DisconnectedUnderALeader,
    /// A server that forgot its scripts while there was a leader.
    ScriptsFlushedUnderALeader,
    /// A deletion of all data by an operator while there was a leader.
    DataFlushedUnderALeader,
    /// A request that the server refused because its memory was full.
    GrantRefusedForMemory,
    /// A request that waited for a locked row, up to its unlocking under a leader.
    RowLockedUnderALeader,
    /// A request that waited for a locked table, up to its unlocking under a leader.
    TableLockedUnderALeader,
    /// A candidate learned that a pooler had been put in front of the server, while one led.
    PoolerUnderALeader,
    /// The server refused the password of a candidate while one led.
    LoginRefusedUnderALeader,
    /// The files beside the store's file were deleted while a candidate led.
    LogDeletedUnderALeader,
    /// Candidates lost their connections to a member that was killed while one of them led.
    MemberKilledUnderALeader,
    /// The members elected another leader in place of a paused one, while a candidate led.
    RaftLeaderPausedUnderALeader,
    /// The members' leadership moved while a candidate led.
    RaftLeaderMovedUnderALeader,
    /// The server ended the connection of a leader alone.
    LeaderDisconnected,
    /// A candidate was redirected to the primary that a slot was moved to, up to the end of the move under a leader.
    SlotMovedUnderALeader,
    /// A request that was refused for lack of space on the disk while a candidate led.
    DiskFullUnderALeader,
    /// A candidate refused the server for its expired certificate while one led.
    CertificateExpiredUnderALeader,
}

/// All conditions in order: the name, and whether only the model engine can meet it.
const ALL: [(Condition, &str, Needs); Condition::COUNT] = [
    (Condition::TakeoverAfterExpiry, "takeover-after-expiry", Needs::Any),
    (Condition::GracefulHandover, "graceful-handover", Needs::Any),
    (Condition::LostGrantRetried, "lost-grant-retried", Needs::Any),
    (Condition::StaleAcquireRefused, "stale-acquire-refused", Needs::Simulation),
    (Condition::RenewalSuperseded, "renewal-superseded", Needs::Simulation),
    (Condition::LeaderExpiredByClock, "leader-expired-by-clock", Needs::Any),
    (Condition::StaleWriteFenced, "stale-write-fenced", Needs::Any),
    (Condition::QuarantineWaited, "quarantine-after-store-loss", Needs::Any),
    (Condition::StoreLostDataUnderALeader, "store-lost-data-under-a-leader", Needs::Any),
    (Condition::LeaderCrashed, "leader-crashed", Needs::Any),
    (Condition::LedWhilePartitioned, "led-while-partitioned-and-ended-itself", Needs::Network),
    (Condition::LeaderPausedPastItsLease, "leader-paused-past-its-lease", Needs::Any),
    (Condition::ResignedUnderWork, "resigned-under-work", Needs::Any),
    (Condition::ReleaseAfterDrain, "release-after-drain", Needs::Any),
    (Condition::DrainingWorkDropped, "draining-work-dropped", Needs::Any),
    (Condition::DrainLengthened, "drain-lengthened-by-a-renewal", Needs::Any),
    (Condition::TakeoverAtTheExactExpiry, "takeover-at-the-exact-expiry", Needs::Simulation),
    (Condition::ResignedLeaseRanOut, "release-lost-lease-ran-out", Needs::Any),
    (Condition::GrantHandedBackUnused, "grant-handed-back-unused", Needs::Any),
    (Condition::GrantBeyondTheRecord, "grant-above-a-lost-tenure", Needs::Requests),
    (Condition::RenewedWithoutALeader, "renewed-without-a-leader", Needs::Changes),
    (Condition::RenewedAtTheLastMoment, "renewal-at-the-last-moment", Needs::Model),
    (Condition::RenewalAfterRelease, "duplicate-renewal-after-release", Needs::Model),
    (Condition::LateAcquireRefused, "late-duplicate-acquire-refused", Needs::Model),
    (Condition::OldPrimaryAcknowledged, "old-primary-acknowledged", Needs::OldPrimary),
    (Condition::RenewalReplyLost, "renewal-reply-lost", Needs::Changes),
    (Condition::LateReply, "reply-after-the-next-request", Needs::Model),
    (Condition::ReplyOvertaken, "reply-overtaken", Needs::Model),
    (Condition::PauseBetweenCheckAndEffect, "pause-between-check-and-effect", Needs::Any),
    (Condition::EffectAfterTheLead, "effect-after-the-lead", Needs::Any),
    (Condition::LeaderSuperseded, "superseded-leader-stepped-down", Needs::Any),
    (Condition::ResignedWhileCutOff, "resigned-while-cut-off", Needs::Network),
    (Condition::RestartedNodeLedAgain, "restarted-node-leads-again", Needs::Any),
    (Condition::NobodyLedForALease, "nobody-led-for-a-lease", Needs::Any),
    (Condition::CrashedInAQuarantine, "crash-within-a-quarantine", Needs::Any),
    (Condition::StoreReplacedInAQuarantine, "store-replaced-within-a-quarantine", Needs::Any),
    (Condition::AllNodesCutOff, "all-nodes-cut-off", Needs::Network),
    (Condition::SeveralFaultsAtOnce, "several-faults-at-once", Needs::Any),
    (Condition::ClockSteppedUnderALeader, "clock-stepped-under-a-leader", Needs::Any),
    (
        Condition::StoreClockSteppedUnderALeader,
        "store-clock-stepped-under-a-leader",
        Needs::StoreClock,
    ),
    (Condition::StoreRolledBackUnderALeader, "store-rolled-back-under-a-leader", Needs::Model),
    (Condition::FailoverUnderALeader, "failover-under-a-leader", Needs::Replicas),
    (Condition::LeaderSuspended, "leader-suspended", Needs::Model),
    (Condition::LeaderStoppedWithItsClocks, "leader-stopped-with-its-clocks", Needs::Model),
    (Condition::LeaderSnapshot, "leader-restored-from-a-snapshot", Needs::Model),
    (Condition::HalfOpenUnderALeader, "half-open-under-a-leader", Needs::RealNetwork),
    (
        Condition::DisconnectedUnderALeader,
        "disconnected-under-a-leader",
        Needs::Act(Act::Disconnect),
    ),
    (
        Condition::ScriptsFlushedUnderALeader,
        "scripts-flushed-under-a-leader",
        Needs::Act(Act::FlushScripts),
    ),
    (Condition::DataFlushedUnderALeader, "data-flushed-under-a-leader", Needs::Act(Act::FlushData)),
    (Condition::GrantRefusedForMemory, "grant-refused-for-memory", Needs::Act(Act::FillMemory)),
    (Condition::RowLockedUnderALeader, "row-locked-under-a-leader", Needs::Act(Act::LockRow)),
    (Condition::TableLockedUnderALeader, "table-locked-under-a-leader", Needs::Act(Act::LockTable)),
    (Condition::PoolerUnderALeader, "pooler-under-a-leader", Needs::Act(Act::Pooler)),
    (
        Condition::LoginRefusedUnderALeader,
        "login-refused-under-a-leader",
        Needs::Act(Act::RotatePassword),
    ),
    (Condition::LogDeletedUnderALeader, "log-deleted-under-a-leader", Needs::Act(Act::DeleteLog)),
    (
        Condition::MemberKilledUnderALeader,
        "member-killed-under-a-leader",
        Needs::Act(Act::KillMember),
    ),
    (
        Condition::RaftLeaderPausedUnderALeader,
        "raft-leader-paused-under-a-leader",
        Needs::Act(Act::PauseRaftLeader),
    ),
    (
        Condition::RaftLeaderMovedUnderALeader,
        "raft-leader-moved-under-a-leader",
        Needs::Act(Act::MoveRaftLeader),
    ),
    (Condition::LeaderDisconnected, "leader-disconnected", Needs::Act(Act::DisconnectLeader)),
    (Condition::SlotMovedUnderALeader, "slot-moved-under-a-leader", Needs::Act(Act::MoveSlot)),
    (Condition::DiskFullUnderALeader, "disk-full-under-a-leader", Needs::Act(Act::FillDisk)),
    (
        Condition::CertificateExpiredUnderALeader,
        "certificate-expired-under-a-leader",
        Needs::Act(Act::ExpireCertificate),
    ),
];

/// Which engines can meet a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Every engine.
    Any,
    /// A network between candidates and the store.
    Network,
    /// A network of real connections.
    RealNetwork,
    /// A real server to which that can be done.
    Act(Act),
    /// Replicas, in an engine with real servers or in the model.
    Replicas,
    /// A primary that is replaced while candidates reach it: in the model, and with sentinels.
    OldPrimary,
    /// A store that shows each change of a record.
    Changes,
    /// A store that shows each request.
    Requests,
    /// A store whose clock can be set.
    StoreClock,
    /// An engine that simulates: a store that shows what it refuses, and faults that strike within a millisecond.
    Simulation,
    /// The model engine alone: messages that overtake each other, replicas, machines that sleep or are restored.
    Model,
}

impl Condition {
    pub(super) const COUNT: usize = Self::LAST as usize + 1;
    const LAST: Self = Self::CertificateExpiredUnderALeader;

    pub(super) const fn name(self) -> &'static str {
        ALL[self as usize].1
    }

    pub(super) fn all() -> impl Iterator<Item = Self> {
        ALL.into_iter().map(|(condition, ..)| condition)
    }

    /// Whether only the events of an engine's own leader-only work meet it.
    #[cfg(feature = "turmoil")]
    pub(super) const fn is_of_work(self) -> bool {
        matches!(
            self,
            Self::StaleWriteFenced
                | Self::ResignedUnderWork
                | Self::ReleaseAfterDrain
                | Self::DrainingWorkDropped
                | Self::DrainLengthened
                | Self::PauseBetweenCheckAndEffect
                | Self::EffectAfterTheLead
        )
    }

    /// Whether an engine of that scope can meet it.
    pub(super) fn is_in(self, scope: Scope) -> bool {
        match scope {
            Scope::Model => !matches!(ALL[self as usize].2, Needs::RealNetwork | Needs::Act(_)),
            Scope::Turmoil => !matches!(
                ALL[self as usize].2,
                Needs::Model
                    | Needs::Replicas
                    | Needs::OldPrimary
                    | Needs::RealNetwork
                    | Needs::Act(_)
            ),
            Scope::Real(backend) => match ALL[self as usize].2 {
                Needs::Any => true,
                Needs::Network | Needs::RealNetwork => backend.has_network,
                Needs::Act(act) => backend.acts.contains(&act),
                Needs::Replicas => backend.fails_over,
                Needs::OldPrimary => backend.acts.contains(&Act::SplitBrain),
                Needs::StoreClock => backend.sets_clock,
                Needs::Changes => backend.shows >= Shows::Changes,
                Needs::Requests => backend.shows >= Shows::Requests,
                Needs::Simulation | Needs::Model => false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_ordered_with_unique_names() {
        for (place, (condition, ..)) in ALL.iter().enumerate() {
            assert_eq!(*condition as usize, place);
        }
        let names: std::collections::BTreeSet<_> = ALL.map(|(_, name, _)| name).into();
        assert_eq!(names.len(), Condition::COUNT);
    }
}
