//! Mutants of the state machine.

use super::super::{Mutant, Shows};

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "deadline-counted-from-reply",
        about: "a claim's end is counted from the reply, not from the sending",
        shows: Shows::Both("latency,hold,pause"),
        caught_by: &["margin-kept"],
    },
    // If the deadline still closed, the first reader after the claim's end would end it for good.
    Mutant {
        name: "late-renewal-counts",
        about: "a renewal that arrives after the end of the claim revives it",
        shows: Shows::Both("pause-after-send"),
        caught_by: &["no-resurrection"],
    },
    Mutant {
        name: "quarantine-ignored",
        about: "a candidate says at once that it has watched the past for long enough",
        shows: Shows::Both("store-loss,partition,pause"),
        caught_by: &["single-leader", "store-loss-quarantine"],
    },
    Mutant {
        name: "waits-beyond-lease",
        about: "a waiting candidate sleeps on after it has watched a lease for long enough",
        shows: Shows::Both("crash,partition"),
        caught_by: &["leader-within"],
    },
    Mutant {
        name: "never-looks",
        about: "a waiting candidate does not look whether the leader has renewed",
        shows: Shows::Model,
        caught_by: &["asks-in-time"],
    },
    Mutant {
        name: "claim-holds-at-its-end",
        about: "a claim still holds at the moment of its end",
        shows: Shows::Model,
        caught_by: &["fail-closed"],
    },
    Mutant {
        name: "past-watched-from-request",
        about: "a watch of the past begins with the request, not with the answer",
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "lease-watched-from-request",
        about: "a watch of a lease begins with the request, not with the answer",
        shows: Shows::Model,
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "renewed-lease-watched-on",
        about: "a watch of a lease is not begun anew when the lease was renewed",
        shows: Shows::Both("crash,partition"),
        caught_by: &["single-leader", "drained-before-the-next"],
    },
    Mutant {
        name: "lease-watched-for-half",
        about: "a candidate takes a lease that it has watched for half of its TTL",
        shows: Shows::Model,
        caught_by: &["single-leader", "drained-before-the-next"],
    },
    Mutant {
        name: "watched-stamp-exaggerated",
        about: "a candidate says that it has watched the past twice as long as it has",
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "watched-on-after-a-loss",
        about: "a watch of the past is not begun anew when the store tells another stamp",
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine", "single-leader"],
    },
    Mutant {
        name: "past-watched-over-a-suspend",
        about: "a watch of the past goes on over a suspend, which the machine's clock may miscount",
        shows: Shows::Model,
        caught_by: &["store-loss-quarantine"],
    },
    Mutant {
        name: "lease-watched-over-a-suspend",
        about: "a watch of a lease goes on over a suspend",
        shows: Shows::Model,
        caught_by: &["single-leader"],
    },
    Mutant {
        name: "hints-ignored",
        about: "a waiting candidate does not react to hints",
        shows: Shows::Model,
        caught_by: &["handover-within"],
    },
    Mutant {
        name: "superseded-ignored",
        about: "a leader keeps leading after the store answered that the lease is over",
        shows: Shows::Model,
        caught_by: &["renews-in-time", "drains-within-bounds"],
    },
    Mutant {
        name: "renewed-once",
        about: "only the first renewal is sent in time",
        shows: Shows::Model,
        caught_by: &["no-churn-when-healthy"],
    },
    Mutant {
        name: "any-reply-answers",
        about: "a late reply to an earlier request is used for the present one",
        shows: Shows::Model,
        caught_by: &["margin-kept"],
    },
    Mutant {
        name: "late-grant-used",
        about: "a grant that arrives after its claim's end makes a leader",
        shows: Shows::Model,
        caught_by: &["no-resurrection"],
    },
    Mutant {
        name: "requests-never-given-up",
        about: "a candidate waits for a reply without end",
        shows: Shows::Model,
        caught_by: &["leader-within"],
    },
    Mutant {
        name: "answers-teach-no-token",
        about: "a candidate does not learn the tokens that a store tells",
        shows: Shows::Model,
        caught_by: &["no-resurrection"],
    },
    Mutant {
        name: "backoff-without-bound",
        about: "the delay before another attempt has no upper bound",
        shows: Shows::Model,
        caught_by: &["leader-within"],
    },
    Mutant {
        name: "withdrawn-grant-kept",
        about: "a grant that arrives while a campaign is given up is kept, without a leader",
        shows: Shows::Model,
        caught_by: &["leases-handed-back"],
    },
    Mutant {
        name: "withdrawn-grant-used",
        about: "a grant that arrives while a campaign is given up makes the resigned candidate lead",
        shows: Shows::Model,
        caught_by: &["leases-handed-back"],
    },
    Mutant {
        name: "stray-grant-kept",
        about: "a grant of an abandoned campaign is not handed back",
        shows: Shows::Model,
        caught_by: &["leases-handed-back"],
    },
    Mutant {
        name: "failed-renewal-not-retried",
        about: "a renewal with unknown outcome is not retried in time",
        shows: Shows::Model,
        caught_by: &["renews-in-time"],
    },
];
