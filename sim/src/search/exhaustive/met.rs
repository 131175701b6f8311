//! The situations that a search reached. A search without a takeover says nothing about takeovers.

use super::bounds::Faults;

/// A situation that a search should reach on some path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Elected,
    Renewed,
    Expired,
    Superseded,
    Resigned,
    HandedOver,
    KeptWhileDraining,
    LeaderPaused,
    LeaderCrashed,
    Duplicated,
    StoreReplacedUnderALead,
    LateReply,
    LateRequest,
    Looked,
    StaleRefused,
    Taken,
    TakenAtTheVeryEnd,
    GrantReportedAgain,
    WatchedThePast,
    RefusedByThePast,
    LeaderToldOfAPast,
    LeaderWatchedThePast,
    LedByAnotherServer,
    LedAfterAnother,
    AskedByTheWished,
    RefusedForTheWished,
    TakenByTheWished,
}

/// All conditions, with their names.
const ALL: [(Condition, &str); 27] = [
    (Condition::Elected, "a candidate is elected"),
    (Condition::Renewed, "a lead is renewed"),
    (Condition::Expired, "a lead expires"),
    (Condition::Superseded, "a leader is told that its tenure is over"),
    (Condition::Resigned, "a leader resigns"),
    (Condition::HandedOver, "a leader hands over to a candidate that was wished for"),
    (Condition::KeptWhileDraining, "a lease is renewed, or lost, while work drains"),
    (Condition::LeaderPaused, "a leader is paused"),
    (Condition::LeaderCrashed, "a leader crashes"),
    (Condition::Duplicated, "a message arrives, and a duplicate of it stays in flight"),
    (Condition::LateReply, "a reply comes to a request that is no longer the last"),
    (Condition::LateRequest, "a request is served that is no longer the last"),
    (Condition::Looked, "a look shows a lease"),
    (Condition::StaleRefused, "an acquire is refused for what it has not seen or watched"),
    (Condition::Taken, "a lease is taken that was watched"),
    (Condition::TakenAtTheVeryEnd, "a lease is taken on the first tick on which it may be"),
    (Condition::GrantReportedAgain, "a grant is reported again"),
    (Condition::LedAfterAnother, "a candidate leads after another tenure"),
    (Condition::StoreReplacedUnderALead, "another server takes the store's place under a lead"),
    (Condition::WatchedThePast, "a candidate begins to watch a past"),
    (Condition::RefusedByThePast, "an acquire is refused because nobody has watched the past"),
    (Condition::LeaderToldOfAPast, "a leader is told of a past that nobody has watched"),
    (Condition::LeaderWatchedThePast, "a leader's renewal tells that the past was watched"),
    (
        Condition::LedByAnotherServer,
        "a candidate leads by the grant of a server that took the store's place",
    ),
    (Condition::AskedByTheWished, "the ask of a candidate that was wished for is noted"),
    (Condition::RefusedForTheWished, "an acquire is refused because the lease is kept for another"),
    (Condition::TakenByTheWished, "a lease is granted to the candidate that it was kept for"),
];

impl Condition {
    /// True if it can be met where there are these faults at most.
    const fn is_possible(self, faults: Faults) -> bool {
        match self {
            Self::Resigned | Self::KeptWhileDraining => faults.resigns > 0,
            Self::HandedOver
            | Self::AskedByTheWished
            | Self::RefusedForTheWished
            | Self::TakenByTheWished => faults.wishes > 0,
            Self::LeaderPaused => faults.pauses > 0,
            Self::LeaderCrashed => faults.crashes > 0,
            Self::Duplicated => faults.duplicates > 0,
            Self::Superseded
            | Self::StoreReplacedUnderALead
            | Self::WatchedThePast
            | Self::RefusedByThePast
            | Self::LeaderToldOfAPast
            | Self::LeaderWatchedThePast
            | Self::LedByAnotherServer => faults.store_losses > 0,
            Self::Elected
            | Self::Renewed
            | Self::Expired
            | Self::LateReply
            | Self::LateRequest
            | Self::Looked
            | Self::StaleRefused
            | Self::Taken
            | Self::TakenAtTheVeryEnd
            | Self::GrantReportedAgain
            | Self::LedAfterAnother => true,
        }
    }
}

/// The conditions that were met, and on request notes about the effects of each action.
#[derive(Debug, Default)]
pub(super) struct Seen {
    met: u32,
    pub(super) notes: Option<Vec<String>>,
}

impl Seen {
    /// Records notes too.
    pub(super) fn noting() -> Self {
        Self { met: 0, notes: Some(Vec::new()) }
    }

    pub(super) fn met(&mut self, condition: Condition) {
        self.met |= 1 << condition as u32;
    }

    pub(super) fn note(&mut self, note: impl FnOnce() -> String) {
        if let Some(notes) = &mut self.notes {
            notes.push(note());
        }
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.met |= more.met;
    }

    /// The names of the conditions that were met, and of those that were not although there may be
    /// such faults.
    pub(super) fn split(&self, faults: Faults) -> (Vec<String>, Vec<String>) {
        let possible = ALL.iter().filter(|(condition, _)| condition.is_possible(faults));
        let (met, unmet): (Vec<_>, Vec<_>) =
            possible.partition(|(condition, _)| self.met & (1 << *condition as u32) != 0);
        let names =
            |of: Vec<&(Condition, &str)>| of.iter().map(|(_, name)| (*name).to_owned()).collect();
        (names(met), names(unmet))
    }
}
