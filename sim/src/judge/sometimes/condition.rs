//! The conditions, their names, and the engines that can meet them. Those that show a kind of fault
//! are in its row in the catalogue of faults.

use crate::plan::{FaultKind, Scope, Shows};

/// A situation that a campaign should have met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Condition {
    /// A grant over the lease of another holder that was not handed back.
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
    /// A grant over another holder's lease while a renewal of that lease was on its way.
    TakeoverUnderARenewal,
    /// A grant over the lease of a holder had resigned, and whose release never arrived.
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
}

/// All conditions in order: the name, and which engines can meet it.
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
    (
        Condition::LedWhilePartitioned,
        "led-while-partitioned-and-ended-itself",
        Needs::Fault(&[FaultKind::Partition]),
    ),
    (Condition::LeaderPausedPastItsLease, "leader-paused-past-its-lease", Needs::Any),
    (Condition::ResignedUnderWork, "resigned-under-work", Needs::Any),
    (Condition::ReleaseAfterDrain, "release-after-drain", Needs::Any),
    (Condition::DrainingWorkDropped, "draining-work-dropped", Needs::Any),
    (Condition::DrainLengthened, "drain-lengthened-by-a-renewal", Needs::Any),
    (Condition::TakeoverUnderARenewal, "takeover-under-a-renewal", Needs::Simulation),
    (Condition::ResignedLeaseRanOut, "release-lost-lease-ran-out", Needs::Any),
    (Condition::GrantHandedBackUnused, "grant-handed-back-unused", Needs::Any),
    (Condition::GrantBeyondTheRecord, "grant-above-a-lost-tenure", Needs::Requests),
    (Condition::RenewedWithoutALeader, "renewed-without-a-leader", Needs::Changes),
    (Condition::RenewedAtTheLastMoment, "renewal-at-the-last-moment", Needs::Model),
    (Condition::RenewalAfterRelease, "duplicate-renewal-after-release", Needs::Model),
    (Condition::LateAcquireRefused, "late-duplicate-acquire-refused", Needs::Model),
    (
        Condition::OldPrimaryAcknowledged,
        "old-primary-acknowledged",
        Needs::Fault(&[FaultKind::OldPrimary, FaultKind::SplitBrain]),
    ),
    (Condition::RenewalReplyLost, "renewal-reply-lost", Needs::Changes),
    (Condition::LateReply, "reply-after-the-next-request", Needs::Model),
    (Condition::ReplyOvertaken, "reply-overtaken", Needs::Model),
    (Condition::PauseBetweenCheckAndEffect, "pause-between-check-and-effect", Needs::Any),
    (Condition::EffectAfterTheLead, "effect-after-the-lead", Needs::Any),
    (Condition::LeaderSuperseded, "superseded-leader-stepped-down", Needs::Any),
    (
        Condition::ResignedWhileCutOff,
        "resigned-while-cut-off",
        Needs::Fault(&[FaultKind::Partition]),
    ),
    (Condition::RestartedNodeLedAgain, "restarted-node-leads-again", Needs::Any),
    (Condition::NobodyLedForALease, "nobody-led-for-a-lease", Needs::Any),
    (Condition::CrashedInAQuarantine, "crash-within-a-quarantine", Needs::Any),
    (Condition::StoreReplacedInAQuarantine, "store-replaced-within-a-quarantine", Needs::Any),
    (Condition::AllNodesCutOff, "all-nodes-cut-off", Needs::Fault(&[FaultKind::Partition])),
    (Condition::SeveralFaultsAtOnce, "several-faults-at-once", Needs::Any),
];

/// The engines that a condition needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Every engine.
    Any,
    /// One that has a fault of one of these kinds.
    Fault(&'static [FaultKind]),
    /// A store that shows each change of a record.
    Changes,
    /// A store that shows each request.
    Requests,
    /// An engine that simulates: a store that shows what it refuses, and faults that strike within
    /// a millisecond.
    Simulation,
    /// The model engine alone: messages that overtake each other.
    Model,
}

impl Condition {
    pub(super) const COUNT: usize = Self::LAST as usize + 1;
    const LAST: Self = Self::SeveralFaultsAtOnce;

    pub(super) const fn name(self) -> &'static str {
        ALL[self as usize].1
    }

    pub(super) fn all() -> impl Iterator<Item = Self> {
        ALL.into_iter().map(|(condition, ..)| condition)
    }

    /// True if only the events of an engine's own leader-only work meet it.
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

    /// True if an engine of that scope can meet it.
    pub(super) fn is_in(self, scope: Scope) -> bool {
        match (ALL[self as usize].2, scope) {
            (Needs::Any, _)
            | (
                Needs::Changes | Needs::Requests | Needs::Simulation,
                Scope::Model | Scope::Turmoil,
            )
            | (Needs::Model, Scope::Model) => true,
            (Needs::Fault(kinds), _) => kinds.iter().any(|kind| scope.draws(*kind)),
            (Needs::Changes, Scope::Real(backend)) => backend.shows >= Shows::Changes,
            (Needs::Requests, Scope::Real(backend)) => backend.shows >= Shows::Requests,
            (Needs::Simulation | Needs::Model, Scope::Real(_)) | (Needs::Model, Scope::Turmoil) => {
                false
            }
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
