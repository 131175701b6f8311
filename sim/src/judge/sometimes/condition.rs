//! The conditions, their names, and where they can be met.

use crate::plan::Scope;

/// Something that a campaign should have met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Condition {
    /// A grant over an ended lease of another holder that nobody had handed back.
    TakeoverAfterExpiry,
    /// A grant over a lease that another holder had just handed back.
    GracefulHandover,
    /// A grant that is the answer to a retry: the reply to an earlier try was lost, or late.
    LostGrantRetried,
    /// An acquire of somebody who did not know the last tenure.
    StaleAcquireRefused,
    /// A renewal of a tenure that was over.
    RenewalSuperseded,
    /// A leader that stepped down because its clock said so.
    LeaderExpiredByClock,
    /// A write that the fenced sink refused.
    StaleWriteFenced,
    /// A grant, after the store had lost all data, whose holder had to wait before it could lead.
    QuarantineWaited,
    /// A loss of all data while somebody led.
    StoreLostDataUnderALeader,
    /// A crash of a node that led.
    LeaderCrashed,
    /// A cut-off leader whose `is_leader()` ended by its clock before the fault did.
    LedWhilePartitioned,
    /// A leader whose `is_leader()` ended by its clock while it stood still.
    LeaderPausedPastItsLease,
    /// A resignation while work of that tenure was under way.
    ResignedUnderWork,
    /// A release of a tenure whose work had ended.
    ReleaseAfterDrain,
    /// Work that was dropped at the end of its time to drain.
    DrainingWorkDropped,
    /// A renewal that gave draining work more time.
    DrainLengthened,
    /// A grant over another holder's lease within the millisecond in which it ended.
    TakeoverAtTheExactExpiry,
    /// A grant over an ended lease whose holder had resigned, and whose release never came.
    ResignedLeaseRanOut,
    /// A release of a tenure under which nobody ever led.
    GrantHandedBackUnused,
    /// A grant to somebody who knew of a later tenure than the store did.
    GrantBeyondTheRecord,
    /// A renewal carried out when nobody led under its tenure any more.
    RenewedWithoutALeader,
    /// A renewal carried out in the last twentieth of its lease.
    RenewedAtTheLastMoment,
    /// A renewal that came after its lease had been handed back.
    RenewalAfterRelease,
    /// An acquire of a holder whose tenure was over, refused as stale.
    LateAcquireRefused,
    /// A grant or renewal by a server after another one had taken its place.
    OldPrimaryAcknowledged,
    /// A renewal sent again because the answer to one that was carried out had not come.
    RenewalReplyLost,
    /// An answer to a request that its candidate had given up, and sent another since.
    LateReply,
    /// An answer that came after the answer to a later request.
    ReplyOvertaken,
    /// A write of a process that had stood still since it checked its leadership.
    PauseBetweenCheckAndEffect,
    /// A write that arrived when its leader no longer led.
    EffectAfterTheLead,
    /// A leader that stepped down because the store said so.
    LeaderSuperseded,
    /// A resignation of a leader that was cut off from the store.
    ResignedWhileCutOff,
    /// A lead of a node that had led in an earlier life.
    RestartedNodeLedAgain,
    /// A lead after nobody had led for longer than a whole lease.
    NobodyLedForALease,
    /// A crash of a candidate that waited out a quarantine.
    CrashedInAQuarantine,
    /// Another server took the store's place while a candidate waited out a quarantine.
    StoreReplacedInAQuarantine,
    /// A moment from which on every candidate, of at least two, was cut off from the store.
    AllNodesCutOff,
    /// A fault that began while two others or more lasted.
    SeveralFaultsAtOnce,
    /// A step of a leader's clock, forward or back.
    ClockSteppedUnderALeader,
    /// A step of the store's clock, forward or back, while somebody led.
    StoreClockSteppedUnderALeader,
    /// A store put back to older data while somebody led.
    StoreRolledBackUnderALeader,
    /// A promotion of a replica while somebody led.
    FailoverUnderALeader,
    /// A machine sent to sleep while its candidate led.
    LeaderSuspended,
    /// A virtual machine stopped while its candidate led.
    LeaderStoppedWithItsClocks,
    /// A virtual machine put back to a moment at which its candidate led.
    LeaderSnapshot,
}

