//! Mutants of the end of a tenure: draining work, leases that are handed back, candidates that stay
//! out.

use super::super::{Mutant, Shows};

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "step-down-told-twice",
        about: "the end of a tenure is reported twice",
        shows: Shows::Both("partition,pause"),
        caught_by: &["one-step-down-per-election"],
    },
    Mutant {
        name: "wish-not-answered",
        about: "the candidate that is wished for does not ask for the lead",
        shows: Shows::Both("hand-over"),
        caught_by: &["handed-over-to-the-one-that-was-meant"],
    },
    Mutant {
        name: "ask-not-heard",
        about: "a leader leads on although the candidate that is wished for asks for the lead",
        shows: Shows::Both("hand-over"),
        caught_by: &["handed-over-to-the-one-that-was-meant"],
    },
    Mutant {
        name: "resign-releases-at-once",
        about: "a resigning leader hands the lease back while work still drains",
        shows: Shows::Model,
        caught_by: &["no-release-under-work", "unfenced-in-order"],
    },
    Mutant {
        name: "campaigns-before-drained",
        about: "a leader whose claim has ended campaigns while its work still drains",
        shows: Shows::Model,
        caught_by: &["no-release-under-work", "leases-handed-back"],
    },
    Mutant {
        name: "no-release-after-step-down",
        about: "after a step-down the lease is not handed back once the work has ended",
        shows: Shows::Model,
        caught_by: &["leases-handed-back"],
    },
    Mutant {
        name: "no-release-after-resign",
        about: "a resigned leader lets the lease end by itself",
        shows: Shows::Model,
        caught_by: &["leases-handed-back"],
    },
    Mutant {
        name: "drains-beyond-lease",
        about: "draining work may continue beyond the end of the lease that covers it",
        shows: Shows::Model,
        caught_by: &["drained-before-the-next"],
    },
    Mutant {
        name: "superseded-work-drains-on",
        about: "work continues to drain after the store answered that the lease is over",
        shows: Shows::Model,
        caught_by: &["drains-within-bounds"],
    },
    Mutant {
        name: "drain-bound-doubled",
        about: "a resigned leader's work is given twice the drain bound",
        shows: Shows::Model,
        caught_by: &["drains-within-bounds", "resigned-within"],
    },
    Mutant {
        name: "expiry-told-as-superseded",
        about: "the end of a claim by time is reported as a store's refusal",
        shows: Shows::Model,
        caught_by: &["drains-within-bounds"],
    },
    Mutant {
        name: "release-without-bound",
        about: "the release of a lease is retried without end",
        shows: Shows::Model,
        caught_by: &["resigned-within"],
    },
    Mutant {
        name: "withdrawal-without-bound",
        about: "a campaign that is given up waits for its last reply without end",
        shows: Shows::Model,
        caught_by: &["resigned-within"],
    },
    Mutant {
        name: "hold-off-ignored",
        about: "a resigned leader campaigns again at once, without its hold-off",
        shows: Shows::Model,
        caught_by: &["stays-out"],
    },
    Mutant {
        name: "stopped-campaigns-on",
        about: "a candidate that was stopped campaigns again",
        shows: Shows::Model,
        caught_by: &["stays-out"],
    },
    Mutant {
        name: "drain-not-cut-short",
        about: "draining work does not learn that its tenure was superseded",
        shows: Shows::Model,
        caught_by: &["drains-within-bounds"],
    },
    Mutant {
        name: "drain-not-lengthened",
        about: "a renewal gives draining work no more time",
        shows: Shows::Model,
        caught_by: &["drain-lengthened-by-a-renewal"],
    },
];
