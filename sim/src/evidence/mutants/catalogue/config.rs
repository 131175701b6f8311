//! Mutants of the values that follow from the settings.

use super::super::{Mutant, Shows};

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "drift-not-allowed-for",
        about: "the drift of the candidate's clock does not shorten a claim",
        shows: Shows::Both("drift,partition,pause"),
        caught_by: &["margin-kept", "fail-closed", "single-leader"],
    },
    Mutant {
        name: "stop-margin-ignored",
        about: "a claim lasts as long as the lease, without a stop margin",
        shows: Shows::Model,
        caught_by: &["unfenced-in-order", "margin-kept"],
    },
    Mutant {
        name: "takeover-spread-wide",
        about: "waiting candidates spread their requests over a TTL",
        shows: Shows::Model,
        caught_by: &["takeover-within"],
    },
];