/// All of them, in order: what it is called, and whether it takes faults that only the model engine knows.
const ALL: [(Condition, &str, Needs); Condition::COUNT] = [
    (Condition::TakeoverAfterExpiry, "takeover-after-expiry", Needs::Any),
    (Condition::GracefulHandover, "graceful-handover", Needs::Any),
    (Condition::LostGrantRetried, "lost-grant-retried", Needs::Any),
    (Condition::StaleAcquireRefused, "stale-acquire-refused", Needs::Any),
    (Condition::RenewalSuperseded, "renewal-superseded", Needs::Any),
    (Condition::LeaderExpiredByClock, "leader-expired-by-clock", Needs::Any),
    (Condition::StaleWriteFenced, "stale-write-fenced", Needs::Any),
    (Condition::QuarantineWaited, "quarantine-after-store-loss", Needs::Any),
    (Condition::StoreLostDataUnderALeader, "store-lost-data-under-a-leader", Needs::Any),
    (Condition::LeaderCrashed, "leader-crashed", Needs::Any),
    (Condition::LedWhilePartitioned, "led-while-partitioned-and-ended-itself", Needs::Any),
    (Condition::LeaderPausedPastItsLease, "leader-paused-past-its-lease", Needs::Any),
    (Condition::ResignedUnderWork, "resigned-under-work", Needs::Any),
    (Condition::ReleaseAfterDrain, "release-after-drain", Needs::Any),
    (Condition::DrainingWorkDropped, "draining-work-dropped", Needs::Any),
    (Condition::DrainLengthened, "drain-lengthened-by-a-renewal", Needs::Any),
    (Condition::TakeoverAtTheExactExpiry, "takeover-at-the-exact-expiry", Needs::Any),
    (Condition::ResignedLeaseRanOut, "release-lost-lease-ran-out", Needs::Any),
    (Condition::GrantHandedBackUnused, "grant-handed-back-unused", Needs::Any),
    (Condition::GrantBeyondTheRecord, "grant-above-a-lost-tenure", Needs::Any),
    (Condition::RenewedWithoutALeader, "renewed-without-a-leader", Needs::Any),
    (Condition::RenewedAtTheLastMoment, "renewal-at-the-last-moment", Needs::Model),
    (Condition::RenewalAfterRelease, "duplicate-renewal-after-release", Needs::Model),
    (Condition::LateAcquireRefused, "late-duplicate-acquire-refused", Needs::Model),
    (Condition::OldPrimaryAcknowledged, "old-primary-acknowledged", Needs::Model),
    (Condition::RenewalReplyLost, "renewal-reply-lost", Needs::Any),
    (Condition::LateReply, "reply-after-the-next-request", Needs::Model),
    (Condition::ReplyOvertaken, "reply-overtaken", Needs::Model),
    (Condition::PauseBetweenCheckAndEffect, "pause-between-check-and-effect", Needs::Any),
    (Condition::EffectAfterTheLead, "effect-after-the-lead", Needs::Any),
    (Condition::LeaderSuperseded, "superseded-leader-stepped-down", Needs::Any),
    (Condition::ResignedWhileCutOff, "resigned-while-cut-off", Needs::Any),
    (Condition::RestartedNodeLedAgain, "restarted-node-leads-again", Needs::Any),
    (Condition::NobodyLedForALease, "nobody-led-for-a-lease", Needs::Any),
    (Condition::CrashedInAQuarantine, "crash-within-a-quarantine", Needs::Any),
    (Condition::StoreReplacedInAQuarantine, "store-replaced-within-a-quarantine", Needs::Any),
    (Condition::AllNodesCutOff, "all-nodes-cut-off", Needs::Any),
    (Condition::SeveralFaultsAtOnce, "several-faults-at-once", Needs::Any),
    (Condition::ClockSteppedUnderALeader, "clock-stepped-under-a-leader", Needs::Any),
    (Condition::StoreClockSteppedUnderALeader, "store-clock-stepped-under-a-leader", Needs::Any),
    (Condition::StoreRolledBackUnderALeader, "store-rolled-back-under-a-leader", Needs::Model),
    (Condition::FailoverUnderALeader, "failover-under-a-leader", Needs::Model),
    (Condition::LeaderSuspended, "leader-suspended", Needs::Model),
    (Condition::LeaderStoppedWithItsClocks, "leader-stopped-with-its-clocks", Needs::Model),
    (Condition::LeaderSnapshot, "leader-restored-from-a-snapshot", Needs::Model),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Any engine can meet it.
    Any,
    /// It takes messages that overtake each other, replicas, or machines that sleep or are restored.
    Model,
}

impl Condition {
    pub(super) const COUNT: usize = Self::LAST as usize + 1;
    const LAST: Self = Self::LeaderSnapshot;

    pub(super) const fn name(self) -> &'static str {
        ALL[self as usize].1
    }

    pub(super) fn all() -> impl Iterator<Item = Self> {
        ALL.into_iter().map(|(condition, ..)| condition)
    }

    /// Whether an engine of that scope can be expected to meet it.
    pub(super) fn is_in(self, scope: Scope) -> bool {
        match scope {
            Scope::Model => true,
            Scope::Turmoil => ALL[self as usize].2 == Needs::Any,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_in_order_and_their_names_are_unique() {
        for (place, (condition, ..)) in ALL.iter().enumerate() {
            assert_eq!(*condition as usize, place);
        }
        let names: std::collections::BTreeSet<_> = ALL.map(|(_, name, _)| name).into();
        assert_eq!(names.len(), Condition::COUNT);
    }
}
