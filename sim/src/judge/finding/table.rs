//! The findings of all properties: the values of each, and its text.

use std::time::Duration;

use super::Part;
use super::Part::{Detail, Token};
use crate::judge::state::Leader;
use crate::plan::SimTime;
use crate::trace::{Answer, Asked, Reason, StoreStep, Who};

/// Rows of a variant, its fields, and the parts of its text.
macro_rules! findings {
    ($(
        $(#[$about:meta])*
        $name:ident { $($field:ident: $kind:ty),* $(,)? } = [$($part:expr),+ $(,)?];
    )+) => {
        /// A failed check, with its candidates, tokens and times.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "`who` acts under `token`; the text explains the rest")]
        pub enum Finding {
            $($(#[$about])* $name { $($field: $kind),* },)+
            /// The finding of another election than the first one of a run.
            InElection { election: usize, finding: Box<Finding> },
            /// In the words of a user's own property, or of an engine.
            Told(String),
            /// About candidates that the logs of an application name.
            OfLogs(Vec<Part>),
        }

        impl Finding {
            /// The parts of its text, in order.
            pub fn parts(&self) -> Vec<Part> {
                match self.clone() {
                    $(Self::$name { $($field),* } => vec![$(Part::from($part)),+],)+
                    Self::InElection { election, finding } => {
                        let begins = [Part::from("in election "), Detail(format!("{election}: "))];
                        begins.into_iter().chain(finding.parts()).collect()
                    }
                    Self::Told(text) => vec![Detail(text)],
                    Self::OfLogs(parts) => parts,
                }
            }
        }
    };
}

findings! {
    // single-leader
    /// Two candidates answer "I lead" at one instant.
    TwoLeaders { one: Leader, other: Leader, at: SimTime } = [
        one.who, " leads under token ", Token(one.token), " and ", other.who, " under token ",
        Token(other.token), ", both at ", at,
    ];

    // margin-kept
    /// A claim rests on no grant.
    ClaimWithoutGrant { who: Who, token: u64 } = [
        who, " claims token ", Token(token), ", which the store never granted",
    ];
    /// A claim ends too near to the end of its lease.
    ClaimTooLong {
        who: Who, token: u64, claim_ends: SimTime, margin: Duration, lease_ends: SimTime,
    } = [
        who, " claims token ", Token(token), " until ", claim_ends, ", which is not ", margin,
        " before its lease ends at ", lease_ends,
    ];

    // fail-closed
    /// A lead rests on no grant.
    LeadWithoutGrant { who: Who, token: u64 } = [
        who, " leads under token ", Token(token), ", which was never granted",
    ];
    /// A lead lasts beyond the end of what it rests on.
    LeadTooLong { who: Who, token: u64, over_from: SimTime } = [
        who, " still leads under token ", Token(token), ", over at ", over_from,
    ];

    // token-monotonic
    /// The store granted a token that is not above the last one.
    GrantNotAbove { token: u64, last: u64 } = [
        "the store granted token ", Token(token), " after token ", Token(last),
    ];
    /// An election rests on no grant.
    ElectedWithoutGrant { who: Who, token: u64 } = [
        who, " is elected under token ", Token(token), ", which was never granted",
    ];
    /// Two candidates share a token.
    BothElected { one: Who, other: Who, token: u64 } = [
        one, " and ", other, " are both elected under token ", Token(token),
    ];
    /// A candidate's token is not above its last one.
    ElectedNotAbove { who: Who, token: u64, last: u64 } = [
        who, " is elected under token ", Token(token), " after token ", Token(last),
    ];

    // leads-in-order
    /// A lead begins below an earlier one.
    LeadNotAbove { who: Who, token: u64, other: Who, last: u64 } = [
        who, " leads under token ", Token(token), " after ", other, " has led under token ",
        Token(last),
    ];

    // fenced-writes and unfenced-in-order
    /// A write rests on no grant.
    WriteWithoutGrant { who: Who, token: u64 } = [
        who, " wrote under token ", Token(token), ", which was never granted",
    ];
    /// A write of an older tenure was accepted after one of a newer.
    WriteOutOfOrder { who: Who, token: u64, newer: u64 } = [
        who, " wrote under token ", Token(token), " after a write under ", Token(newer),
    ];
    /// Two candidates wrote under one token.
    BothWrote { one: Who, other: Who, token: u64 } = [
        one, " and ", other, " both wrote under token ", Token(token),
    ];

    // fenced-reads
    /// A write of another tenure came between a read and the write that follows from it.
    WriteBetween { who: Who, token: u64, checked: SimTime, other: u64, written: SimTime } = [
        who, " wrote under token ", Token(token), " what it had read at ", checked,
        ", but a write under token ", Token(other), " was accepted at ", written,
    ];

    // own-lease-only
    /// A step of the store that its contract does not allow.
    StepNotAllowed { rule: &'static str, step: Box<StoreStep> } = [
        Detail(rule.to_owned()), ": ", Detail(format!("{step:?}")),
    ];

    // linearizable
    /// A candidate got an answer that the store did not give since.
    AnswerFromNowhere { who: Who, answer: Answer, request: Asked } = [
        who, " got ", Detail(format!("{answer:?}")), " to ", Detail(format!("{request:?}")),
        ", which the store has not answered since",
    ];
    /// No order of the requests explains their answers.
    NoOrder { known: String, steps: String } = [
        "no order explains these answers, after ", Detail(known), ": ", Detail(steps),
    ];

    // one-step-down-per-election
    /// A candidate is elected again without an end of its last tenure.
    ElectedTwice { who: Who, token: u64, before: u64 } = [
        who, " is elected under token ", Token(token), " before it has stepped down from ",
        Token(before),
    ];
    /// A candidate renews a token under which it was not elected.
    RenewsAnother { who: Who, token: u64, leads: Option<u64> } = [
        who, " renews token ", Token(token), ", but leads under ", Detail(format!("{leads:?}")),
    ];
    /// A candidate steps down from a token under which it was not elected.
    LeavesAnother { who: Who, token: u64, leads: Option<u64> } = [
        who, " steps down from token ", Token(token), ", but leads under ",
        Detail(format!("{leads:?}")),
    ];

    // no-resurrection
    /// A candidate is elected under a claim that is over.
    ElectedTooLate { who: Who, token: u64 } = [
        who, " is elected under token ", Token(token), " after its claim has ended",
    ];
    /// A candidate leads under a tenure that is over.
    LeadsAgain { who: Who, token: u64, over: u64 } = [
        who, " leads under token ", Token(token), " again; its tenure of token ", Token(over),
        " is over",
    ];

    // no-release-under-work
    /// Work begins after the release.
    WorksAfterRelease { who: Who, token: u64 } = [
        who, " works under token ", Token(token), " after it has handed it back",
    ];
    /// A lease is handed back under its work.
    ReleaseUnderWork { who: Who, token: u64 } = [
        who, " hands token ", Token(token), " back while it works under it",
    ];
    /// A candidate campaigns under its own work.
    CampaignUnderWork { who: Who, token: u64 } = [
        who, " campaigns while it works under token ", Token(token),
    ];

    // drained-before-the-next
    /// Work may drain beyond its lease.
    DrainsBeyondLease { who: Who, token: u64, until: SimTime, lease_ends: SimTime } = [
        who, " lets work drain under token ", Token(token), " until ", until,
        ", and its lease ends at ", lease_ends,
    ];
    /// A lead begins while work of another tenure may drain.
    LeadsWhileDraining { leader: Who, who: Who, token: u64, until: SimTime } = [
        leader, " leads, and work of ", who, " under token ", Token(token), " drains until ", until,
    ];

    // drains-within-bounds
    /// Work may drain for too long.
    DrainsTooLong { who: Who, token: u64, until: SimTime, most: SimTime } = [
        who, " lets work drain under token ", Token(token), " until ", until,
        ", but no longer than ", most, " is permitted",
    ];
    /// Work was polled after its time to drain.
    PolledTooLate { who: Who, token: u64, ends: SimTime } = [
        "work of ", who, " under token ", Token(token), " was still polled after ", ends,
    ];

    // leases-handed-back
    /// A candidate campaigns before the release that it owes.
    OwesRelease { who: Who, token: u64 } = [
        who, " campaigns before it has handed token ", Token(token), " back",
    ];
    /// A candidate leads although it has resigned.
    LeadsAfterResigning { who: Who } = [who, " takes the lead after it has resigned"];

    // store-loss-quarantine
    /// A server grants a lease before its quarantine is over.
    GrantedInQuarantine { token: u64, server: u32, until: SimTime } = [
        "token ", Token(token), " is granted by server ", Detail(server.to_string()),
        ", whose quarantine lasts until ", until,
    ];

    // leader-within
    /// No candidate led in time after the faults.
    NoLeader { due: SimTime, bound: Duration } = [
        "no candidate led by ", due, ", which is ", bound, " after the calm began",
    ];

    // no-churn-when-healthy
    /// A leader lost its lead in the calm.
    LeadLost { who: Who, token: u64, reason: Reason } = [
        who, " lost token ", Token(token), " in the calm: ", Detail(format!("{reason:?}")),
    ];
    /// Another candidate took the lead in the calm.
    LeadTaken { by: Leader, from: Leader } = [
        by.who, " leads under token ", Token(by.token), ", though ", from.who, " led under token ",
        Token(from.token), " in the calm",
    ];

    // renews-in-time
    /// A leader does not renew its lease.
    NoRenewal { who: Who, due: SimTime } = [who, " leads, but has sent no renewal by ", due];

    // asks-in-time
    /// A waiting candidate sends no request.
    NotAsked { who: Who, due: SimTime } = [
        who, " waits for the lease, but has sent no request by ", due,
    ];

    // handover-within
    /// No candidate led in time after a release.
    NoHandover { token: u64, due: SimTime } = [
        "no candidate led by ", due, " after token ", Token(token), " was handed back",
    ];

    // no-late-quarantine
    /// A candidate has to watch a past for longer than it must.
    LateQuarantine { who: Who, since: SimTime } = [
        who, " is told to watch the store's past, which it has watched since ", since,
    ];

    // takeover-within
    /// No candidate led in time after the end of a lease.
    NoTakeover { who: Who, due: SimTime } = [
        "no candidate led by ", due, ", though the lease that ", who, " waits for has ended",
    ];

    // resigned-within
    /// A resignation does not end.
    ResignationTooLong { who: Who, due: SimTime } = [
        "the resignation of ", who, " has not ended by ", due,
    ];
    /// A resignation gave up under work, without an excuse.
    StillRunning { who: Who } = [
        "the resignation of ", who, " ended with StillRunning, though its driver ran",
    ];

    // answered-when-healthy
    /// A request over a working connection failed.
    RequestFailed { who: Who, id: u64 } = [
        "request ", Detail(id.to_string()), " of ", who, " failed in the calm",
    ];
    /// A request over a working connection got no answer.
    NotAnswered { who: Who, id: u64, due: SimTime } = [
        "request ", Detail(id.to_string()), " of ", who, " was not answered by ", due,
        ", in the calm",
    ];

    // stays-out
    /// A candidate that has left campaigns.
    CampaignsAfterLeaving { who: Who } = [who, " has left, but campaigns without a request"];
    /// A candidate campaigns within its hold-off.
    CampaignsTooSoon { who: Who, until: SimTime } = [
        who, " has resigned, but campaigns before ", until,
    ];

    // looks-within
    /// A look for the leader does not end.
    LookTooLong { who: Who, due: SimTime } = [
        who, " looks for the leader, and has no answer by ", due,
    ];

    // resigned-at-once
    /// A candidate leads after it was asked to resign.
    LeadsOnRequest { who: Who, token: u64, asked: SimTime } = [
        who, " still leads under token ", Token(token), ", but was asked to resign at ", asked,
    ];

    // told-of-the-end
    /// Work that waits for the end of its tenure is not cancelled.
    NotCancelled { who: Who, token: u64, ends: SimTime } = [
        "work of ", who, " under token ", Token(token),
        " is not cancelled, though the tenure was over at ", ends,
    ];

    // driver-runs-on
    /// A driver panicked, or one of its turns did not end.
    DriverPanicked { who: Who, what: String } = [
        "the driver of ", who, " panicked: ", Detail(what),
    ];

    // no-lead-lost-to-overload
    /// A lead was lost that the store could have renewed.
    LeadLostToOverload {
        who: Who, token: u64, at: SimTime, reason: Reason, capacity: u64, from: SimTime,
        leaders: u64, needs: u64,
    } = [
        who, " lost its lead under token ", Token(token), " at ", at,
        Detail(format!(" ({reason:?}), although the store could have carried out {capacity}")),
        " renewals since ",
        from, Detail(format!(", and {leaders} leaders need {needs}")),
    ];

    // renewals-before-acquires
    /// An acquire was sent before a renewal that was due.
    AcquireBeforeRenewal { who: Who, waits: Who, late: Duration } = [
        "the acquire of ", who, " was sent while the renewal of ", waits, " had been due for ",
        late,
    ];

    // fair-within-a-class
    /// A candidate asked before one that had joined earlier.
    AskedOutOfTurn { who: Who, first: Who, at: SimTime } = [
        "the first acquire of ", who, " was sent at ", at, ", before that of ", first,
        ", which joined earlier",
    ];
    /// One renewal waited for much longer than the others.
    RenewalLate { who: Who, at: SimTime, late: Duration, mean: Duration } = [
        "the renewal of ", who, " was ", late, " late at ", at, ", and ", mean, " is the mean",
    ];

    // spread-over-the-interval
    /// Renewals were sent in a bunch.
    RenewalsBunched { from: SimTime, sent: usize, mean: usize } = [
        Detail(format!("{sent} renewals were sent in the second from ")), from,
        Detail(format!(" on, and {mean} in the mean")),
    ];

    // bounded-window
    /// Too many calls are in flight.
    TooManyCalls { process: usize, at: SimTime, calls: u128, most: u128 } = [
        Detail(format!("process {process} has {calls} calls in flight at ")), at,
        Detail(format!(", and {most} would do")),
    ];
}
