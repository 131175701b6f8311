//! Which situations did a search reach? A search without a takeover says nothing about takeovers.

/// A situation that a search should reach on some path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Elected,
    Renewed,
    Expired,
    Superseded,
    Resigned,
    Quarantined,
    KeptWhileDraining,
    LeaderCrashed,
    StoreReplacedUnderALead,
    LateReply,
    LateRequest,
    StaleRefused,
    GrantedAtTheVeryEnd,
    GrantReportedAgain,
    GrantedByAnotherServer,
    LedAfterAQuarantine,
    LedAfterAnother,
}

/// All conditions, with their names.
const ALL: [(Condition, &str); 17] = [
    (Condition::Elected, "a candidate is elected"),
    (Condition::Renewed, "a lead is renewed"),
    (Condition::Expired, "a lead expires"),
    (Condition::Superseded, "a leader is told that its tenure is over"),
    (Condition::Resigned, "a leader resigns"),
    (Condition::Quarantined, "a grant waits out a quarantine"),
    (Condition::KeptWhileDraining, "a lease is renewed, or lost, while work drains"),
    (Condition::LeaderCrashed, "a leader crashes"),
    (Condition::StoreReplacedUnderALead, "another server takes the store's place under a lead"),
    (Condition::LateReply, "a reply comes to a request that is no longer the last"),
    (Condition::LateRequest, "a request is served that is no longer the last"),
    (Condition::StaleRefused, "an acquire is refused as stale"),
    (Condition::GrantedAtTheVeryEnd, "a lease is granted at the very end of another"),
    (Condition::GrantReportedAgain, "a grant is told again"),
    (Condition::GrantedByAnotherServer, "a server that took the store's place grants the lease"),
    (Condition::LedAfterAQuarantine, "a candidate leads by the grant of such a server"),
    (Condition::LedAfterAnother, "a candidate leads after another tenure"),
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
