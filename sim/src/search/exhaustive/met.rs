//! Which situations did a search reach? A search without a takeover says nothing about takeovers.

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
    LeaderCrashed,
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
const ALL: [(Condition, &str); 25] = [
    (Condition::Elected, "a candidate is elected"),
    (Condition::Renewed, "a lead is renewed"),
    (Condition::Expired, "a lead expires"),
    (Condition::Superseded, "a leader is told that its tenure is over"),
    (Condition::Resigned, "a leader resigns"),
    (Condition::HandedOver, "a leader hands over to a candidate that was wished for"),
    (Condition::KeptWhileDraining, "a lease is renewed, or lost, while work drains"),
    (Condition::LeaderCrashed, "a leader crashes"),
    (Condition::StoreReplacedUnderALead, "another server takes the store's place under a lead"),
    (Condition::LateReply, "a reply comes to a request that is no longer the last"),
    (Condition::LateRequest, "a request is served that is no longer the last"),
    (Condition::Looked, "a look shows a lease"),
    (Condition::StaleRefused, "an acquire is refused for what it has not seen or watched"),
    (Condition::Taken, "a lease is taken that was watched"),
    (Condition::TakenAtTheVeryEnd, "a lease is taken on the first tick on which it may be"),
    (Condition::GrantReportedAgain, "a grant is told again"),
    (Condition::WatchedThePast, "a candidate begins to watch a past"),
    (Condition::RefusedByThePast, "an acquire is refused because nobody has watched the past"),
    (Condition::LeaderToldOfAPast, "a leader is told of a past that nobody has watched"),
    (Condition::LeaderWatchedThePast, "a leader's renewal tells that the past was watched"),
    (
        Condition::LedByAnotherServer,
        "a candidate leads by the grant of a server that took the store's place",
    ),
    (Condition::LedAfterAnother, "a candidate leads after another tenure"),
    (Condition::AskedByTheWished, "the ask of a candidate that was wished for is noted"),
    (Condition::RefusedForTheWished, "an acquire is refused because the lease is kept for another"),
    (Condition::TakenByTheWished, "a lease is granted to the candidate that it was kept for"),
];

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

    /// The names of the conditions that were met, and of those that were not.
    pub(super) fn split(&self) -> (Vec<String>, Vec<String>) {
        let (met, unmet): (Vec<_>, Vec<_>) =
            ALL.iter().partition(|(condition, _)| self.met & (1 << *condition as u32) != 0);
        let names =
            |of: Vec<&(Condition, &str)>| of.iter().map(|(_, name)| (*name).to_owned()).collect();
        (names(met), names(unmet))
    }
}
